/* Record batches to columns, and records to batches: the loops that plain Python cannot make fast.
 *
 * `decode` takes the common case whole and leaves the rest alone: it returns
 * None for anything out of the ordinary (a codec, a checksum that is wrong, a
 * record that is malformed), and `columns.py` then goes the plain way, which
 * also finds the words for what is wrong. So this file may be strict without
 * ever having to explain itself, and what it accepts must equal what `read`
 * makes of the same bytes. (`batch.py` and `build.py` show the layout.)
 *
 * Nothing is believed before it is checked against the end of the buffer. The
 * columns are allocated for the most that the headers of the batches allow,
 * which in turn is bounded by their bytes, and cut to size at the end.
 *
 * Stable ABI: one build serves every Python from 3.11.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

#include "frames.h"

/* A length and so many bytes; *data is NULL for null. */
static inline const uint8_t *bytes_field(const uint8_t *p, const uint8_t *end, const uint8_t **data,
                                         int64_t *size) {
    uint64_t n;
    if ((p = varint5(p, end, &n)) == NULL) return NULL;
    if (n & 1) {
        *data = NULL;
        *size = 0;
        return p;
    }
    if ((int64_t)(n >> 1) > end - p) return NULL;
    *data = p;
    *size = (int64_t)(n >> 1);
    return p + *size;
}

/* One batch's header */

typedef struct {
    const uint8_t *start, *records, *end;
    int64_t base_offset, base_timestamp, max_timestamp;
    int32_t last_delta, count;
    uint16_t attributes;
} Batch;

/* The batch at *p: 1 if it is whole, 0 if it is cut short, -1 if it is none. */
static int batch_at(const uint8_t *p, const uint8_t *end, Batch *batch) {
    if (end - p < LENGTH_END) return 0;
    int64_t size = (int64_t)(int32_t)u32(p + 8) + LENGTH_END;
    if (size > end - p) return 0;
    if (size < HEADER_SIZE || p[16] != MAGIC) return -1;
    batch->start = p;
    batch->records = p + HEADER_SIZE;
    batch->end = p + size;
    batch->base_offset = i64(p);
    batch->attributes = (uint16_t)(p[21] << 8 | p[22]);
    batch->last_delta = (int32_t)u32(p + 23);
    batch->base_timestamp = i64(p + 27);
    batch->max_timestamp = i64(p + 35);
    batch->count = (int32_t)u32(p + 57);
    return 1;
}

/* Whether all its offsets are ones that a log may have. */
static int possible(const Batch *batch) {
    return batch->base_offset >= 0 && batch->base_offset < INT64_MAX - INT32_MAX && batch->last_delta >= -1;
}

/* Whether the numbers in the header are ones that `decode` takes. */
static int ordinary(const Batch *batch) {
    return (batch->attributes & CODEC_BITS) == 0 && batch->count >= 0 && batch->count <= MAX_RECORDS &&
           batch->count <= (int64_t)batch->last_delta + 1 &&
           batch->count <= (batch->end - batch->records) / MIN_RECORD_SIZE &&
           possible(batch);
}

/* Of a `possible` batch. */
static int64_t last_offset(const Batch *batch) { return batch->base_offset + batch->last_delta; }

/* Columns being filled */

typedef struct {
    PyObject *offsets_object, *data_object, *validity_object;
    int32_t *offsets;
    uint8_t *data, *validity;
    int64_t rows, bytes, nulls;
} Bytes;

typedef struct {
    PyObject *offset_object, *timestamp_object, *type_object, *place_object, *some_object;
    int64_t *offset, *timestamp;
    int32_t *type, *place; /* place: where a row's headers begin */
    uint8_t *some;         /* one bit a row: whether it has headers */
    int64_t rows, rows_without;
    Bytes key, value, name, content;
    int with_headers, foreign_names; /* foreign: a byte that is not ASCII */
} Columns;

static void *room(PyObject **object, int64_t bytes) {
    *object = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    return *object ? PyByteArray_AsString(*object) : NULL;
}

static int bytes_room(Bytes *to, int64_t rows, int64_t bytes) {
    to->offsets = room(&to->offsets_object, (rows + 1) * 4);
    to->data = room(&to->data_object, bytes);
    to->validity = room(&to->validity_object, rows / 8 + 1);
    if (!to->offsets || !to->data || !to->validity) return -1;
    to->offsets[0] = 0;
    memset(to->validity, 0, (size_t)(rows / 8 + 1));
    return 0;
}

static inline void bytes_add(Bytes *to, const uint8_t *data, int64_t size) {
    if (data != NULL) {
        memcpy(to->data + to->bytes, data, (size_t)size);
        to->bytes += size;
        to->validity[to->rows >> 3] |= (uint8_t)(1 << (to->rows & 7));
    } else {
        to->nulls++;
    }
    to->offsets[++to->rows] = (int32_t)to->bytes;
}

static int columns_room(Columns *to, int64_t rows, int64_t bytes) {
    to->offset = room(&to->offset_object, rows * 8);
    to->timestamp = room(&to->timestamp_object, rows * 8);
    to->type = room(&to->type_object, rows * 4);
    if (!to->offset || !to->timestamp || !to->type) return -1;
    if (bytes_room(&to->key, rows, bytes) || bytes_room(&to->value, rows, bytes)) return -1;
    if (!to->with_headers) return 0;
    to->place = room(&to->place_object, (rows + 1) * 4);
    to->some = room(&to->some_object, rows / 8 + 1);
    if (!to->place || !to->some) return -1;
    to->place[0] = 0;
    memset(to->some, 0, (size_t)(rows / 8 + 1));
    int64_t headers = bytes / 2; /* a header is two bytes at least */
    return bytes_room(&to->name, headers, bytes) || bytes_room(&to->content, headers, bytes) ? -1 : 0;
}

static void bytes_clear(Bytes *to) {
    Py_CLEAR(to->offsets_object);
    Py_CLEAR(to->data_object);
    Py_CLEAR(to->validity_object);
}

static void columns_clear(Columns *to) {
    Py_CLEAR(to->offset_object);
    Py_CLEAR(to->timestamp_object);
    Py_CLEAR(to->type_object);
    Py_CLEAR(to->place_object);
    Py_CLEAR(to->some_object);
    bytes_clear(&to->key);
    bytes_clear(&to->value);
    bytes_clear(&to->name);
    bytes_clear(&to->content);
}

/* Milliseconds to microseconds; times that are out of range stay at its ends. */
static int64_t microseconds(int64_t ms) {
    if (ms > INT64_MAX / 1000) return INT64_MAX / 1000 * 1000;
    if (ms < INT64_MIN / 1000) return INT64_MIN / 1000 * 1000;
    return ms * 1000;
}

/* The headers of one record, kept if *to* is not NULL; NULL if they are malformed or too many. */
static const uint8_t *headers(const uint8_t *p, const uint8_t *end, uint64_t count, Columns *to) {
    const uint8_t *data;
    int64_t size;
    while (count-- > 0) {
        if ((p = bytes_field(p, end, &data, &size)) == NULL || data == NULL) return NULL;
        if (to) {
            for (int64_t at = 0; at < size; at++) to->foreign_names |= data[at] & 0x80;
            bytes_add(&to->name, data, size);
        }
        if ((p = bytes_field(p, end, &data, &size)) == NULL) return NULL;
        if (to) bytes_add(&to->content, data, size);
    }
    return p;
}

/* All records of *batch*, those with offsets from *first* and before *until* kept; -1 if one is malformed. */
static int decode_batch(const Batch *batch, int64_t first, int64_t until, Columns *to) {
    const uint8_t *p = batch->records, *end = batch->end;
    const int32_t type = (batch->attributes & LOG_APPEND_TIME) != 0;
    int64_t last = -1, headers_left = MAX_RECORDS;
    for (int32_t index = 0; index < batch->count; index++) {
        uint64_t n;
        if ((p = varint5(p, end, &n)) == NULL || n & 1) return -1;
        if ((int64_t)(n >> 1) > end - p) return -1;
        const uint8_t *following = p + (n >> 1);

        if (++p > end) return -1; /* the attributes */
        if ((p = varint(p, end, 10, &n)) == NULL) return -1;
        int64_t delta = zigzag(n), base = batch->base_timestamp;
        if (delta > 0 ? base > INT64_MAX - delta : base < INT64_MIN - delta) return -1;
        int64_t timestamp = type ? batch->max_timestamp : base + delta;

        if ((p = varint5(p, end, &n)) == NULL) return -1;
        int64_t place = zigzag(n);
        if (place <= last || place > batch->last_delta) return -1;
        last = place;

        const uint8_t *key, *value;
        int64_t key_size, value_size;
        if ((p = bytes_field(p, end, &key, &key_size)) == NULL) return -1;
        if ((p = bytes_field(p, end, &value, &value_size)) == NULL) return -1;
        if ((p = varint5(p, end, &n)) == NULL || n & 1) return -1;
        headers_left -= (int64_t)(n >> 1);
        if (headers_left < 0) return -1;

        int64_t offset = batch->base_offset + place;
        int wanted = offset >= first && offset < until;
        if (n && (p = headers(p, end, n >> 1, wanted && to->with_headers ? to : NULL)) == NULL) return -1;
        if (p != following) return -1;
        if (!wanted) continue;

        to->offset[to->rows] = offset;
        to->timestamp[to->rows] = microseconds(timestamp);
        to->type[to->rows] = type;
        bytes_add(&to->key, key, key_size);
        bytes_add(&to->value, value, value_size);
        if (to->with_headers) {
            to->place[to->rows + 1] = (int32_t)to->name.rows;
            if (n)
                to->some[to->rows >> 3] |= (uint8_t)(1 << (to->rows & 7));
            else
                to->rows_without++;
        }
        to->rows++;
    }
    return p == end ? 0 : -1;
}

/* The next batch at or after *p that has records we may want; 1, 0 at the end, -1 if it is not for us. */
static int next_wanted(const uint8_t *p, const uint8_t *end, int64_t first, int64_t until, Batch *batch) {
    int found;
    while ((found = batch_at(p, end, batch)) > 0) {
        p = batch->end;
        if (batch->attributes & CONTROL) continue;
        if (!ordinary(batch)) return -1;
        if (last_offset(batch) < first) continue;
        return batch->base_offset < until;
    }
    return found;
}

/* 1 if decoded, 0 if it is not for us, -1 if Python has raised. */
static int decode_run(const uint8_t *data, int64_t size, int64_t first, int64_t until, int check,
                      Columns *to) {
    const uint8_t *end = data + size;
    Batch batch;
    int64_t rows = 0, bytes = 0;
    int found;
    for (const uint8_t *p = data; (found = next_wanted(p, end, first, until, &batch)) > 0; p = batch.end) {
        rows += batch.count;
        bytes += batch.end - batch.records;
    }
    if (found < 0) return 0;
    if (columns_room(to, rows, bytes) < 0) return -1;
    for (const uint8_t *p = data; next_wanted(p, end, first, until, &batch) > 0; p = batch.end) {
        if (check) {
            const uint8_t *from = batch.start + CHECKED_FROM;
            if (crc32c(from, (size_t)(batch.end - from)) != u32(batch.start + 17)) return 0;
        }
        if (decode_batch(&batch, first, until, to) < 0) return 0;
    }
    return 1;
}

/* What Python gets */

static PyObject *bytes_result(Bytes *from) {
    if (PyByteArray_Resize(from->offsets_object, (Py_ssize_t)(from->rows + 1) * 4) < 0) return NULL;
    if (PyByteArray_Resize(from->data_object, (Py_ssize_t)from->bytes) < 0) return NULL;
    return Py_BuildValue("(LLOOO)", (long long)from->rows, (long long)from->nulls, from->validity_object,
                         from->offsets_object, from->data_object);
}

static PyObject *columns_result(Columns *from) {
    PyObject *key = bytes_result(&from->key), *value = bytes_result(&from->value);
    PyObject *extra = NULL, *result = NULL;
    if (!key || !value) goto done;
    if (from->with_headers) {
        PyObject *name = bytes_result(&from->name), *content = bytes_result(&from->content);
        if (name && content)
            extra = Py_BuildValue("(LOOOOi)", (long long)from->rows_without, from->some_object,
                                  from->place_object, name, content, from->foreign_names);
        Py_XDECREF(name);
        Py_XDECREF(content);
    } else {
        extra = Py_None;
        Py_INCREF(extra);
    }
    if (extra)
        result = Py_BuildValue("(LOOOOOO)", (long long)from->rows, from->offset_object,
                               from->timestamp_object, from->type_object, key, value, extra);
done:
    Py_XDECREF(key);
    Py_XDECREF(value);
    Py_XDECREF(extra);
    return result;
}

PyDoc_STRVAR(decode_doc,
             "decode(run, first, until, check, headers) -> columns, or None if *run* must go the plain way.");

static PyObject *decode(PyObject *module, PyObject *args) {
    Py_buffer run;
    long long first, until;
    Columns columns;
    int check, with_headers;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*LLpp", &run, &first, &until, &check, &with_headers)) return NULL;
    memset(&columns, 0, sizeof columns);
    columns.with_headers = with_headers;
    PyObject *result = NULL;
    if (run.len > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "a run of batches of more than 2 GiB");
    } else {
        int done = decode_run(run.buf, run.len, first, until, check, &columns);
        if (done > 0) {
            result = columns_result(&columns);
        } else if (done == 0) {
            result = Py_None;
            Py_INCREF(result);
        }
    }
    columns_clear(&columns);
    PyBuffer_Release(&run);
    return result;
}

PyDoc_STRVAR(end_offset_doc,
             "end_offset(run) -> the offset after its last whole batch, -1 if there is none, None if malformed.");

static PyObject *end_offset(PyObject *module, PyObject *object) {
    Py_buffer run;
    (void)module;
    if (PyObject_GetBuffer(object, &run, PyBUF_SIMPLE) < 0) return NULL;
    const uint8_t *p = run.buf, *end = p + run.len;
    Batch batch;
    int64_t offset = -1;
    int found;
    while ((found = batch_at(p, end, &batch)) > 0) {
        p = batch.end;
        if (!possible(&batch)) {
            found = -1;
            break;
        }
        offset = last_offset(&batch) + 1;
    }
    PyBuffer_Release(&run);
    if (found < 0) Py_RETURN_NONE;
    return PyLong_FromLongLong(offset);
}

PyDoc_STRVAR(pieces_doc,
             "pieces(data, count) -> as `pieces_of` in pieces.py, or None if it must go the plain way.");

/* A record that starts at *at* as a tuple of five; NULL if Python has raised. */
static PyObject *piece(int64_t at, int64_t timestamp, int64_t offset, const uint8_t *key, int64_t key_size,
                       int has_value) {
    PyObject *parts[5] = {
        PyLong_FromLongLong(at),
        PyLong_FromLongLong(timestamp),
        PyLong_FromLongLong(offset),
        NULL,
        PyBool_FromLong(has_value),
    };
    if (key != NULL) {
        parts[3] = PyBytes_FromStringAndSize((const char *)key, (Py_ssize_t)key_size);
    } else {
        parts[3] = Py_None;
        Py_INCREF(Py_None);
    }
    PyObject *tuple = PyTuple_New(5);
    int whole = tuple != NULL;
    for (int index = 0; index < 5; index++) {
        whole &= parts[index] != NULL;
        if (tuple != NULL)
            PyTuple_SetItem(tuple, index, parts[index]); /* which takes it over, NULL or not */
        else
            Py_XDECREF(parts[index]);
    }
    if (whole) return tuple;
    Py_XDECREF(tuple);
    return NULL;
}

static PyObject *pieces(PyObject *module, PyObject *args) {
    Py_buffer run;
    int count;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*i", &run, &count)) return NULL;
    const uint8_t *start = run.buf, *p = start, *end = start + run.len;
    PyObject *list = NULL;
    if (count < 0 || count > run.len / MIN_RECORD_SIZE) goto plain;
    if ((list = PyList_New(count)) == NULL) goto raised;
    for (int index = 0; index < count; index++) {
        const uint8_t *at = p, *key;
        uint64_t n;
        int64_t key_size;
        if ((p = varint5(p, end, &n)) == NULL || n & 1 || (int64_t)(n >> 1) > end - p) goto plain;
        const uint8_t *following = p + (n >> 1);
        if (++p > following) goto plain; /* the attributes */
        if ((p = varint(p, following, 9, &n)) == NULL) goto plain;
        int64_t timestamp = zigzag(n);
        if ((p = varint5(p, following, &n)) == NULL) goto plain;
        int64_t offset = zigzag(n);
        if ((p = bytes_field(p, following, &key, &key_size)) == NULL || p >= following) goto plain;
        PyObject *made = piece(at - start, timestamp, offset, key, key_size, !(*p & 1));
        if (made == NULL || PyList_SetItem(list, index, made) < 0) goto raised;
        p = following;
    }
    if (p != end) goto plain;
    PyBuffer_Release(&run);
    return list;
plain:
    Py_XDECREF(list);
    PyBuffer_Release(&run);
    Py_RETURN_NONE;
raised:
    Py_XDECREF(list);
    PyBuffer_Release(&run);
    return NULL;
}

PyDoc_STRVAR(encode_doc,
             "encode(records, now_ms) -> as `encode` in build.py, or None if it must go the plain way.");

static PyObject *name_key, *name_value, *name_headers, *name_timestamp_ms;

/* What a new record consists of; *key* and *value* own their bytes, and are NULL for null. */
typedef struct {
    PyObject *key, *value;
    int64_t timestamp;
} New;

/* Bytes, or NULL for None, in *out: 1 if it is one of these, 0 if it is neither, -1 if Python has raised. */
static int bytes_or_none(PyObject *record, PyObject *name, PyObject **out) {
    PyObject *found = PyObject_GetAttr(record, name);
    if (found == NULL) return -1;
    if (PyBytes_Check(found)) {
        *out = found;
        return 1;
    }
    Py_DECREF(found);
    return found == Py_None;
}

/* The record as *out: 1 if it is ordinary, 0 if not, -1 if Python has raised. Whatever it says, `forget` follows. */
static int new_record(PyObject *record, int64_t now, New *out) {
    int is = bytes_or_none(record, name_key, &out->key);
    if (is == 1) is = bytes_or_none(record, name_value, &out->value);
    if (is != 1) return is;
    PyObject *headers = PyObject_GetAttr(record, name_headers);
    if (headers == NULL) return -1;
    is = PyTuple_Check(headers) && PyTuple_Size(headers) == 0;
    Py_DECREF(headers);
    if (!is) return 0;
    PyObject *timestamp = PyObject_GetAttr(record, name_timestamp_ms);
    if (timestamp == NULL) return -1;
    out->timestamp = now;
    if (timestamp != Py_None) {
        int overflow = 0;
        is = PyLong_Check(timestamp);
        if (is) out->timestamp = PyLong_AsLongLongAndOverflow(timestamp, &overflow);
        /* So that no difference of two can be too large for a varint of ours. */
        is = is && !overflow && out->timestamp >= 0;
    }
    Py_DECREF(timestamp);
    return is;
}

static void forget(New *record) {
    Py_XDECREF(record->key);
    Py_XDECREF(record->value);
}

static uint64_t unzigzag(int64_t n) { return (uint64_t)n << 1 ^ (uint64_t)(n >> 63); }

static int varint_size(uint64_t n) {
    int size = 1;
    while (n >>= 7) size++;
    return size;
}

static uint8_t *put_varint(uint8_t *p, uint64_t n) {
    for (; n > 0x7f; n >>= 7) *p++ = (uint8_t)(n & 0x7f | 0x80);
    *p++ = (uint8_t)n;
    return p;
}

static uint8_t *put_bytes(uint8_t *p, const char *data, Py_ssize_t size) {
    p = put_varint(p, unzigzag(size));
    if (size > 0) {
        memcpy(p, data, (size_t)size);
        p += size;
    }
    return p;
}

/* Append *record* to *out*, of which *filled bytes are in use: 0, or -1 if Python has raised. */
static int put_record(PyObject *out, Py_ssize_t *filled, const New *record, int64_t delta, Py_ssize_t offset) {
    char *key = NULL, *value = NULL;
    Py_ssize_t key_size = -1, value_size = -1;
    if (record->key != NULL && PyBytes_AsStringAndSize(record->key, &key, &key_size) < 0) return -1;
    if (record->value != NULL && PyBytes_AsStringAndSize(record->value, &value, &value_size) < 0) return -1;
    uint64_t time = unzigzag(delta);
    Py_ssize_t size = 2 + varint_size(time) + varint_size(unzigzag(offset)); /* attributes, no headers */
    size += varint_size(unzigzag(key_size)) + (key_size > 0 ? key_size : 0);
    size += varint_size(unzigzag(value_size)) + (value_size > 0 ? value_size : 0);
    Py_ssize_t needed = *filled + varint_size(unzigzag(size)) + size;
    Py_ssize_t room = PyByteArray_Size(out);
    if (needed > room && PyByteArray_Resize(out, needed > 2 * room ? needed : 2 * room) < 0) return -1;
    uint8_t *p = (uint8_t *)PyByteArray_AsString(out) + *filled;
    p = put_varint(p, unzigzag(size));
    *p++ = 0;
    p = put_varint(p, time);
    p = put_varint(p, unzigzag(offset));
    p = put_bytes(p, key, key_size);
    p = put_bytes(p, value, value_size);
    *p = 0;
    *filled = needed;
    return 0;
}

static PyObject *encode(PyObject *module, PyObject *args) {
    PyObject *records;
    long long now;
    (void)module;
    if (!PyArg_ParseTuple(args, "OL", &records, &now)) return NULL;
    if (!PyList_Check(records) || PyList_Size(records) == 0 || now < 0) Py_RETURN_NONE;
    Py_ssize_t filled = HEADER_SIZE, count = PyList_Size(records);
    PyObject *out = PyByteArray_FromStringAndSize(NULL, HEADER_SIZE + 128 * count);
    if (out == NULL) return NULL;
    memset(PyByteArray_AsString(out), 0, HEADER_SIZE);
    int64_t first = 0, latest = 0;
    int is = 1;
    /* The size is asked each time: nothing here runs Python code, but that is not for C to rely on. */
    for (Py_ssize_t index = 0; is == 1 && index < PyList_Size(records); index++) {
        New record = {NULL, NULL, 0};
        is = new_record(PyList_GetItem(records, index), now, &record);
        if (index == 0) first = latest = record.timestamp;
        if (record.timestamp > latest) latest = record.timestamp;
        if (is == 1 && put_record(out, &filled, &record, record.timestamp - first, index) < 0) is = -1;
        forget(&record);
    }
    if (is == 1 && PyByteArray_Resize(out, filled) < 0) is = -1;
    if (is == 1) return Py_BuildValue("NLL", out, (long long)first, (long long)latest);
    Py_DECREF(out);
    if (is < 0) return NULL;
    Py_RETURN_NONE;
}

/* Frames of requests to one run of batches: see `runs.py`, which has the same in plain Python. */

enum {
    LONE_BYTES = 48 << 10, /* a larger batch is a run by itself, and is not copied */
    APPENDED = -2,         /* told instead of where the lone one is: all is in the file by now */
    NUMBERS = 7,           /* the arguments of `join` behind its room */
};

/* A tuple of so many numbers and then *notes, *replies and *lasts, which it takes over. */
static PyObject *run_of(const int64_t *numbers, Py_ssize_t count, PyObject *notes, PyObject *replies,
                        PyObject *lasts) {
    PyObject *run = PyTuple_New(count + 3);
    int whole = run != NULL;
    for (Py_ssize_t each = 0; whole && each < count; each++) {
        PyObject *number = PyLong_FromLongLong(numbers[each]);
        whole = number != NULL && PyTuple_SetItem(run, each, number) == 0;
    }
    if (whole && notes == NULL) whole = (notes = PyTuple_New(0)) != NULL;
    if (whole) {
        PyTuple_SetItem(run, count, notes);
        PyTuple_SetItem(run, count + 1, replies);
        PyTuple_SetItem(run, count + 2, lasts);
        return run;
    }
    Py_XDECREF(run);
    Py_XDECREF(notes);
    Py_DECREF(replies);
    Py_DECREF(lasts);
    return NULL;
}

PyDoc_STRVAR(join_doc,
             "Batches out of frames, one behind the other in room, or in a file; None if there is none; see runs.py.");

static PyObject *join(PyObject *module, PyObject *const *args, Py_ssize_t count) {
    Alike a;
    Place place;
    Sender sender;
    Next next;
    Taken taken;
    Py_buffer view, room;
    int64_t start, end, most;
    (void)module;
    if (count != 9 + NUMBERS) {
        PyErr_SetString(PyExc_TypeError, "join takes 16 arguments");
        return NULL;
    }
    PyObject *file = *args++;
    if (ints(args + 1, 3, (int64_t *const[]){&start, &end, &most}) < 0) return NULL;
    if (alike_of(args[4], &a) < 0 || limits_of(args[5], &place) < 0 || sender_of(args[6], &sender) < 0) return NULL;
    if (ints(args + 8, NUMBERS,
             (int64_t *const[]){&place.index, &place.log_start, &place.offset, &place.position, &place.indexed_at,
                                &place.newest_ms, &place.latest_ms}) < 0)
        return NULL;
    if (PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0) return NULL;
    if (PyObject_GetBuffer(args[7], &room, PyBUF_WRITABLE) < 0) {
        PyBuffer_Release(&view);
        return NULL;
    }
    const uint8_t *from = view.buf;
    uint8_t *to = room.buf;
    Py_ssize_t at = (Py_ssize_t)start;
    int64_t lone_at = -1;
    PyObject *found = NULL, *replies = NULL, *lasts = NULL;
    begin(&taken, &place);
    if (start < 0 || end < start || end > view.len || room.len < STAMPED) {
        PyErr_SetString(PyExc_ValueError, "no such frames");
        goto done;
    }
    int64_t fit = (end - start) / least_frame(&a);
    if (most > fit) most = fit;
    if (most < 0) most = 0;
    replies = PyBytes_FromStringAndSize(NULL, a.reply_size * (Py_ssize_t)most);
    if (replies == NULL) goto done;
    uint8_t *reply = (uint8_t *)PyBytes_AsString(replies);
    while (taken.batches < most && lone_at < 0 && end - at >= 4) {
        uint32_t length = u32(from + at);
        if (length > INT32_MAX || (int64_t)length > end - at - 4) break;
        if (!next_in(&a, &place, &sender, from + at + 4, length, &next)) break;
        int is_lone = next.size > LONE_BYTES || next.size > room.len - taken.size;
        if (is_lone && taken.batches) break;
        if (is_lone) lone_at = next.batch - from;
        stamp(to + taken.size, &place, &next, is_lone ? STAMPED : next.size);
        answer(reply, &a, &place, &next);
        reply += a.reply_size;
        take_next(&place, &sender, &next, &taken);
        at += 4 + (Py_ssize_t)length;
    }
    if (!taken.batches) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    if (taken.batches < most) {
        PyObject *all = replies;
        replies = PyBytes_FromStringAndSize(PyBytes_AsString(all), a.reply_size * (Py_ssize_t)taken.batches);
        Py_DECREF(all);
        if (replies == NULL) goto done;
    }
    if ((lasts = lasts_of(&taken, sender.id >= 0)) == NULL) goto done;
    found = run_of((int64_t[]){lone_at, at, taken.size, taken.batches, taken.end_offset, taken.newest_ms,
                               taken.newest_offset},
                   7, taken.notes, replies, lasts);
    taken.notes = replies = lasts = NULL;
#ifndef _WIN32
    if (found != NULL && lone_at < 0 && file != Py_None) { /* a lone one takes its time: others go on meanwhile */
        int appended = append_to(file, &(struct iovec){to, (size_t)taken.size}, 1);
        if (appended < 0) Py_CLEAR(found);
        else if (appended) PyTuple_SetItem(found, 0, PyLong_FromLong(APPENDED)); /* a small number: always there */
    }
#endif
done:
    Py_XDECREF(taken.notes);
    Py_XDECREF(replies);
    Py_XDECREF(lasts);
    PyBuffer_Release(&view);
    PyBuffer_Release(&room);
    return found;
}

static PyMethodDef methods[] = {
    {"decode", decode, METH_VARARGS, decode_doc},
    {"encode", encode, METH_VARARGS, encode_doc},
    {"end_offset", end_offset, METH_O, end_offset_doc},
    {"join", (PyCFunction)(void (*)(void))join, METH_FASTCALL, join_doc},
    {"pieces", pieces, METH_VARARGS, pieces_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Record batches, quickly.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) {
    crc_ready();
    name_key = PyUnicode_InternFromString("key");
    name_value = PyUnicode_InternFromString("value");
    name_headers = PyUnicode_InternFromString("headers");
    name_timestamp_ms = PyUnicode_InternFromString("timestamp_ms");
    if (!name_key || !name_value || !name_headers || !name_timestamp_ms) return NULL;
    if (append_ready() < 0) return NULL;
    return PyModule_Create(&definition);
}

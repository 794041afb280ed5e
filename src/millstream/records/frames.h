/* Frames of produce requests, and the batches in them: what `runs.py` has in plain Python.
 *
 * An Alike is what frames have in common, a Place where their batches go, a Sender whose they are. `next_in` says
 * whether a frame is the next of them, and an ordinary one; `take_next` moves place and sender on. What is out of the
 * ordinary is not refused here: plain Python finds the words for it.
 */
#ifndef MILLSTREAM_FRAMES_H
#define MILLSTREAM_FRAMES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#ifndef _WIN32
#include <sys/uio.h>
#include <unistd.h>
#endif

#include "crc.h"

enum {
    HEADER_SIZE = 61,
    LENGTH_END = 12,
    CHECKED_FROM = 21,
    MAGIC = 2,
    MIN_RECORD_SIZE = 7,
    MAX_RECORDS = 1000000, /* and headers: the limits of `batch.py` and `read.py` */
    CODEC_BITS = 0x07,
    LOG_APPEND_TIME = 0x08,
    CONTROL = 0x20,
};

/* Big-endian numbers, zigzag varints */

static uint32_t u32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t i64(const uint8_t *p) { return (int64_t)((uint64_t)u32(p) << 32 | u32(p + 4)); }

static int64_t zigzag(uint64_t n) { return (int64_t)(n >> 1) ^ -(int64_t)(n & 1); }

/* The varint at *p, of up to *most* bytes, before zigzag; NULL if it is longer or passes *end*. */
static const uint8_t *varint(const uint8_t *p, const uint8_t *end, int most, uint64_t *out) {
    uint64_t number = 0;
    for (int place = 0; place < most && p < end; place++) {
        uint8_t byte = *p++;
        if (place == 9 && byte > 1) return NULL; /* more than 64 bits: plain Python can tell */
        number |= (uint64_t)(byte & 0x7f) << (7 * place);
        if (byte < 0x80) {
            *out = number;
            return p;
        }
    }
    return NULL;
}

static inline const uint8_t *varint5(const uint8_t *p, const uint8_t *end, uint64_t *out) {
    if (p < end && *p < 0x80) {
        *out = *p;
        return p + 1;
    }
    return varint(p, end, 5, out);
}

static inline void put_i32(uint8_t *to, uint32_t value) {
    for (int place = 0; place < 4; place++) to[place] = (uint8_t)(value >> (24 - 8 * place));
}

static inline void put_i64(uint8_t *to, int64_t value) {
    put_i32(to, (uint32_t)((uint64_t)value >> 32));
    put_i32(to + 4, (uint32_t)(uint64_t)value);
}

enum {
    STAMPED = 16,   /* bytes of a batch that the leader writes: offset, length, epoch */
    REMEMBERED = 5, /* of the last batches it is told where they went */
    ALIKE = 8,      /* fields of an Alike, a Limits, a Sender */
    LIMITS = 5,
    SENDER = 3,
};

typedef struct {
    const char *call, *before, *reply; /* the tuple's own */
    Py_ssize_t before_size, reply_size;
    int64_t compact, after, index_at, offset_at, start_at;
} Alike;

typedef struct {
    int64_t epoch, end_offset, end_position, max_batch, interval; /* Limits */
    int64_t index, log_start;
    int64_t offset, position, indexed_at, newest_ms, latest_ms; /* all but the last move on */
} Place;

typedef struct {
    int64_t id, epoch, sequence;
} Sender;

/* A frame whose batch comes next. */
typedef struct {
    const uint8_t *frame, *batch;
    Py_ssize_t size;
    int64_t last; /* offset */
} Next;

/* What was taken so far: a run, but for its bytes. */
typedef struct {
    int64_t base_offset, end_offset, size, batches;
    int64_t newest_ms, newest_offset; /* the offset is -1 if the time was there before */
    int64_t noted[REMEMBERED];        /* base offsets of the last batches, round and round */
    PyObject *notes;                  /* for the index; a list that is made when first needed */
} Taken;

/* The least bytes of a frame that is like these, with its size. */
static inline int64_t least_frame(const Alike *a) { return 4 + 8 + a->before_size + 4 + 1 + HEADER_SIZE + a->after; }

/* The batch in the frame at *frame*, whose size is *size*; NULL if the frame is not like the others. */
static const uint8_t *batch_in(const Alike *a, int64_t index, const uint8_t *frame, uint32_t size,
                               Py_ssize_t *batch_size) {
    const uint8_t *end = frame + size, *p = frame + 8 + a->before_size;
    uint64_t length;
    if ((int64_t)size < 8 + a->before_size + 4 + (a->compact ? 1 : 4) + HEADER_SIZE + a->after) return NULL;
    if (memcmp(frame, a->call, 4) || memcmp(frame + 8, a->before, (size_t)a->before_size)) return NULL;
    if (u32(p) != (uint32_t)index) return NULL;
    p += 4;
    if (a->compact) {
        if ((p = varint5(p, end, &length)) == NULL || length == 0) return NULL;
        length--;
    } else {
        length = u32(p);
        p += 4;
    }
    if ((int64_t)length != end - p - a->after) return NULL;
    for (int place = 1; place <= a->after; place++)
        if (end[-place]) return NULL;
    *batch_size = (Py_ssize_t)length;
    return p;
}

/* Whether the batch is of *s*, and comes next. */
static int is_next(const Sender *s, const uint8_t *batch) {
    int64_t first = (int32_t)u32(batch + 53);
    if (i64(batch + 43) != s->id) return 0;
    if (s->id < 0) return first >= -1;
    return (int16_t)(batch[51] << 8 | batch[52]) == s->epoch && first == s->sequence;
}

/* Whether the batch is one that a client may append as it is: `Batch.check` and `check_from_client`, strictly. */
static int is_plain(const Place *to, const uint8_t *batch, Py_ssize_t size) {
    if (size < HEADER_SIZE || size > to->max_batch || u32(batch + 8) != (uint32_t)(size - LENGTH_END)) return 0;
    if (batch[16] != MAGIC || batch[21] || batch[22] & ~CODEC_BITS || batch[22] > 4) return 0;
    int64_t count = (int32_t)u32(batch + 57);
    if (count < 1 || count > MAX_RECORDS || (int64_t)(int32_t)u32(batch + 23) != count - 1) return 0;
    if (!(batch[22] & CODEC_BITS) && count * MIN_RECORD_SIZE > size - HEADER_SIZE) return 0;
    if (i64(batch + 35) > to->latest_ms) return 0;
    return crc32c(batch + CHECKED_FROM, (size_t)(size - CHECKED_FROM)) == u32(batch + 17);
}

/* Whether the frame at *frame*, of *length* bytes, is the next that may go to *to*; then *next tells of it. */
static int next_in(const Alike *a, const Place *to, const Sender *s, const uint8_t *frame, uint32_t length,
                   Next *next) {
    next->frame = frame;
    next->batch = batch_in(a, to->index, frame, length, &next->size);
    if (next->batch == NULL || next->size < HEADER_SIZE || next->size > to->end_position - to->position) return 0;
    if (!is_next(s, next->batch) || !is_plain(to, next->batch, next->size)) return 0;
    next->last = to->offset + (int32_t)u32(next->batch + 23);
    return next->last < to->end_offset;
}

/* The first bytes of the batch as they are to be written, and then as many of the others as *size* says. */
static void stamp(uint8_t *to, const Place *place, const Next *next, Py_ssize_t size) {
    memcpy(to, next->batch, (size_t)size);
    put_i64(to, place->offset);
    put_i32(to + 12, (uint32_t)place->epoch);
}

/* The reply to a frame whose batch goes to *place*. */
static void answer(uint8_t *reply, const Alike *a, const Place *place, const Next *next) {
    memcpy(reply, a->reply, (size_t)a->reply_size);
    memcpy(reply + 4, next->frame + 4, 4); /* whose answer it is */
    put_i32(reply + a->index_at, (uint32_t)place->index);
    put_i64(reply + a->start_at, place->log_start);
    put_i64(reply + a->offset_at, place->offset);
}

/* Note where the batch is, in a list that is made when first needed; 0, or -1 if Python has raised. */
static int add_note(Taken *taken, int64_t last, int64_t position) {
    if (taken->notes == NULL && (taken->notes = PyList_New(0)) == NULL) return -1;
    PyObject *note = Py_BuildValue("(LLLL)", (long long)last, (long long)position, (long long)taken->newest_ms,
                                   (long long)taken->newest_offset);
    int done = note == NULL ? -1 : PyList_Append(taken->notes, note);
    Py_XDECREF(note);
    return done;
}

/* A run that nothing was taken of. */
static void begin(Taken *taken, const Place *place) {
    taken->base_offset = taken->end_offset = place->offset;
    taken->size = taken->batches = 0;
    taken->newest_ms = place->newest_ms;
    taken->newest_offset = -1;
    taken->notes = NULL;
}

/* The batch is *place*'s: move on behind it. If there is no memory for a note, the index has a gap there. */
static void take_next(Place *place, Sender *s, const Next *next, Taken *taken) {
    int64_t timestamp = i64(next->batch + 35);
    if (timestamp > taken->newest_ms) taken->newest_ms = timestamp, taken->newest_offset = next->last;
    if (place->position - place->indexed_at > place->interval) {
        if (add_note(taken, next->last, place->position) < 0) PyErr_Clear();
        place->indexed_at = place->position;
    }
    taken->noted[taken->batches++ % REMEMBERED] = place->offset;
    taken->size += next->size;
    taken->end_offset = next->last + 1;
    s->sequence = (s->sequence + (next->last - place->offset) + 1) & INT32_MAX;
    place->offset = next->last + 1;
    place->position += next->size;
    place->newest_ms = taken->newest_ms;
}

/* The base offsets of the last batches that were taken; none if nobody counts them. */
static PyObject *lasts_of(const Taken *taken, int counts) {
    int64_t count = counts ? taken->batches : 0, kept = count < REMEMBERED ? count : REMEMBERED;
    PyObject *lasts = PyTuple_New((Py_ssize_t)kept);
    for (int64_t each = 0; lasts != NULL && each < kept; each++) {
        PyObject *number = PyLong_FromLongLong(taken->noted[(count - kept + each) % REMEMBERED]);
        if (number == NULL || PyTuple_SetItem(lasts, (Py_ssize_t)each, number) < 0) Py_CLEAR(lasts);
    }
    return lasts;
}

/* What Python says of all that */

/* So many numbers of *from, to where each belongs; 0, or -1 if Python has raised. */
static int ints(PyObject *const *from, Py_ssize_t count, int64_t *const *to) {
    for (Py_ssize_t each = 0; each < count; each++) {
        *to[each] = PyLong_AsLongLong(from[each]);
        if (*to[each] == -1 && PyErr_Occurred()) return -1;
    }
    return 0;
}

/* As `ints`, of all that a tuple has. */
static int ints_in(PyObject *tuple, Py_ssize_t count, int64_t *const *to) {
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != count) {
        PyErr_SetString(PyExc_TypeError, "not a tuple, or not of that length");
        return -1;
    }
    for (Py_ssize_t each = 0; each < count; each++) {
        PyObject *item = PyTuple_GetItem(tuple, each);
        if (item == NULL || ints(&item, 1, to + each) < 0) return -1;
    }
    return 0;
}

static const char *bytes_in(PyObject *tuple, Py_ssize_t at, Py_ssize_t *size) {
    PyObject *item = PyTuple_GetItem(tuple, at);
    char *data = NULL;
    if (item == NULL || PyBytes_AsStringAndSize(item, &data, size) < 0) return NULL;
    return data;
}

/* An Alike, which must outlive *a; 0, or -1 if Python has raised. */
static int alike_of(PyObject *tuple, Alike *a) {
    Py_ssize_t call_size;
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != ALIKE) {
        PyErr_SetString(PyExc_TypeError, "no Alike");
        return -1;
    }
    if ((a->call = bytes_in(tuple, 0, &call_size)) == NULL) return -1;
    if ((a->before = bytes_in(tuple, 1, &a->before_size)) == NULL) return -1;
    if ((a->reply = bytes_in(tuple, 4, &a->reply_size)) == NULL) return -1;
    PyObject *const shape[] = {PyTuple_GetItem(tuple, 2), PyTuple_GetItem(tuple, 3), PyTuple_GetItem(tuple, 5),
                               PyTuple_GetItem(tuple, 6), PyTuple_GetItem(tuple, 7)};
    if (ints(shape, 5, (int64_t *const[]){&a->compact, &a->after, &a->index_at, &a->offset_at, &a->start_at}) < 0)
        return -1;
    if (call_size != 4 || a->after < 0 || a->after > 16 || a->index_at < 8 || a->index_at > a->reply_size - 4 ||
        a->offset_at < 8 || a->offset_at > a->reply_size - 8 || a->start_at < 8 ||
        a->start_at > a->reply_size - 8) {
        PyErr_SetString(PyExc_ValueError, "no such frames");
        return -1;
    }
    return 0;
}

/* A Limits; 0, or -1 if Python has raised. */
static int limits_of(PyObject *tuple, Place *place) {
    return ints_in(tuple, LIMITS,
                   (int64_t *const[]){&place->epoch, &place->end_offset, &place->end_position, &place->max_batch,
                                      &place->interval});
}

static int sender_of(PyObject *tuple, Sender *s) {
    return ints_in(tuple, SENDER, (int64_t *const[]){&s->id, &s->epoch, &s->sequence});
}

/* Appending */

static PyObject *name_fd, *name_written, *name_native; /* of a `RealFile` */

static int append_ready(void) {
    name_fd = PyUnicode_InternFromString("fd");
    name_written = PyUnicode_InternFromString("written");
    name_native = PyUnicode_InternFromString("native");
    return name_fd == NULL || name_written == NULL || name_native == NULL ? -1 : 0;
}

#ifndef _WIN32
/* Append *count* parts to *file*: 1 if they are there, 0 if that must go its own way, -1 if Python raised. The parts
 * are used up.
 *
 * The interpreter is ours from the look at the descriptor to the end of the write, so no other thread can close it
 * in between. */
static int append_to(PyObject *file, struct iovec *parts, int count) {
    PyObject *number = PyObject_GetAttr(file, name_fd);
    if (number == NULL) return -1;
    long fd = PyLong_AsLong(number);
    Py_DECREF(number);
    if (fd < 0) return PyErr_Occurred() ? -1 : 0;
    if ((number = PyObject_GetAttr(file, name_written)) == NULL) return -1;
    long long written = PyLong_AsLongLong(number);
    Py_DECREF(number);
    if (written == -1 && PyErr_Occurred()) return -1;
    if ((number = PyLong_FromLongLong(written + 1)) == NULL) return -1;
    int counted = PyObject_SetAttr(file, name_written, number); /* before: a sync that is under way has not seen it */
    Py_DECREF(number);
    if (counted < 0) return -1;
    while (count > 0) { /* a disk that fills up takes a part and says so only at the next call */
        ssize_t done = writev((int)fd, parts, count);
        if (done < 0) {
            if (errno == EINTR) continue; /* no handler may run here: another thread could, and close the file */
            PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
        for (; count > 0 && (size_t)done >= parts->iov_len; parts++, count--) done -= (ssize_t)parts->iov_len;
        if (count > 0) parts->iov_base = (uint8_t *)parts->iov_base + done, parts->iov_len -= (size_t)done;
    }
    return 1;
}
#endif

#endif

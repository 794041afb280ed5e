/* The commonest body of a produce request, taken apart without making anything of what is in it.
 *
 * `scan` takes the ordinary case whole and leaves the rest alone: it returns
 * None for whatever it does not know, be it wrong or only unusual, and `queue.py`
 * then goes the plain way, which also finds the words for what is wrong. What it
 * takes must be what the plain way makes of the same bytes, to the last byte.
 *
 * Hence what is ordinary: ASCII without escapes, whole numbers of up to 18
 * digits, no name twice in an object, few names in each and few levels. Such
 * JSON means what it says: read and written again it is the same text without
 * the space between its tokens.
 *
 * Stable ABI: one build serves every Python from 3.11.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum {
    MOST_LEVELS = 16,
    MOST_NAMES = 16, /* in one object: each is compared with all before it */
    MOST_DIGITS = 18,
};

typedef struct {
    const uint8_t *start, *end;
} Span;

static const uint8_t *space(const uint8_t *p, const uint8_t *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) p++;
    return p;
}

static int is(Span span, const char *text) {
    size_t size = strlen(text);
    return (size_t)(span.end - span.start) == size && memcmp(span.start, text, size) == 0;
}

static int same(Span one, Span other) {
    return one.end - one.start == other.end - other.start &&
           memcmp(one.start, other.start, (size_t)(one.end - one.start)) == 0;
}

/* All that follows: from *p*, the end of what was to be there; NULL if it is not there, or not ordinary. */

static const uint8_t *symbol(const uint8_t *p, const uint8_t *end, char which) {
    p = space(p, end);
    return p < end && *p == (uint8_t)which ? p + 1 : NULL;
}

/* *found* is what stands between the quotes. */
static const uint8_t *string(const uint8_t *p, const uint8_t *end, Span *found) {
    if ((p = symbol(p, end, '"')) == NULL) return NULL;
    found->start = p;
    while (p < end && *p != '"') {
        if (*p < 0x20 || *p > 0x7e || *p == '\\') return NULL;
        p++;
    }
    found->end = p;
    return p < end ? p + 1 : NULL;
}

static const uint8_t *word(const uint8_t *p, const uint8_t *end, const char *text) {
    size_t size = strlen(text);
    return (size_t)(end - p) >= size && memcmp(p, text, size) == 0 ? p + size : NULL;
}

static const uint8_t *number(const uint8_t *p, const uint8_t *end) {
    int negative = p < end && *p == '-';
    const uint8_t *first = p += negative;
    while (p < end && *p >= '0' && *p <= '9') p++;
    if (p == first || p - first > MOST_DIGITS) return NULL;
    if (*first == '0' && (negative || p - first > 1)) return NULL;
    if (p < end && (*p == '.' || *p == 'e' || *p == 'E')) return NULL;
    return p;
}

static const uint8_t *value(const uint8_t *p, const uint8_t *end, int level);

static const uint8_t *object(const uint8_t *p, const uint8_t *end, int level) {
    const uint8_t *next;
    Span names[MOST_NAMES];
    if ((next = symbol(p, end, '}')) != NULL) return next;
    for (int count = 0;; count++) {
        if (count == MOST_NAMES || (p = string(p, end, &names[count])) == NULL) return NULL;
        for (int other = 0; other < count; other++)
            if (same(names[other], names[count])) return NULL;
        if ((p = symbol(p, end, ':')) == NULL || (p = value(p, end, level)) == NULL) return NULL;
        if ((next = symbol(p, end, ',')) == NULL) return symbol(p, end, '}');
        p = next;
    }
}

static const uint8_t *array(const uint8_t *p, const uint8_t *end, int level) {
    const uint8_t *next;
    if ((next = symbol(p, end, ']')) != NULL) return next;
    for (;;) {
        if ((p = value(p, end, level)) == NULL) return NULL;
        if ((next = symbol(p, end, ',')) == NULL) return symbol(p, end, ']');
        p = next;
    }
}

static const uint8_t *value(const uint8_t *p, const uint8_t *end, int level) {
    Span text;
    p = space(p, end);
    if (p == end || level == MOST_LEVELS) return NULL;
    switch (*p) {
    case '"':
        return string(p, end, &text);
    case '{':
        return object(p + 1, end, level + 1);
    case '[':
        return array(p + 1, end, level + 1);
    case 't':
        return word(p, end, "true");
    case 'f':
        return word(p, end, "false");
    case 'n':
        return word(p, end, "null");
    default:
        return number(p, end);
    }
}

/* `{ messageId, content }`: the id with its quotes, the content as it stands there. */
static const uint8_t *message(const uint8_t *p, const uint8_t *end, Span *id, Span *content) {
    const uint8_t *next;
    Span name;
    if ((p = symbol(p, end, '{')) == NULL) return NULL;
    for (;;) {
        if ((p = string(p, end, &name)) == NULL || (p = symbol(p, end, ':')) == NULL) return NULL;
        if (is(name, "messageId") && id->start == NULL) {
            if ((p = string(p, end, id)) == NULL || id->start == id->end) return NULL;
        } else if (is(name, "content") && content->start == NULL) {
            content->start = p = space(p, end);
            if (p == end || *p == 'n' || (p = value(p, end, 0)) == NULL) return NULL;
            content->end = p;
        } else {
            return NULL;
        }
        if ((next = symbol(p, end, ',')) == NULL) break;
        p = next;
    }
    if (id->start == NULL || content->start == NULL) return NULL;
    return symbol(p, end, '}');
}

/* `{ brokerId, message }`: whether that is all there is from *p* to *end*. */
static int body(const uint8_t *p, const uint8_t *end, Span *id, Span *content) {
    Span name, broker = {NULL, NULL};
    const uint8_t *next;
    if ((p = symbol(p, end, '{')) == NULL) return 0;
    for (;;) {
        if ((p = string(p, end, &name)) == NULL || (p = symbol(p, end, ':')) == NULL) return 0;
        if (is(name, "brokerId") && broker.start == NULL) {
            if ((p = string(p, end, &broker)) == NULL) return 0;
        } else if (is(name, "message") && id->start == NULL) {
            if ((p = message(p, end, id, content)) == NULL) return 0;
        } else {
            return 0;
        }
        if ((next = symbol(p, end, ',')) == NULL) break;
        p = next;
    }
    p = symbol(p, end, '}');
    return p != NULL && id->start != NULL && space(p, end) == end;
}

static PyObject *bytes_of(Span span) {
    return PyBytes_FromStringAndSize((const char *)span.start, (Py_ssize_t)(span.end - span.start));
}

/* JSON of the ordinary kind without the space between its tokens. */
static PyObject *compact(Span span) {
    uint8_t *out = PyMem_Malloc((size_t)(span.end - span.start));
    if (out == NULL) return PyErr_NoMemory();
    uint8_t *filled = out;
    int quoted = 0;
    for (const uint8_t *p = span.start; p < span.end; p++) {
        if (*p == '"') quoted = !quoted;
        if (quoted || *p > ' ') *filled++ = *p;
    }
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)out, filled - out);
    PyMem_Free(out);
    return bytes;
}

PyDoc_STRVAR(scan_doc,
             "scan(data, start) -> from *start* on, the message's id as JSON and as text, and its content;\n"
             "None if it must go the plain way.");

static PyObject *scan(PyObject *module, PyObject *args) {
    PyObject *data;
    Py_ssize_t start, size;
    char *bytes;
    (void)module;
    if (!PyArg_ParseTuple(args, "Sn", &data, &start)) return NULL;
    if (PyBytes_AsStringAndSize(data, &bytes, &size) < 0) return NULL;
    Span id = {NULL, NULL}, content = {NULL, NULL};
    const uint8_t *p = (const uint8_t *)bytes;
    if (start < 0 || start > size || !body(p + start, p + size, &id, &content)) Py_RETURN_NONE;
    Span quoted = {id.start - 1, id.end + 1};
    return Py_BuildValue("NNN", bytes_of(quoted), bytes_of(id), compact(content));
}

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS, scan_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_native", "Messages, quickly.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&definition); }

/* The innermost loops over record batches. Optional: `records/batch_checks.py` and `records/record.py` do the same in
 * Python where this module was not built, and tests compare the two.
 *
 * Nothing here raises for invalid data. What is not an ordinary batch or record is left to the Python code, which says
 * why it is refused. All reads are bounded by the `end` that the caller gives and by the buffer's own length.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum {
    HEADER_SIZE = 61,
    LOG_OVERHEAD = 12,
    MAGIC = 2,
    RECORD_SIZE_MIN = 7,
    CODEC_MASK = 7,
    CODEC_MAX = 4,
    TRANSACTIONAL = 16,
    HEADER_FIELDS = 13,
};

static int64_t read_int(const uint8_t *from, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | from[i];
    int unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

/* A zigzag varint of at most `bits` bits; NULL if there is none. Returns where it ends. */
static const uint8_t *read_varint(const uint8_t *at, const uint8_t *end, int bits, int64_t *value)
{
    uint64_t zigzag = 0;
    for (int shift = 0; shift < bits; shift += 7) {
        if (at >= end)
            return NULL;
        uint8_t byte = *at++;
        uint64_t low = byte & 0x7F;
        if (shift == 63 && low > 1)
            return NULL;
        zigzag |= low << shift;
        if (byte < 0x80) {
            if (bits == 32 && zigzag >> 32)
                return NULL;
            *value = (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1);
            return at;
        }
    }
    return NULL;
}

/* Passes a length and that many bytes; -1 is null, which some fields may be. */
static const uint8_t *skip_bytes(const uint8_t *at, const uint8_t *end, int nullable)
{
    int64_t length;
    at = read_varint(at, end, 32, &length);
    if (at == NULL || length < (nullable ? -1 : 0) || length > end - at)
        return NULL;
    return length > 0 ? at + length : at;
}

static const uint8_t *skip_record(const uint8_t *at, const uint8_t *end, int64_t index)
{
    int64_t length, value;
    at = read_varint(at, end, 32, &length);
    if (at == NULL || length < 1 || length > end - at)
        return NULL;
    end = at + length;
    at = read_varint(at + 1, end, 64, &value); /* the timestamp, behind the attributes, which are unused so far */
    if (at == NULL)
        return NULL;
    at = read_varint(at, end, 32, &value);
    if (at == NULL || value != index)
        return NULL;
    at = skip_bytes(at, end, 1);
    if (at != NULL)
        at = skip_bytes(at, end, 1);
    if (at != NULL)
        at = read_varint(at, end, 32, &value);
    if (at == NULL || value < 0 || value > (end - at) / 2) /* a header is two lengths at least */
        return NULL;
    for (; value > 0 && at != NULL; value--) {
        at = skip_bytes(at, end, 0);
        if (at != NULL)
            at = skip_bytes(at, end, 1);
    }
    return at == end ? at : NULL;
}

static int fills(const uint8_t *at, const uint8_t *end, int64_t count)
{
    for (int64_t index = 0; index < count && at != NULL; index++)
        at = skip_record(at, end, index);
    return at == end;
}

static int takes(Py_ssize_t wanted, Py_ssize_t given)
{
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "%zd arguments are needed, not %zd", wanted, given);
    return 0;
}

static int in_bounds(const Py_buffer *view, Py_ssize_t start, Py_ssize_t end)
{
    return 0 <= start && start <= end && end <= view->len;
}

PyDoc_STRVAR(records_fill_doc,
"records_fill(body, start, end, count)\n--\n\n"
"Whether `count` records, all of whose fields are valid, fill `body[start:end]` exactly.");

static PyObject *records_fill(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes(4, nargs))
        return NULL;
    Py_ssize_t start = PyLong_AsSsize_t(args[1]), end = PyLong_AsSsize_t(args[2]);
    int64_t count = PyLong_AsLongLong(args[3]);
    Py_buffer view;
    if (PyErr_Occurred() || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *body = view.buf;
    int good = in_bounds(&view, start, end) && count >= 0 && fills(body + start, body + end, count);
    PyBuffer_Release(&view);
    return PyBool_FromLong(good);
}

PyDoc_STRVAR(ordinary_header_doc,
"ordinary_header(type, buffer, start, end, latest_ms, records_max)\n--\n\n"
"The header, as a tuple of that type, of the ordinary batch that fills `buffer[start:end]`; None if it is not one.\n"
"The CRC is not checked, and the records of a compressed batch are not.");

static PyObject *ordinary_header(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    static const int sizes[HEADER_FIELDS] = {8, 4, 4, 1, 4, 2, 4, 8, 8, 8, 2, 4, 4};
    enum { OFFSET, LENGTH, EPOCH, MAGIC_BYTE, CRC, ATTRIBUTES, LAST, FIRST_MS, MAX_MS, PRODUCER, PRODUCER_EPOCH, SEQUENCE, COUNT };

    if (!takes(6, nargs))
        return NULL;
    if (!PyType_Check(args[0]) || !PyType_IsSubtype((PyTypeObject *)args[0], &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "a type of tuples is needed");
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)args[0];
    Py_ssize_t start = PyLong_AsSsize_t(args[2]), end = PyLong_AsSsize_t(args[3]);
    int64_t latest_ms = PyLong_AsLongLong(args[4]), records_max = PyLong_AsLongLong(args[5]);
    if (latest_ms == -1 && PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear(); /* without a bound, it is the largest number and now */
        latest_ms = INT64_MAX;
    }
    Py_buffer view;
    if (PyErr_Occurred() || PyObject_GetBuffer(args[1], &view, PyBUF_SIMPLE) < 0)
        return NULL;

    int64_t fields[HEADER_FIELDS];
    int good = in_bounds(&view, start, end) && end - start > HEADER_SIZE;
    if (good) {
        const uint8_t *at = (const uint8_t *)view.buf + start, *stop = (const uint8_t *)view.buf + end;
        for (int i = 0; i < HEADER_FIELDS; at += sizes[i++])
            fields[i] = read_int(at, sizes[i]);
        fields[CRC] &= 0xFFFFFFFF;
        int64_t codec = fields[ATTRIBUTES] & CODEC_MASK, others = fields[ATTRIBUTES] & ~CODEC_MASK;
        int64_t count = fields[COUNT], producer = fields[PRODUCER];
        good = fields[OFFSET] == 0 && fields[MAGIC_BYTE] == MAGIC && fields[LENGTH] + LOG_OVERHEAD == end - start
            && codec <= CODEC_MAX && (others == 0 || (others == TRANSACTIONAL && producer >= 0))
            && 0 < count && count == fields[LAST] + 1 && count <= records_max
            && -1 <= fields[FIRST_MS] && fields[FIRST_MS] <= latest_ms && -1 <= fields[MAX_MS] && fields[MAX_MS] <= latest_ms
            && (producer < 0 || (fields[PRODUCER_EPOCH] >= 0 && fields[SEQUENCE] >= 0))
            && (codec != 0 || (count * RECORD_SIZE_MIN <= stop - at && fills(at, stop, count)));
    }
    PyBuffer_Release(&view);
    if (!good)
        Py_RETURN_NONE;

    PyObject *header = type->tp_alloc(type, HEADER_FIELDS);
    if (header == NULL)
        return NULL;
    for (int i = 0; i < HEADER_FIELDS; i++) {
        PyObject *value = PyLong_FromLongLong(fields[i]);
        if (value == NULL) {
            Py_DECREF(header);
            return NULL;
        }
        PyTuple_SET_ITEM(header, i, value);
    }
    return header;
}

PyDoc_STRVAR(seek_batch_doc,
"seek_batch(window, bytes_left, first_last_offset, next_offset, offset)\n--\n\n"
"The first batch of `window` that ends at or after `offset`: its position, its size, and the offset after the batch\n"
"before it. A size of 0 means that the window ends before that batch. None: the headers are not plausible.");

static PyObject *seek_batch(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (!takes(5, nargs))
        return NULL;
    int64_t left = PyLong_AsLongLong(args[1]), first_last = PyLong_AsLongLong(args[2]);
    int64_t next = PyLong_AsLongLong(args[3]), offset = PyLong_AsLongLong(args[4]);
    Py_buffer view;
    if (PyErr_Occurred() || PyObject_GetBuffer(args[0], &view, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *window = view.buf;
    int64_t position = 0, size = 0;
    int good = 1;
    while (position <= view.len - HEADER_SIZE) {
        const uint8_t *at = window + position;
        int64_t base = read_int(at, 8), length = read_int(at + 8, 4) + LOG_OVERHEAD, delta = read_int(at + 23, 4);
        good = at[16] == MAGIC && HEADER_SIZE <= length && length <= left - position && next <= base
            && 0 <= delta && base <= INT64_MAX - delta - 1 && (position > 0 || first_last < 0 || base + delta == first_last);
        if (!good)
            break;
        if (base + delta >= offset) {
            size = length;
            break;
        }
        position += length;
        next = base + delta + 1;
    }
    PyBuffer_Release(&view);
    return good ? Py_BuildValue("LLL", (long long)position, (long long)size, (long long)next) : Py_NewRef(Py_None);
}

static int varint_size(int64_t value)
{
    uint64_t zigzag = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    int size = 1;
    while (zigzag >>= 7)
        size++;
    return size;
}

static uint8_t *write_varint(uint8_t *at, int64_t value)
{
    uint64_t zigzag = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
    for (; zigzag > 0x7F; zigzag >>= 7)
        *at++ = (uint8_t)(zigzag | 0x80);
    *at++ = (uint8_t)zigzag;
    return at;
}

static uint8_t *write_bytes(uint8_t *at, PyObject *value)
{
    if (value == Py_None)
        return write_varint(at, -1);
    Py_ssize_t size = PyBytes_GET_SIZE(value);
    at = write_varint(at, size);
    memcpy(at, PyBytes_AS_STRING(value), size);
    return at + size;
}

static int64_t bytes_size(PyObject *value)
{
    if (value == Py_None)
        return varint_size(-1);
    return varint_size(PyBytes_GET_SIZE(value)) + PyBytes_GET_SIZE(value);
}

/* Behind its length: attributes, timestamp, offset, key, value, no headers. */
static int64_t record_size(PyObject *pair, Py_ssize_t index)
{
    return 3 + varint_size(index) + bytes_size(PyTuple_GET_ITEM(pair, 0)) + bytes_size(PyTuple_GET_ITEM(pair, 1));
}

PyDoc_STRVAR(plain_records_doc,
"plain_records(pairs)\n--\n\n"
"Pairs of a key and a value as the body of a batch: no headers, and the batch's own timestamp.");

static PyObject *plain_records(PyObject *module, PyObject *sequence)
{
    PyObject *pairs = PySequence_Fast(sequence, "a sequence of pairs is needed");
    if (pairs == NULL)
        return NULL;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(pairs);
    PyObject **items = PySequence_Fast_ITEMS(pairs), *body = NULL;
    int64_t size = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *pair = items[i];
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2 || !PyBytes_Check(PyTuple_GET_ITEM(pair, 0))
            || !(PyTuple_GET_ITEM(pair, 1) == Py_None || PyBytes_Check(PyTuple_GET_ITEM(pair, 1)))) {
            PyErr_SetString(PyExc_TypeError, "a pair is a key of bytes and a value of bytes or None");
            goto done;
        }
        int64_t record = record_size(pair, i);
        size += varint_size(record) + record;
    }
    body = PyBytes_FromStringAndSize(NULL, size);
    if (body == NULL)
        goto done;
    uint8_t *at = (uint8_t *)PyBytes_AS_STRING(body);
    for (Py_ssize_t i = 0; i < count; i++) {
        at = write_varint(at, record_size(items[i], i));
        *at++ = 0;
        *at++ = 0;
        at = write_varint(at, i);
        at = write_bytes(at, PyTuple_GET_ITEM(items[i], 0));
        at = write_bytes(at, PyTuple_GET_ITEM(items[i], 1));
        *at++ = 0;
    }
done:
    Py_DECREF(pairs);
    return body;
}

static PyMethodDef methods[] = {
    {"records_fill", (PyCFunction)(void (*)(void))records_fill, METH_FASTCALL, records_fill_doc},
    {"ordinary_header", (PyCFunction)(void (*)(void))ordinary_header, METH_FASTCALL, ordinary_header_doc},
    {"seek_batch", (PyCFunction)(void (*)(void))seek_batch, METH_FASTCALL, seek_batch_doc},
    {"plain_records", plain_records, METH_O, plain_records_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "barnabas.records._compiled",
    .m_doc = "The innermost loops over record batches.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__compiled(void)
{
    return PyModule_Create(&definition);
}

/* Reads and writes the format of numpy.org/doc/stable/reference/generated/numpy.lib.format.html:
 * "\x93NUMPY", version, length of the header (2 bytes in version 1, 4 in 2 and 3), a Python
 * dictionary with descr, fortran_order and shape, padding, the data. */
#include "cli/npy.h"
#include "cli/part_file.h"
#include "cli/doing.h"
#include "cli/files_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHY = 256, LONGEST_HEADER = 65536 };

/* --- the dictionary --- */

struct scanner {
    const char *at, *end;
};

static void skip_space(struct scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t'))
        s->at++;
}

static bool take(struct scanner *s, char c)
{
    skip_space(s);
    if (s->at >= s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

/* Reads a quoted text without escapes, as NumPy writes it. */
static bool take_text(struct scanner *s, char *out, size_t size)
{
    skip_space(s);
    if (s->at >= s->end || (*s->at != '\'' && *s->at != '"'))
        return false;
    char quote = *s->at++;
    size_t n = 0;
    while (s->at < s->end && *s->at != quote && n + 1 < size)
        out[n++] = *s->at++;
    out[n] = '\0';
    return take(s, quote);
}

static bool take_word(struct scanner *s, const char *word)
{
    size_t n = strlen(word);
    skip_space(s);
    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
        return false;
    s->at += n;
    return true;
}

static bool take_count(struct scanner *s, int64_t *out)
{
    skip_space(s);
    int64_t v = 0;
    const char *first = s->at;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        if (v > (INT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (*s->at - '0');
    }
    *out = v;
    return s->at > first;
}

/* Returns the element type of a `descr`. For an unsupported one, writes the reason to `why`. */
static tw_dtype type_of(const char *descr, const char *path, char *why)
{
    const char *kind = descr + (descr[0] && strchr("<>|=", descr[0]) ? 1 : 0);
    if (descr[0] == '>' && strcmp(kind + 1, "1") != 0) {
        snprintf(why, WHY, "%s is big-endian ('%s'); save x.astype('<%s')", path, descr, kind);
        return TW_DTYPE_NONE;
    }
    for (int t = 0; t < TW_DTYPE_COUNT; t++)
        if (*tw_dtype_numpy((tw_dtype)t) && strcmp(tw_dtype_numpy((tw_dtype)t), kind) == 0)
            return (tw_dtype)t;
    const char *what = kind[0] == 'O'                     ? "Python objects"
                       : kind[0] == 'c'                   ? "complex numbers"
                       : kind[0] == 'U' || kind[0] == 'S' ? "texts"
                                                          : "elements of an unknown type";
    snprintf(why, WHY, "%s holds %s ('%s'); taken are f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1", path,
             what, descr);
    return TW_DTYPE_NONE;
}

static const char *take_shape(struct scanner *s, const char *path, tw_array *out, char *why)
{
    snprintf(why, WHY, "%s: the shape in its header cannot be read", path);
    if (!take(s, '('))
        return why;
    out->rank = 0;
    while (!take(s, ')')) {
        int64_t extent;
        if (!take_count(s, &extent))
            return why;
        if (out->rank == TW_MAX_RANK) {
            snprintf(why, WHY, "%s has more than %d axes", path, TW_MAX_RANK);
            return why;
        }
        out->shape[out->rank++] = extent;
        if (!take(s, ','))
            return take(s, ')') ? NULL : why;
    }
    return NULL;
}

struct header {
    bool has_type, has_order, has_shape, fortran;
};

static const char *take_entry(struct scanner *s, const char *path, struct header *h, tw_array *out,
                              char *why)
{
    char key[32], descr[32];
    snprintf(why, WHY, "%s: its header is not NumPy's", path);
    if (!take_text(s, key, sizeof key) || !take(s, ':'))
        return why;
    if (strcmp(key, "descr") == 0) {
        if (take(s, '[')) {
            snprintf(why, WHY, "%s is a structured array; save its fields one by one", path);
            return why;
        }
        if (!take_text(s, descr, sizeof descr))
            return why;
        h->has_type = true;
        out->dtype = type_of(descr, path, why);
        return out->dtype == TW_DTYPE_NONE ? why : NULL;
    }
    if (strcmp(key, "fortran_order") == 0) {
        h->has_order = true;
        h->fortran = take_word(s, "True");
        return h->fortran || take_word(s, "False") ? NULL : why;
    }
    if (strcmp(key, "shape") == 0) {
        h->has_shape = true;
        return take_shape(s, path, out, why);
    }
    return why;
}

static const char *parse_header(const char *text, size_t length, const char *path, tw_array *out,
                                char *why)
{
    struct scanner s = {text, text + length};
    struct header h = {0};
    bool open = take(&s, '{');
    while (open && !take(&s, '}')) {
        const char *wrong = take_entry(&s, path, &h, out, why);
        if (wrong)
            return wrong;
        if (!take(&s, ',')) {
            open = take(&s, '}');
            break;
        }
    }
    if (!open || !h.has_type || !h.has_order || !h.has_shape) {
        snprintf(why, WHY, "%s: its header is not NumPy's", path);
        return why;
    }
    if (h.fortran && out->rank > 1) {
        snprintf(why, WHY, "%s is in Fortran order; save numpy.ascontiguousarray(x)", path);
        return why;
    }
    return NULL;
}

/* --- reading --- */

/* Returns the bytes of all elements, or -1 if they exceed `limit`. */
static int64_t array_bytes(const tw_array *a, int64_t limit)
{
    int64_t bytes = (int64_t)tw_dtype_size(a->dtype);
    bool empty = false;
    for (int i = 0; i < a->rank; i++)
        empty |= a->shape[i] == 0;
    for (int i = 0; i < a->rank && !empty; i++) {
        if (a->shape[i] > limit / bytes)
            return -1;
        bytes *= a->shape[i];
    }
    return empty ? 0 : bytes;
}

/* Returns the length of the header text, or 0 after writing a message to `why`. */
static size_t read_preamble(FILE *f, const char *path, char *why)
{
    unsigned char b[12];
    snprintf(why, WHY, "%s is not a .npy file", path);
    if (fread(b, 1, 8, f) != 8)
        return 0;
    if (memcmp(b, "PK\3\4", 4) == 0) /* as zip files begin */
        snprintf(why, WHY,
                 "%s is a .npz file, a zip of .npy files: numpy.save(\"NAME.npy\", "
                 "numpy.load(\"%s\")[\"NAME\"]) takes one out",
                 path, path);
    if (memcmp(b, "\x93NUMPY", 6) != 0)
        return 0;
    if (b[6] < 1 || b[6] > 3) {
        snprintf(why, WHY, "%s is a .npy file of version %d; known are 1 to 3", path, b[6]);
        return 0;
    }
    size_t width = b[6] == 1 ? 2 : 4;
    snprintf(why, WHY, "%s ends in its header", path);
    if (fread(b + 8, 1, width, f) != width)
        return 0;
    size_t length = 0;
    for (size_t i = width; i-- > 0;)
        length = length << 8 | b[8 + i];
    if (length == 0 || length > LONGEST_HEADER) {
        snprintf(why, WHY, "%s has a header of %zu bytes, which cannot be right", path, length);
        return 0;
    }
    return length;
}

static const char *read_data(FILE *f, const char *path, tw_array *out, char *why)
{
    struct stat info;
    long at = ftell(f);
    if (at < 0 || fstat(fileno(f), &info) != 0 || !S_ISREG(info.st_mode)) {
        snprintf(why, WHY, "%s is not an ordinary file", path);
        return why;
    }
    int64_t held = (int64_t)info.st_size - at;
    int64_t bytes = array_bytes(out, held);
    if (bytes < 0 || bytes > held) {
        snprintf(
            why, WHY,
            "%s is cut short: its header promises more elements than the %lld bytes that follow",
            path, (long long)held);
        return why;
    }
    out->data = malloc(bytes ? (size_t)bytes : 1);
    if (!out->data) {
        snprintf(why, WHY, "%s: no memory for its %lld bytes", path, (long long)bytes);
        return why;
    }
    if (fread(out->data, 1, (size_t)bytes, f) != (size_t)bytes) {
        free(out->data);
        out->data = NULL;
        snprintf(why, WHY, "cannot read `%s`: %s", path,
                 ferror(f) ? strerror(errno) : "it became shorter");
        return why;
    }
    return NULL;
}

static const char *read_open(FILE *f, const char *path, tw_array *out, char *why)
{
    size_t length = read_preamble(f, path, why);
    if (!length)
        return why;
    char *text = malloc(length);
    if (!text)
        return "out of memory";
    const char *wrong = why;
    if (fread(text, 1, length, f) != length)
        snprintf(why, WHY, "%s ends in its header", path);
    else
        wrong = parse_header(text, length, path, out, why);
    free(text);
    return wrong ? wrong : read_data(f, path, out, why);
}

const char *npy_read(const char *path, tw_array *out, char why[256])
{
    *out = (tw_array){.size = sizeof(tw_array), .dtype = TW_DTYPE_NONE};
    doing("reading", path);
    file_is_read(path);
    FILE *f = fopen(path, "rb");
    if (!f) {
        int error = errno;
        doing(NULL, NULL);
        snprintf(why, WHY, "cannot read `%s`: %s", path, strerror(error));
        return why;
    }
    const char *wrong = read_open(f, path, out, why);
    fclose(f);
    doing(NULL, NULL);
    return wrong;
}

/* --- writing --- */

static bool write_content(FILE *f, const tw_array *a)
{
    char shape[TW_MAX_RANK * 24 + 1] = "", header[320];
    int at = 0;
    for (int i = 0; i < a->rank; i++)
        at += snprintf(shape + at, sizeof shape - (size_t)at, "%lld,%s", (long long)a->shape[i],
                       i + 1 < a->rank ? " " : "");
    const char *numpy = tw_dtype_numpy(a->dtype);
    int length = snprintf(header, sizeof header,
                          "{'descr': '%c%s', 'fortran_order': False, 'shape': (%s), }",
                          tw_dtype_size(a->dtype) == 1 ? '|' : '<', numpy, shape);
    int padded = (10 + length + 1 + 63) / 64 * 64 - 10; /* aligns the data to 64 bytes */
    unsigned char preamble[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    preamble[8] = (unsigned char)(padded & 255);
    preamble[9] = (unsigned char)(padded >> 8);
    size_t bytes = tw_dtype_size(a->dtype);
    for (int i = 0; i < a->rank; i++)
        bytes *= (size_t)a->shape[i];
    return fwrite(preamble, 1, sizeof preamble, f) == sizeof preamble &&
           fprintf(f, "%-*s\n", padded - 1, header) == padded &&
           fwrite(a->data, 1, bytes, f) == bytes;
}

const char *npy_may_write(const char *path, char why[256])
{
    struct stat info;
    char *target = part_file_target(path); /* a link may lead to another folder */
    int error = errno;
    const char *name = target ? target : path, *slash = strrchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) + 1 : 0;
    char *folder = malloc(length + 3);
    if (!folder) {
        free(target);
        return "out of memory";
    }
    snprintf(folder, length + 3, "%.*s.", (int)length, name);
    bool is_link_good = target != NULL;
    *why = '\0';
    free(target);
    bool there = stat(path, &info) == 0, directory = there && S_ISDIR(info.st_mode);
    bool device = there && !directory && !S_ISREG(info.st_mode); /* written directly */
    error = there || is_link_good ? 0 : error;
    if (!error && access(device ? path : folder, W_OK) != 0) {
        error = errno;
        if (error == EACCES && !device)
            snprintf(why, WHY, "cannot write `%s`: no file can be made in its folder (%s)", path,
                     strerror(error));
    }
    if (!error && part_file_read_only(path))
        error = errno;
    if (!error && directory)
        error = EISDIR;
    if (error && !*why)
        snprintf(why, WHY, "cannot write `%s`: %s", path, strerror(error));
    free(folder);
    return error ? why : NULL;
}

const char *npy_write(const char *path, const tw_array *array, char why[256])
{
    file_is_written(path);
    struct part_file part = part_file_open(path, "wb");
    bool good = part.file && write_content(part.file, array);
    if (part_file_close(&part, good)) {
        file_is_written(path);
        return NULL;
    }
    snprintf(why, WHY, "cannot write `%s`: %s", path, strerror(errno));
    return why;
}

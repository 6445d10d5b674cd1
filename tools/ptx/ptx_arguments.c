#include "ptx/ptx_arguments.h"
#include "cli/npy.h"
#include "cli/operands.h"
#include "cli/tensor.h"
#include "cli/files_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- what is being read --- */

struct reading {
    struct ptx_argument *argument;
    int index;
    const tw_ptx_param *param;
    struct ptx_arrays *arrays;
    uint64_t seed;
    char *why; /* first error; NULL: none so far */
};

__attribute__((format(printf, 2, 3))) static bool wrong(struct reading *r, const char *format, ...)
{
    va_list args;
    if (r->why)
        return false;
    va_start(args, format);
    r->why = need_text_list(format, args);
    va_end(args);
    return false;
}

static bool is_name(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalpha((unsigned char)text[i]) && text[i] != '_' &&
            !(i && isdigit((unsigned char)text[i])))
            return false;
    return length > 0;
}

/* Reads a number that is at least `least` and extends to the end of the text. */
static bool read_count(const char *text, long long least, long long *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    *number = strtoll(text, &end, 10);
    return !*end && *number >= least && *number <= (long long)1 << 40;
}

/* --- types and values --- */

/* Returns the type of a word of C, as in a kernel's parameters, or NULL. */
static const char *type_in_c(const char *word)
{
    static const char *const types[][2] = {
        {"float", "f32"},   {"double", "f64"}, {"int", "i32"},           {"unsigned", "u32"},
        {"uint", "u32"},    {"long", "i64"},   {"size_t", "u64"},        {"short", "i16"},
        {"char", "i8"},     {"half", "f16"},   {"__half", "f16"},        {"float32", "f32"},
        {"float64", "f64"}, {"int32", "i32"},  {"__nv_bfloat16", "bf16"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i][0], word) == 0)
            return types[i][1];
    return NULL;
}

static bool read_dtype(struct reading *r, const char *text, size_t length, tw_dtype *type)
{
    char *name = need_text("%.*s", (int)length, text);
    const char *meant = type_in_c(name);
    *type = tw_dtype_from_name(name);
    free(name);
    if (*type == TW_DTYPE_NONE && meant)
        return wrong(r, "there is no such type; did you mean %s%s?", meant, text + length);
    return *type != TW_DTYPE_NONE ||
           wrong(r, "there is no such type; known are f64 f32 tf32 f16 bf16 e4m3 e5m2, i8 to i64, "
                    "u8 to u64, bool");
}

/* "[64][64]", "[64x64]" */
static bool read_shape(struct reading *r, const char *at, const char *end, tw_array *array)
{
    double elements = 1;
    bool open = false;
    while (at < end) {
        char *close;
        bool begins = *at == (open ? 'x' : '[') && isdigit((unsigned char)at[1]);
        long long extent = begins ? strtoll(at + 1, &close, 10) : -1;
        if (extent < 0 || (*close != ']' && *close != 'x'))
            return wrong(r, "expected TYPE[ELEMENTS], as f32[4096], f32[64][64] or f32[64x64]");
        elements *= (double)extent;
        if (array->rank == TW_MAX_RANK || elements > 1e12)
            return wrong(r, "that is too large");
        array->shape[array->rank++] = extent;
        open = *close == 'x';
        at = open ? close : close + 1;
    }
    return !open || wrong(r, "expected ']'");
}

static bool read_value(struct reading *r, tw_dtype t, const char *text, void *bits)
{
    tw_value v;
    if (!parse_scalar(text, &v) || (v.kind == TW_FLOAT && !is_float_type(t)))
        return wrong(r, "expected %s after ':'", is_float_type(t) ? "a number" : "an integer");
    if (is_float_type(t)) {
        tw_dtype_store(t, bits, v.kind == TW_FLOAT ? v.f : (double)v.i);
        return true;
    }
    size_t width = 8 * tw_dtype_size(t);
    bool is_signed = t == TW_I64 || t == TW_I32 || t == TW_I16 || t == TW_I8;
    int64_t most = width == 64 ? INT64_MAX : ((int64_t)1 << (width - is_signed)) - 1;
    if (t == TW_BOOL)
        most = 1;
    if (v.i > most || v.i < (is_signed ? -most - 1 : 0))
        return wrong(r, "the type does not hold that value");
    memcpy(bits, &v.i, tw_dtype_size(t)); /* little-endian, as GPUs are */
    return true;
}

/* --- arrays --- */

#define EXPECTED                                                                                   \
    "expected TYPE:VALUE, TYPE[ELEMENTS]:FILL, {FIELD, …}, bytes:HEXADECIMAL, null or @FILE.npy"

/* Splits "rand[50]": returns the fill alone, and sets the number of elements that have it; all
 * if no number is given. The caller frees. */
static char *without_count(struct reading *r, const char *text, struct ptx_array *a,
                           int64_t *elements)
{
    const char *open = strrchr(text, '[');
    size_t length = strlen(text);
    long long count;
    *elements = tensor_elements(&a->array);
    if (!open || text[length - 1] != ']')
        return need_text("%s", text);
    char *number = need_text("%.*s", (int)(text + length - 1 - open - 1), open + 1);
    bool fine = read_count(number, 0, &count);
    free(number);
    if (!fine || count > *elements) {
        wrong(r, "expected how many of the %lld elements hold that, as iota[50]",
              (long long)*elements);
        return NULL;
    }
    *elements = count;
    a->uninitialised = true;
    a->initialised = (size_t)count * tw_dtype_size(a->array.dtype);
    return need_text("%.*s", (int)(open - text), text);
}

/* Reads "@FILE": elements for the start of an array of known type and shape, or (NULL) a whole
 * array. */
static bool read_file(struct reading *r, const char *path, struct ptx_array *a, int64_t elements,
                      bool typed)
{
    char why[256];
    tw_array held = tw_array_init();
    const char *bad = npy_read(path, &held, why);
    if (bad)
        return wrong(r, "%s", bad);
    a->file = need_text("%s", path);
    if (!typed) {
        a->array = held;
        return true;
    }
    if (!*tw_dtype_numpy(a->array.dtype) && held.dtype == TW_F32) {
        tw_array converted = tw_array_init(); /* NumPy has no bf16 … */
        bool ok = tensor_convert(&held, a->array.dtype, &converted);
        free(held.data);
        if (!ok)
            return wrong(r, "no memory to convert it");
        held = converted;
    }
    bool fits = held.dtype == a->array.dtype && tensor_elements(&held) == elements;
    if (fits) {
        memcpy(a->array.data, held.data, tensor_bytes(&held));
    } else {
        char type[128];
        format_array_type(type, sizeof type, &held);
        wrong(r, "%.100s holds %s", path, type);
    }
    free(held.data);
    return fits;
}

static bool fill_elements(struct reading *r, const char *text, struct ptx_array *a,
                          int64_t elements)
{
    size_t size = tw_dtype_size(a->array.dtype);
    enum fill kind = fill_from_name(text);
    a->changes = kind == FILL_ZERO || strcmp(text, "none") == 0;
    if (strcmp(text, "none") == 0) {
        bool counted = a->uninitialised;
        a->uninitialised = true;
        return !counted || wrong(r, "`none` has no number of elements: none is written");
    }
    if (kind == FILL_NONE && *text != '=' && *text != '@')
        return wrong(r, "expected " FILL_NAMES ", or none, =VALUE or @FILE.npy after "
                        "':'");
    if (*text == '@')
        return read_file(r, text + 1, a, elements, true);
    if (*text == '=') {
        uint64_t bits = 0;
        bool fine = read_value(r, a->array.dtype, text + 1, &bits);
        for (int64_t i = 0; fine && i < elements; i++)
            memcpy((char *)a->array.data + (size_t)i * size, &bits, size);
        return fine;
    }
    tw_array part = a->array;
    if (a->uninitialised) {
        part.rank = 1;
        part.shape[0] = elements;
    }
    tensor_fill(&part, &(struct fill_options){.kind = kind,
                                              .seed = r->seed,
                                              .scale = 1,
                                              .limit = index_limit(&a->array, 8),
                                              .extent = index_limit(&a->array, INT64_MAX)});
    return true;
}

static bool fill_array(struct reading *r, const char *text, struct ptx_array *a)
{
    int64_t elements;
    char *fill = without_count(r, text, a, &elements);
    if (!fill)
        return false;
    bool fine = tensor_allocate(&a->array) ? fill_elements(r, fill, a, elements)
                                           : wrong(r, "no memory for it");
    free(fill);
    return fine;
}

/* Reads "=0", "=v.data+16": memory of an earlier array. */
static bool read_view(struct reading *r, const char *text, struct ptx_array *a)
{
    const char *plus = strchr(text, '+');
    long long from = 0;
    char *name = need_text("%.*s", (int)(plus ? plus - text : (ptrdiff_t)strlen(text)), text);
    const struct ptx_array *of = ptx_array_find(r->arrays, name);
    if (!of) {
        wrong(r,
              "no array before it is argument `%s`: =0 is that of the first argument, =0+16 "
              "begins at its element 16",
              name);
        free(name);
        return false;
    }
    free(name);
    int64_t elements = tensor_elements(&of->array);
    if (plus && (!read_count(plus + 1, 0, &from) || from > elements))
        return wrong(r, "expected an element of the array, from 0 to %lld, after '+'",
                     (long long)elements);
    size_t offset = (size_t)from * tw_dtype_size(of->array.dtype);
    a->array = of->array;
    a->array.data = (char *)of->array.data + offset;
    if (from) {
        a->array.rank = 1;
        a->array.shape[0] = elements - from;
    }
    a->is_view = true;
    a->uninitialised = of->uninitialised;
    a->initialised = of->initialised > offset ? of->initialised - offset : 0;
    return true;
}

static struct ptx_array *add_array(struct reading *r, const char *path, const char *name)
{
    struct ptx_arrays *all = r->arrays;
    struct ptx_array *a = ADD_NEW(all->list, all->count);
    *a = (struct ptx_array){.path = need_text("%s", path),
                            .name = need_text("%s", name),
                            .named = r->argument->named,
                            .argument = r->index};
    r->argument->array_count++;
    return a;
}

/* Returns whether the text is an array. */
static bool is_array_text(const char *text)
{
    const char *colon = strchr(text, ':'), *open = strchr(text, '[');
    return *text == '@' || *text == '=' || (open && (!colon || open < colon));
}

static bool read_array(struct reading *r, const char *text, struct ptx_array *a)
{
    const char *colon = strchr(text, ':'), *open = strchr(text, '[');
    if (*text == '@')
        return read_file(r, text + 1, a, 0, false);
    if (*text == '=')
        return read_view(r, text + 1, a);
    if (!colon && ends_with(text, "]"))
        return wrong(r,
                     "its values are missing: %s:rand, or %s:none for memory that was never "
                     "written",
                     text, text);
    if (!colon)
        return wrong(r, EXPECTED);
    return read_dtype(r, text, (size_t)(open - text), &a->array.dtype) &&
           read_shape(r, open, colon, &a->array) && fill_array(r, colon + 1, a);
}

/* Saves the initial content of an array; views need no copy of it. */
static void keep_start(struct ptx_array *a)
{
    if (a->is_view || !a->array.data)
        return;
    a->before = need_memory(tensor_bytes(&a->array) + 1);
    memcpy(a->before, a->array.data, tensor_bytes(&a->array));
}

/* --- structs --- */

/* Bytes and alignment of the fields so far; `cap` is the largest alignment of a field. */
struct layout {
    uint8_t *bytes;
    uint8_t *unwritten; /* for each byte: 1 if no field gives it */
    size_t end, alignment, cap;
    int fields;
    char *said; /* "0: pointer, 8: i32" */
};

enum { MOST_STRUCT = 32764 }; /* PTX ISA: bytes of a kernel's parameters */

static bool grow(struct reading *r, struct layout *l, size_t end)
{
    if (end > MOST_STRUCT)
        return wrong(r, "a kernel's parameters have at most %d bytes", MOST_STRUCT);
    l->bytes = need_more_memory(l->bytes, end + 8);
    l->unwritten = need_more_memory(l->unwritten, end + 8);
    if (end > l->end) {
        memset(l->bytes + l->end, 0, end - l->end);
        memset(l->unwritten + l->end, 1, end - l->end);
    }
    l->end = end;
    return true;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Finds the offset of the next field of that size and alignment. */
static bool place(struct reading *r, struct layout *l, size_t size, size_t alignment, size_t *at)
{
    if (alignment > l->cap)
        alignment = l->cap;
    if (alignment > l->alignment)
        l->alignment = alignment;
    *at = round_up(l->end, alignment);
    if (!grow(r, l, *at + size))
        return false;
    memset(l->unwritten + *at, 0, size);
    return true;
}

static void say_field(struct layout *l, size_t at, const char *name, const char *what)
{
    append_text(&l->said, "%s%zu: %s%s%s", l->fields++ ? ", " : "", at, name ? name : "",
                name ? " " : "", what);
}

/* Returns true if the text is spacing: "pad:4", "at:16", "align:16". Sets *fine if it is also
 * valid. */
static bool is_spacing(struct reading *r, const char *text, struct layout *l, bool *fine)
{
    static const char *const words[] = {"pad:", "at:", "align:"};
    long long number;
    size_t at;
    int which = 0;
    while (which < 3 && strncmp(text, words[which], strlen(words[which])) != 0)
        which++;
    if (which == 3)
        return false;
    *fine = read_count(text + strlen(words[which]), 0, &number) && number <= MOST_STRUCT;
    if (!*fine)
        wrong(r, "`%s`: expected a number of bytes", text);
    else if (which == 0)
        *fine = grow(r, l, l->end + (size_t)number);
    else if (which == 1)
        *fine = (size_t)number >= l->end
                    ? grow(r, l, (size_t)number)
                    : wrong(r, "`%s`: the fields before it end at byte %zu", text, l->end);
    else
        *fine = number && !(number & (number - 1))
                    ? place(r, l, 0, (size_t)number, &at)
                    : wrong(r, "`%s`: an alignment is a power of two", text);
    return true;
}

/* "i32:5", "f32:{1,2,3}" */
static bool read_values(struct reading *r, const char *text, const char *name, struct layout *l)
{
    const char *colon = strchr(text, ':');
    tw_dtype type;
    if (!colon)
        return wrong(r, "`%s`: expected TYPE:VALUE, TYPE[ELEMENTS]:FILL, bytes:HEXADECIMAL or null",
                     text);
    if (!read_dtype(r, text, (size_t)(colon - text), &type))
        return false;
    bool list = colon[1] == '{';
    const char *at = colon + 1 + (list || colon[1] == '=');
    size_t size = tw_dtype_size(type), where, first = SIZE_MAX;
    int count = 0;
    for (;; count++) {
        size_t length = list ? strcspn(at, ",}") : strlen(at);
        char *one = need_text("%.*s", (int)length, at);
        bool fine = place(r, l, size, size, &where) && read_value(r, type, one, l->bytes + where);
        free(one);
        if (!fine)
            return false;
        first = first == SIZE_MAX ? where : first;
        at += length + (list && at[length]);
        if (!list || at[-1] != ',')
            break;
    }
    if (list && (at[-1] != '}' || *at))
        return wrong(r, "`%s`: expected '}' after the values", text);
    char *what = count ? need_text("%s[%d]", tw_dtype_name(type), count + 1)
                       : need_text("%s", tw_dtype_name(type));
    say_field(l, first, name, what);
    free(what);
    return true;
}

static int hexadecimal_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Returns the bytes of hexadecimal digits, first byte first, or NULL if the digits are
 * malformed. The caller frees. */
static char *read_hexadecimal(struct reading *r, const char *digits, size_t *length)
{
    size_t count = strlen(digits);
    char *bytes = need_memory(count / 2 + 1);
    bool fine = count && count % 2 == 0;
    for (size_t i = 0; i < count && fine; i++) {
        int digit = hexadecimal_digit(digits[i]);
        fine = digit >= 0;
        bytes[i / 2] = (char)((unsigned char)bytes[i / 2] << 4 | (digit & 15));
    }
    *length = count / 2;
    if (fine)
        return bytes;
    free(bytes);
    wrong(r,
          "`bytes:%s`: expected two hexadecimal digits for each byte, as bytes:0a000000, or "
          "bytes:@FILE",
          digits);
    return NULL;
}

static const char bytes_word[] = "bytes:";
static bool is_bytes(const char *text)
{
    return strncmp(text, bytes_word, strlen(bytes_word)) == 0;
}

/* "bytes:0a000000", "bytes:@FILE" */
static bool read_bytes(struct reading *r, const char *text, const char *name, struct layout *l)
{
    const char *given = text + strlen(bytes_word);
    size_t length, at;
    if (*given == '@')
        file_is_read(given + 1);
    char *bytes = *given == '@' ? read_at_most(given + 1, MOST_STRUCT, &length)
                                : read_hexadecimal(r, given, &length);
    if (!bytes)
        return wrong(r, "cannot read `%s`: %s", given + 1,
                     errno == EFBIG ? "a kernel's parameters have fewer bytes" : strerror(errno));
    bool fine = place(r, l, length, 1, &at);
    if (fine)
        memcpy(l->bytes + at, bytes, length);
    free(bytes);
    if (!fine)
        return false;
    char *what = need_text("bytes[%zu]", length);
    say_field(l, at, name, what);
    free(what);
    return true;
}

static bool read_pointer(struct reading *r, const char *text, const char *path, const char *name,
                         const char *field, struct layout *l)
{
    size_t at;
    struct ptx_array *a = add_array(r, path, name);
    int index = r->arrays->count - 1;
    if (!read_array(r, text, a) || !place(r, l, 8, 8, &at))
        return false;
    a = &r->arrays->list[index];
    keep_start(a);
    a->is_field = true;
    a->at = at;
    say_field(l, at, field, "pointer");
    return true;
}

static bool read_members(struct reading *r, const char *text, const char *path, const char *name,
                         struct layout *l);

/* Reads a struct in a struct: lays it out by itself, then moves it to an offset with its
 * alignment. */
static bool read_nested(struct reading *r, const char *text, const char *path, const char *name,
                        const char *field, struct layout *l)
{
    struct layout own = {.alignment = 1, .cap = l->cap};
    int first = r->arrays->count;
    size_t at;
    bool fine = read_members(r, text, path, name, &own) &&
                place(r, l, round_up(own.end, own.alignment), own.alignment, &at);
    if (fine) {
        memcpy(l->bytes + at, own.bytes, own.end);
        memcpy(l->unwritten + at, own.unwritten, own.end);
        memset(l->unwritten + at + own.end, 1, l->end - at - own.end);
        for (int i = first; i < r->arrays->count; i++)
            r->arrays->list[i].at += at;
        char *what = need_text("{%s}", own.said ? own.said : "");
        say_field(l, at, field, what);
        free(what);
    }
    free(own.bytes);
    free(own.unwritten);
    free(own.said);
    return fine;
}

static bool read_member(struct reading *r, char *text, const char *path, const char *name,
                        int number, struct layout *l)
{
    bool fine;
    size_t length = strcspn(text, "=:{[,"), at;
    char *field = NULL;
    if (text[length] == '=' && is_name(text, length)) {
        text[length] = 0;
        field = text;
        text += length + 1;
        text += strspn(text, " ");
    }
    if (is_spacing(r, text, l, &fine))
        return fine;
    char *inner = need_text("%s.%d", path, number);
    char *shown = field ? need_text("%s.%s", name, field) : need_text("%s.%d", name, number);
    if (*text == '{') {
        fine = read_nested(r, text, inner, shown, field, l);
    } else if (is_bytes(text)) {
        fine = read_bytes(r, text, field, l);
    } else if (is_array_text(text)) {
        fine = read_pointer(r, text, inner, shown, field, l);
    } else if (strcmp(text, "null") == 0) {
        fine = place(r, l, 8, 8, &at);
        if (fine)
            say_field(l, at, field, "null");
    } else {
        fine = read_values(r, text, field, l);
    }
    free(inner);
    free(shown);
    return fine;
}

/* Returns the length up to a comma or a closing brace outside of nested braces and brackets. */
static size_t member_length(const char *text)
{
    int depth = 0;
    size_t i = 0;
    for (; text[i]; i++) {
        if (!depth && (text[i] == ',' || text[i] == '}'))
            break;
        depth += text[i] == '{' || text[i] == '[';
        depth -= text[i] == '}' || text[i] == ']';
    }
    return i;
}

/* Reads "{…}", which must be the whole text. */
static bool read_members(struct reading *r, const char *text, const char *path, const char *name,
                         struct layout *l)
{
    const char *at = text + 1;
    for (int number = 0;; number++) {
        at += strspn(at, " ");
        size_t length = member_length(at), shown = length;
        if (at[length] != ',' && at[length] != '}')
            return wrong(r, "`%s`: expected '}' after the fields", text);
        while (shown && at[shown - 1] == ' ')
            shown--;
        char *member = need_text("%.*s", (int)shown, at);
        int before = l->fields;
        bool fine = *member ? read_member(r, member, path, name, number, l)
                            : wrong(r, "`%s`: a field is missing", text);
        free(member);
        if (!fine)
            return false;
        number -= l->fields == before; /* spacing is not a field */
        at += length + 1;
        if (at[-1] == '}')
            return !*at || wrong(r, "`%s`: expected the end after '}'", text);
    }
}

/* Reads "{…}" or "bytes:…". The parameter's alignment is the struct's and limits that of each
 * field; fields of packed structs have less. */
static bool read_struct(struct reading *r, const char *text)
{
    struct ptx_argument *a = r->argument;
    const tw_ptx_param *p = r->param;
    char path[16];
    struct layout l = {.alignment = 1, .cap = p->alignment ? p->alignment : 16};
    snprintf(path, sizeof path, "%d", r->index);
    bool fine =
        *text == '{' ? read_members(r, text, path, a->name, &l) : read_bytes(r, text, NULL, &l);
    if (fine && p->bytes) {
        size_t size = round_up(l.end, l.alignment);
        fine = size == p->bytes ||
               wrong(r, "%s has %zu bytes, aligned to %zu; these fields make %zu (%s)%s", a->name,
                     p->bytes, p->alignment, size, l.said ? l.said : "",
                     size < p->bytes ? ": pad:BYTES, at:OFFSET and align:BYTES make room" : "");
        fine = fine && grow(r, &l, size);
    }
    free(l.said);
    a->kind = PTX_STRUCT;
    a->value = l.bytes;
    a->bytes = l.end;
    a->unwritten = l.unwritten;
    if (l.end && !memchr(l.unwritten, 1, l.end)) {
        free(l.unwritten);
        a->unwritten = NULL;
    }
    return fine;
}

/* --- one argument --- */

static bool read_single(struct reading *r, const char *text)
{
    struct ptx_argument *a = r->argument;
    const char *colon = strchr(text, ':');
    char path[16];
    if (is_array_text(text)) {
        snprintf(path, sizeof path, "%d", r->index);
        a->kind = PTX_ARRAY;
        struct ptx_array *array = add_array(r, path, a->name);
        if (!read_array(r, text, array))
            return false;
        keep_start(array);
        return true;
    }
    a->value = need_memory(8);
    if (strcmp(text, "null") == 0) {
        a->type = TW_U64;
        a->bytes = 8;
        return true;
    }
    double number;
    if (!colon && parse_real(text, &number))
        return wrong(r, "its type is missing: i32:%s, or f32:%s", text, text);
    if (!colon)
        return wrong(r, EXPECTED);
    if (!read_dtype(r, text, (size_t)(colon - text), &a->type))
        return false;
    a->bytes = tw_dtype_size(a->type);
    return read_value(r, a->type, colon + 1 + (colon[1] == '='), a->value);
}

/* Refuses a struct if the kernel takes something else. */
static bool suits(struct reading *r)
{
    const struct ptx_argument *a = r->argument;
    const tw_ptx_param *p = r->param;
    size_t bytes = a->kind == PTX_ARRAY ? 8 : a->bytes;
    if (!p->bytes || p->bytes == bytes || !strchr(p->type, '['))
        return true;
    return wrong(r, "%s is a struct of %zu bytes; its fields go in braces, as {%s, i32:8}", a->name,
                 p->bytes, a->kind == PTX_ARRAY ? "i32[8]:zero" : "f32:1");
}

bool ptx_argument_read(struct ptx_argument *a, int index, const char *text,
                       const tw_ptx_param *param, struct ptx_arrays *arrays, uint64_t seed,
                       char **why)
{
    struct reading r = {a, index, param, arrays, seed, NULL};
    a->first_array = arrays->count;
    char *braced =
        !is_bytes(text) && strstr(text, ":{") ? need_text("{%s}", text) : NULL; /* f32:{1,2,3,4} */
    bool fine = *text == '{' || is_bytes(text) ? read_struct(&r, text)
                : braced                       ? read_struct(&r, braced)
                                               : read_single(&r, text) && suits(&r);
    free(braced);
    *why = r.why;
    return fine;
}

struct ptx_array *ptx_array_find(const struct ptx_arrays *arrays, const char *text)
{
    for (int i = 0; i < arrays->count; i++) {
        struct ptx_array *a = &arrays->list[i];
        if (a->array.data && (strcmp(a->path, text) == 0 || (a->named && !strcmp(a->name, text))))
            return a;
    }
    return NULL;
}

void ptx_arrays_free(struct ptx_arrays *arrays)
{
    for (int i = 0; i < arrays->count; i++) {
        struct ptx_array *a = &arrays->list[i];
        if (!a->is_view)
            free(a->array.data);
        free(a->path);
        free(a->name);
        free(a->file);
        free(a->before);
        free(a->out);
    }
    free(arrays->list);
    *arrays = (struct ptx_arrays){0};
}

/* Elements are read by tw_dtype_load and written by tw_dtype_store, so every type is supported. */
#include "cli/tensor.h"
#include "cli/npy.h"
#include "cli/target.h"
#include "cli/doing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const fill_names[] = {
    [FILL_RAND] = "rand",         [FILL_ZERO] = "zero",       [FILL_IOTA] = "iota",
    [FILL_ONES] = "ones",         [FILL_WIDE] = "wide",       [FILL_NEGATIVE] = "negative",
    [FILL_POSITIVE] = "positive", [FILL_EXTREME] = "extreme", [FILL_SPECIAL] = "special",
    [FILL_STARTS] = "starts",
};

enum fill fill_from_name(const char *name)
{
    for (enum fill i = FILL_RAND; i <= FILL_STARTS; i++)
        if (strcmp(name, fill_names[i]) == 0)
            return i;
    return FILL_NONE;
}

const char *fill_name(enum fill fill)
{
    return fill_names[fill];
}

int64_t tensor_elements(const tw_array *a)
{
    int64_t n = 1;
    for (int i = 0; i < a->rank; i++)
        n *= a->shape[i];
    return n;
}

size_t tensor_bytes(const tw_array *a)
{
    return (size_t)tensor_elements(a) * tw_dtype_size(a->dtype);
}

/* Returns the machine's memory. Larger arrays are useless, even if the system promises them. */
static double memory_bytes(void)
{
    double pages = (double)sysconf(_SC_PHYS_PAGES), page = (double)sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? pages * page : (double)(PTRDIFF_MAX / 2);
}

bool tensor_fits(const tw_array *a, double *others)
{
    double bytes = (double)tw_dtype_size(a->dtype);
    for (int i = 0; i < a->rank; i++)
        bytes *= (double)a->shape[i];
    *others += bytes;
    return *others <= memory_bytes();
}

void tensor_say_no_memory(const tw_array *a, const char *name, double all, struct complaints *c)
{
    char type[128];
    double own = 0;
    tensor_fits(a, &own);
    format_array_type(type, sizeof type, a);
    complain(c, "no memory for `%s`: %s takes %.4g GB", name, type, own * 1e-9);
    if (all > own)
        complain_more(c, "the arrays ahead of it take %.4g GB", (all - own) * 1e-9);
}

bool tensor_allocate(tw_array *a)
{
    double nothing = 0;
    if (!tensor_fits(a, &nothing))
        return false;
    a->data = array_memory(tensor_bytes(a));
    return a->data != NULL;
}

static char *element(const tw_array *a, int64_t i)
{
    return (char *)a->data + (size_t)i * tw_dtype_size(a->dtype);
}

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double random_value(tw_dtype t, const struct fill_options *o, uint64_t *state)
{
    uint64_t bits = next_random(state);
    if (is_float_type(t))
        return (ldexp((double)(bits >> 11), -53) - 0.5) * o->scale;
    if (t == TW_BOOL)
        return (double)(bits & 1);
    return (double)(bits % (uint64_t)(o->limit > 0 ? o->limit : 1));
}

/* Returns a value of FILL_WIDE, for an element in an even or an odd row. */
static double wide_value(tw_dtype t, const struct fill_options *o, bool odd, uint64_t *state)
{
    struct fill_options wide = *o;
    wide.scale = odd ? o->scale : 2 * WIDEST;
    bool all = (t == TW_I8 || t == TW_U8) && !o->is_index;
    wide.limit = all ? 256 : o->limit;
    double v = random_value(t, &wide, state);
    return t == TW_I8 && all ? v - 128 : is_float_type(t) && odd ? WIDEST + v : v;
}

bool is_signed_integer(tw_dtype t)
{
    return t >= TW_I64 && t <= TW_I8;
}

/* Draws a nonzero value of one sign. */
static double signed_value(tw_dtype t, const struct fill_options *o, uint64_t *state)
{
    bool negative = o->kind == FILL_NEGATIVE && (is_float_type(t) || is_signed_integer(t));
    struct fill_options from_zero = *o;
    if (o->kind == FILL_POSITIVE && o->limit > 1) /* limit - 1 is still an index */
        from_zero.limit = o->limit - 1;
    double v = random_value(t, &from_zero, state);
    v = t == TW_BOOL ? v : is_float_type(t) ? fabs(v) + o->scale / 16 : v + 1;
    return negative ? -v : v;
}

/* Stores the least or largest integer of the type, or a small one. */
static void store_extreme(tw_array *a, int64_t i, const struct fill_options *o, uint64_t *state)
{
    size_t size = tw_dtype_size(a->dtype);
    uint64_t choice = next_random(state) % 8, top = UINT64_C(1) << (8 * size - 1);
    uint64_t bits = is_signed_integer(a->dtype) ? top - (choice & 1) : (choice & 1) - 1;
    double v = random_value(a->dtype, o, state);
    if (is_float_type(a->dtype) || a->dtype == TW_BOOL || choice >= 4)
        tw_dtype_store(a->dtype, element(a, i),
                       is_signed_integer(a->dtype) && choice & 1 ? -1 - v : v);
    else
        memcpy(element(a, i), &bits, size); /* little-endian */
}

/* Values of FILL_SPECIAL; those from ZERO on are finite. */
enum special { NOT_A_NUMBER, INFINITE, ZERO, LEAST, LARGEST, SPECIALS };

static void store_special_value(tw_array *a, int64_t i, enum special kind, bool negative)
{
    size_t size = tw_dtype_size(a->dtype);
    uint64_t bits = 0, sign = UINT64_C(1) << (8 * size - 1);
    uint64_t last = a->dtype == TW_TF32 ? UINT64_C(1) << 13 : 1; /* its last significant bit */
    char *at = element(a, i);
    tw_dtype_store(a->dtype, at, kind == NOT_A_NUMBER ? NAN : INFINITY);
    memcpy(&bits, at, size); /* little-endian */
    if (kind == LARGEST && !isfinite(tw_dtype_load(a->dtype, at)))
        bits -= last;
    else if (kind == ZERO)
        bits = 0;
    else if (kind == LEAST) /* of bf16 the least that is not subnormal: some processors multiply
                             * subnormal ones as 0 */
        bits = a->dtype == TW_BF16 ? 0x80 : last;
    if (negative && kind != NOT_A_NUMBER)
        bits |= sign;
    memcpy(at, &bits, size);
}

/* Stores a value of FILL_SPECIAL. `row` counts from a number that differs between arrays. */
static void store_special(tw_array *a, int64_t i, uint64_t row, const struct fill_options *o,
                          uint64_t *state)
{
    static const enum special alone[] = {INFINITE, NOT_A_NUMBER, INFINITE, ZERO};
    uint64_t choice = next_random(state), turn = row / 4;
    int kind = SPECIALS;
    if (row % 4 == 1 && choice % 8 == 0)
        kind = (int)(choice / 8 % SPECIALS);
    else if (row % 4 == 2 && choice % 4 == 0)
        kind = ZERO + (int)(choice / 8 % (SPECIALS - ZERO));
    if (kind == LARGEST && turn % 8 != 0) /* sums and products of more of them overflow */
        kind = SPECIALS;
    else if (row % 4 == 3)
        kind = (int)alone[turn % 4];
    if (is_float_type(a->dtype) && kind != SPECIALS)
        store_special_value(a, i, (enum special)kind,
                            row % 4 == 3 ? turn % 4 == 0 : choice >> 63 != 0);
    else
        tw_dtype_store(a->dtype, element(a, i), random_value(a->dtype, o, state));
}

static int compare_integers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void fill_starts(tw_array *a, const struct fill_options *o)
{
    enum { EQUAL = 4 }; /* about one row in EQUAL is empty, or more */
    int64_t n = tensor_elements(a), row = a->rank > 0 ? a->shape[a->rank - 1] : 1;
    int64_t last = tw_dtype_size(a->dtype) == 1 && o->extent > INT8_MAX ? INT8_MAX : o->extent;
    int64_t *starts = need_memory((size_t)row * sizeof *starts);
    uint64_t state = o->seed;
    for (int64_t first = 0; first < n; first += row) {
        for (int64_t i = 0; i < row; i++)
            starts[i] = (int64_t)(next_random(&state) % ((uint64_t)last + 1));
        starts[0] = 0;
        if (row > 1)
            starts[row - 1] = last;
        qsort(starts, (size_t)row, sizeof *starts, compare_integers);
        for (int64_t i = 0; i < row; i++) {
            bool again = i > 0 && i < row - 1 && next_random(&state) % EQUAL == 0;
            starts[i] = again ? starts[i - 1] : starts[i];
            tw_dtype_store(a->dtype, element(a, first + i), (double)starts[i]);
        }
    }
    free(starts);
}

void tensor_fill(tw_array *a, const struct fill_options *o)
{
    bool integers = !is_float_type(a->dtype) && a->dtype != TW_BOOL;
    if (integers && (o->kind == FILL_STARTS || (o->kind == FILL_RAND && o->is_starts))) {
        fill_starts(a, o);
        return;
    }
    /* elements of a row, if there is only one axis */
    const int64_t piece = o->kind == FILL_SPECIAL ? 16 : 64;
    uint64_t state = o->seed;
    int64_t n = tensor_elements(a), row = a->rank > 1 ? a->shape[a->rank - 1] : piece;
    doing("filling an array", NULL);
    for (int64_t i = 0; i < n; i++) {
        double v = 0;
        switch (o->kind) {
        case FILL_STARTS: /* of floats */
        case FILL_RAND: v = random_value(a->dtype, o, &state); break;
        case FILL_WIDE: v = wide_value(a->dtype, o, i / row % 2, &state); break;
        case FILL_NEGATIVE:
        case FILL_POSITIVE: v = signed_value(a->dtype, o, &state); break;
        case FILL_EXTREME: store_extreme(a, i, o, &state); continue;
        case FILL_SPECIAL: store_special(a, i, o->seed + (uint64_t)(i / row), o, &state); continue;
        case FILL_IOTA: v = (double)i; break;
        case FILL_ONES: v = 1; break;
        case FILL_NONE:
        case FILL_ZERO: break;
        }
        tw_dtype_store(a->dtype, element(a, i), v);
    }
    doing(NULL, NULL);
}

void tensor_fill_unwritten(tw_array *a, int turn)
{
    static const int bytes[] = {0xff, 0x43, 0xc3}; /* f32: NaN, 195.3, -391.5 */
    size_t size = tw_dtype_size(a->dtype);
    int64_t n = tensor_elements(a);
    for (int64_t i = 0; i < n; i++) {
        int byte = bytes[(uint64_t)(i + turn) % (sizeof bytes / sizeof *bytes)];
        memset(element(a, i), a->dtype == TW_BOOL ? !turn || byte >> 2 & 1 : byte, size);
    }
}

double tensor_root_mean_square(const tw_array *a)
{
    int64_t n = tensor_elements(a), finite = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = tw_dtype_load(a->dtype, element(a, i));
        finite += isfinite(v);
        squares += isfinite(v) ? v * v : 0;
    }
    return finite ? sqrt(squares / (double)finite) : 0;
}

bool tensor_is_uniform(const tw_array *a)
{
    size_t bytes = tensor_bytes(a), size = tw_dtype_size(a->dtype);
    return bytes > size && memcmp(a->data, (const char *)a->data + size, bytes - size) == 0;
}

double type_roundoff(tw_dtype t)
{
    double unit = 1, store = 0;
    do {
        unit /= 2;
        tw_dtype_store(t, &store, 1 + unit);
    } while (tw_dtype_load(t, &store) > 1);
    return unit;
}

bool tensor_convert(const tw_array *from, tw_dtype to, tw_array *out)
{
    *out = *from;
    out->dtype = to;
    if (!tensor_allocate(out))
        return false;
    int64_t n = tensor_elements(from);
    for (int64_t i = 0; i < n; i++)
        tw_dtype_store(to, element(out, i), tw_dtype_load(from->dtype, element(from, i)));
    return true;
}

const char *tensor_write(const tw_array *a, const char *path, char why[256])
{
    tw_array written = *a;
    bool widen = !*tw_dtype_numpy(a->dtype);
    if (widen && !tensor_convert(a, TW_F32, &written)) {
        snprintf(why, 256, "%s: no memory to convert it", path);
        return why;
    }
    const char *wrong = npy_write(path, &written, why);
    if (widen)
        free(written.data);
    return wrong;
}

/* --- printing --- */

static bool reads_back(tw_dtype t, const char *text, double v)
{
    char store[8];
    tw_dtype_store(t, store, strtod(text, NULL));
    return tw_dtype_load(t, store) == v;
}

/* Formats as Python's repr does: fixed for exponents from -4 to 15, always with a point or an
 * exponent. */
static void float_text(char *out, size_t size, tw_dtype t, double v)
{
    char text[40];
    if (isnan(v) || isinf(v)) {
        snprintf(out, size, "%s", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    int digits = 0;
    do
        snprintf(text, sizeof text, "%.*e", digits, v);
    while (!reads_back(t, text, v) && ++digits < 17);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent < -4 || exponent > 15)
        snprintf(out, size, "%s", text);
    else
        snprintf(out, size, "%.*f", digits > exponent ? digits - exponent : 1, v);
}

static void integer_text(char *out, size_t size, tw_dtype t, const void *at)
{
    uint64_t unsigned_value;
    int64_t signed_value;
    if (t == TW_U64) { /* 64-bit integers do not fit a double */
        memcpy(&unsigned_value, at, 8);
        snprintf(out, size, "%llu", (unsigned long long)unsigned_value);
    } else if (t == TW_I64) {
        memcpy(&signed_value, at, 8);
        snprintf(out, size, "%lld", (long long)signed_value);
    } else {
        snprintf(out, size, "%.0f", tw_dtype_load(t, at));
    }
}

void tensor_element_text(char *out, size_t size, const tw_array *a, int64_t index)
{
    const void *at = element(a, index);
    if (is_float_type(a->dtype))
        float_text(out, size, a->dtype, tw_dtype_load(a->dtype, at));
    else if (a->dtype == TW_BOOL)
        snprintf(out, size, "%s", tw_dtype_load(TW_BOOL, at) != 0 ? "True" : "False");
    else
        integer_text(out, size, a->dtype, at);
}

/* Returns how many axes end before this element: a row is full, a matrix of rows, … */
static int axes_ended(const tw_array *a, int64_t index)
{
    int64_t whole = 1;
    int ended = 0;
    while (ended < a->rank - 1 && index % (whole *= a->shape[a->rank - 1 - ended]) == 0)
        ended++;
    return ended;
}

static int widest_element(const tw_array *a)
{
    char text[40];
    int64_t n = tensor_elements(a), widest = 0;
    for (int64_t i = 0; i < n; i++) {
        tensor_element_text(text, sizeof text, a, i);
        widest = widest > (int64_t)strlen(text) ? widest : (int64_t)strlen(text);
    }
    return (int)widest;
}

static void put(FILE *out, int count, char c)
{
    while (count-- > 0)
        fputc(c, out);
}

/* Prints the elements as a Python list: "[1.0, 3.0, nan]". Several axes are nested lists, one
 * row a line, elements aligned. */
static void tensor_print(FILE *out, const tw_array *a)
{
    char text[40];
    int64_t n = tensor_elements(a);
    int axes = n && a->rank > 1 ? a->rank : 1, width = axes > 1 ? widest_element(a) : 0;
    put(out, axes, '[');
    for (int64_t i = 0; i < n; i++) {
        int ended = i ? axes_ended(a, i) : 0;
        put(out, ended, ']');
        fputs(!i ? "" : ended ? ",\n" : ", ", out);
        put(out, ended ? axes - ended : 0, ' ');
        put(out, ended, '[');
        tensor_element_text(text, sizeof text, a, i);
        fprintf(out, "%*s", width, text);
    }
    put(out, axes, ']');
}

void tensor_json(struct json *j, const tw_array *a)
{
    char text[40];
    int64_t n = tensor_elements(a);
    json_open_row(j);
    for (int64_t i = 0; i < n; i++) {
        tensor_element_text(text, sizeof text, a, i);
        if (a->dtype == TW_BOOL)
            json_bool(j, text[0] == 'T');
        else if (strpbrk(text, "0123456789"))
            json_number(j, text);
        else
            json_string(j, text);
    }
    json_close(j, ']');
}

struct summary {
    double least, most, mean; /* of the elements that are not NaN */
    int64_t not_numbers, infinite;
};

static struct summary summarise(const tw_array *a)
{
    struct summary s = {.least = INFINITY, .most = -INFINITY};
    int64_t n = tensor_elements(a);
    for (int64_t i = 0; i < n; i++) {
        double v = tw_dtype_load(a->dtype, element(a, i));
        if (isnan(v)) {
            s.not_numbers++;
            continue;
        }
        s.infinite += isinf(v) != 0;
        s.least = fmin(s.least, v);
        s.most = fmax(s.most, v);
        s.mean += v;
    }
    if (n > s.not_numbers)
        s.mean /= (double)(n - s.not_numbers);
    return s;
}

static void print_summary(const struct summary *s, int64_t count)
{
    if (s->not_numbers == count) {
        printf("all %lld are not a number", (long long)count);
        return;
    }
    printf("from %.6g to %.6g", s->least, s->most);
    if (s->infinite)
        printf(", %lld infinite", (long long)s->infinite);
    else if (isfinite(s->mean)) /* the sum may not be */
        printf(", mean %.6g", s->mean);
    if (s->not_numbers)
        printf(", %lld not a number", (long long)s->not_numbers);
}

void tensor_report(const tw_array *a, const char *keep)
{
    char type[128];
    format_array_type(type, sizeof type, a);
    if (tensor_elements(a) <= SHOWN_ELEMENTS) {
        if (a->rank > 1)
            printf("%s\n", type);
        tensor_print(stdout, a);
        putchar('\n');
        return;
    }
    struct summary s = summarise(a);
    printf("%s ", type);
    print_summary(&s, tensor_elements(a));
    printf(" (--out %s=FILE.npy keeps it)\n", keep);
}

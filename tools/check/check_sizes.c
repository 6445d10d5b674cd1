/* Chooses the sizes of runs, which cover edges, and the initial contents of the arrays. */
#include "check/check.h"
#include "cli/tensor.h"
#include "tilewright_look.h"
#include "tilewright_tuning.h"

#include <stdlib.h>
#include <string.h>

/* Sizes past the tiles: the size, one more, and a multiple of 128. MOST_PAST limits its growth
 * for a grid. */
enum { PAST = -1, PAST_ONE = -2, PAST_EVEN = -3, MOST_PAST = 2 * 1024 + 1 };

/* Sizes by shape: tiny, ragged, a row or a column, past one tile, and multiples that satisfy
 * most `assume`s; then a row, for the CPU engine alone; then, twice, sizes past the tiles, with
 * a third block along each axis in turn. */
static const int64_t shapes[CHECK_SHAPES][3] = {
    {1, 1, 1},          {3, 5, 7},         {64, 1, 300},        {16, 16, 16},
    {130, 67, 75},      {64, 128, 64},     {5, 3, 1},           {9, 10, PAST},
    {PAST_ONE, 10, 9},  {9, PAST_ONE, 10}, {64, 64, PAST_EVEN}, {PAST_EVEN, 64, 64},
    {64, PAST_EVEN, 64}};

/* Returns a size past the tiles. It is not known which tuned value is a tile's side along which
 * axis. The size is therefore one more than a common multiple of all candidates that is at least
 * twice the largest: three blocks, and a last step of one. 128 represents tiles that are not
 * tuned. */
static int64_t past_tiles(const struct space *s)
{
    enum { LEAST = 8, MOST = 512, MOST_MULTIPLE = 1024 };
    int64_t multiple = 128, largest = 128, size = 0;
    for (int i = 0; i < s->tune_count; i++) {
        int64_t v = s->tuned[i].i, least = multiple;
        if (s->tuned[i].kind == TW_FLOAT || v < LEAST || v > MOST)
            continue;
        while (least % v != 0)
            least += multiple;
        multiple = least <= MOST_MULTIPLE ? least : multiple;
        largest = v > largest ? v : largest;
    }
    while (size < 2 * largest)
        size += multiple;
    return size + 1;
}

static int64_t axis_size(const struct check *c, int shape, int axis)
{
    int64_t size = shapes[shape][axis % 3];
    return size == PAST        ? c->past
           : size == PAST_ONE  ? c->past + 1
           : size == PAST_EVEN ? (c->past + 127) / 128 * 128
                               : size;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names that are lengths of arrays, sorted. */
struct axes {
    const char **names;
    size_t count;
};

static struct axes find_axes(tw_kernel *k)
{
    struct axes a = {0};
    tw_param p = tw_param_init();
    size_t most = 0;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        most += (size_t)p.rank;
    a.names = need_memory((most + 1) * sizeof *a.names);
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        for (int d = 0; d < p.rank; d++)
            if (p.dims[d])
                a.names[a.count++] = p.dims[d];
    qsort(a.names, a.count, sizeof *a.names, compare_names);
    return a;
}

static bool is_axis(const struct axes *a, const char *name)
{
    return a->count && bsearch(&name, a->names, a->count, sizeof *a->names, compare_names);
}

static int count_axes(tw_kernel *k, const struct axes *a)
{
    int count = 0;
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        count += !p.is_pointer && !p.derived && is_axis(a, p.name);
    return count;
}

/* Sets the scalars for a run. The shape gives the last three axes; earlier ones (batches, heads)
 * get 1 to 3. Other integers get 2, flags alternate, floats get 0.125; in every other shape, a
 * scalar with a default gets that. --set takes precedence. */
static tw_status set_scalars(struct check *c, int shape)
{
    struct axes sizes = find_axes(c->kernel);
    int axis = 0, axes = count_axes(c->kernel, &sizes), batches = axes > 3 ? axes - 3 : 0;
    tw_status s = TW_OK;
    tw_param p = tw_param_init();
    for (int i = 0; s == TW_OK && tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        tw_value v = tw_int(2);
        if (p.is_pointer || p.derived)
            continue;
        bool is_pinned = c->pin.param && strcmp(c->pin.param, p.name) == 0;
        bool takes_default = shape % 2 == 0 && !is_pinned && !is_axis(&sizes, p.name);
        if (p.default_value.kind && (p.is_static || takes_default)) /* static: no other value */
            v = p.default_value;
        else if (is_float_type(p.dtype))
            v = tw_float(0.125);
        else if (p.dtype == TW_BOOL)
            v.i = shape & 1;
        else if (is_pinned)
            v.i = c->pin.value;
        else if (is_axis(&sizes, p.name))
            v.i = axis < batches ? 1 + shape % 3 : axis_size(c, shape, axis - batches);
        axis += is_axis(&sizes, p.name);
        s = tw_launch_set(c->launch, p.name, v);
    }
    free(sizes.names);
    if (s != TW_OK)
        return s;
    bool set = apply_settings(c->launch, c->kernel, c->program, c->given, true) == STATUS_OK;
    return set ? TW_OK : TW_BAD_ARGUMENT;
}

static bool type_holds(tw_dtype t, int64_t v)
{
    int bits = 8 * (int)tw_dtype_size(t);
    if (bits >= 64)
        return is_signed_integer(t) || v >= 0;
    int64_t most = ((int64_t)1 << (is_signed_integer(t) ? bits - 1 : bits)) - 1;
    return v <= most && v >= (is_signed_integer(t) ? -most - 1 : 0);
}

/* Returns whether the arrays stay small with that value of a size. */
static bool is_small(struct check *c, const struct check_pin *pin)
{
    enum { MOST_ELEMENTS = 1 << 20 };
    tw_param p = tw_param_init();
    operands_forget(c->launch, c->kernel);
    c->pin = *pin;
    bool small = set_scalars(c, CHECK_PINNED) == TW_OK;
    c->pin = (struct check_pin){0};
    for (int i = 0; small && tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        tw_array a = tw_array_init();
        small = !p.is_pointer || (tw_launch_shape(c->launch, p.name, &a) == TW_OK &&
                                  tensor_elements(&a) <= MOST_ELEMENTS);
    }
    return small;
}

/* Returns whether the kernel can run with the value: every size must be at least 1. */
static bool is_possible(struct check *c, const struct axes *sizes, struct check_pin *pin)
{
    enum { MOST_END = 1 << 20 }; /* tiles end before it; larger ones are of an `assume`, rather */
    tw_param p = tw_param_init();
    int i = 0;
    while (tw_kernel_param(c->kernel, i, &p) == TW_OK && strcmp(p.name, pin->param) != 0)
        i++;
    if (p.derived)
        return false;
    if (!is_axis(sizes, pin->param))
        return p.dtype == TW_DTYPE_NONE ? pin->value >= 0 : type_holds(p.dtype, pin->value);
    pin->is_large = pin->value > MOST_PAST;
    bool small = !pin->is_large || is_small(c, pin);
    if (!small && pin->value <= MOST_END)
        check_take_unreached(c, pin);
    return pin->value >= 1 && small;
}

static bool has_pin(const struct check *c, const struct check_pin *pin)
{
    for (int i = 0; i < c->pin_count; i++)
        if (strcmp(c->pins[i].param, pin->param) == 0 && c->pins[i].value == pin->value)
            return true;
    return false;
}

/* Adds the neighbours of a constant, too, so that both branches of a comparison are taken. */
void check_find_pins(struct check *c)
{
    int64_t value;
    const char *param;
    struct axes sizes = find_axes(c->kernel);
    c->pin_count = 0;
    for (int i = 0; tw_launch_compared(c->launch, i, &param, &value) == TW_OK; i++)
        for (int d = -1; d <= 1 && c->pin_count < CHECK_PINS; d++) {
            if ((d < 0 && value == INT64_MIN) || (d > 0 && value == INT64_MAX))
                continue;
            struct check_pin pin = {.param = param, .value = value + d, .constant = value};
            if (!has_pin(c, &pin))
                c->pins[c->pin_count++] = pin;
        }
    int kept = 0; /* after all are known, because this sets sizes */
    for (int i = 0; i < c->pin_count; i++)
        if (is_possible(c, &sizes, &c->pins[i]))
            c->pins[kept++] = c->pins[i];
    c->pin_count = kept;
    free(sizes.names);
}

static int64_t count_blocks(struct check *c, int shape, int64_t past)
{
    tw_estimate e = tw_estimate_init();
    c->past = past;
    return set_scalars(c, shape) == TW_OK && tw_launch_estimate(c->launch, 0, &e) == TW_OK
               ? e.blocks
               : 0;
}

/* Finds the least size with three blocks, in shapes where one element has one block, because
 * blocks may be larger than the tuned values suggest. If no size has three, the grid does not
 * depend on the axis. */
static void find_past(struct check *c, int shape)
{
    int64_t tiles = past_tiles(&c->space), one = count_blocks(c, shape, 1), size = tiles;
    while (one > 0 && size <= MOST_PAST && count_blocks(c, shape, size) < 3 * one)
        size = 2 * size - 1;
    c->past = size <= MOST_PAST ? size : tiles;
}

/* Describes a run: "m = 3, k = 7, BM = 64". */
static char *describe_run(struct check *c)
{
    char *text = scalars_text(c->launch, c->kernel), *tuned = space_text(&c->space);
    if (*tuned)
        append_text(&text, "%s%s", *text ? ", " : "", tuned);
    free(tuned);
    return text;
}

bool check_may_hold_anything(const struct check *c, const tw_param *p)
{
    return is_output(p) && settings_fill(c->given, p->name) == FILL_NONE;
}

enum fill check_fill_of(enum check_inputs inputs)
{
    static const enum fill fills[] = {
        [CHECK_RANDOM] = FILL_RAND,       [CHECK_WIDE] = FILL_WIDE,
        [CHECK_NEGATIVE] = FILL_NEGATIVE, [CHECK_POSITIVE] = FILL_POSITIVE,
        [CHECK_EXTREME] = FILL_EXTREME,   [CHECK_ASCENDING] = FILL_IOTA};
    return fills[inputs];
}

bool check_may_ascend(const struct check *c, const tw_param *p)
{
    return p->is_pointer && p->is_const && p->dtype != TW_DTYPE_NONE && !is_float_type(p->dtype) &&
           tw_dtype_size(p->dtype) > 1 && settings_fill(c->given, p->name) == FILL_NONE;
}

char *check_integer_options(const struct check *c, enum fill kind)
{
    char *text = need_text("%s", "");
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++)
        if (check_may_ascend(c, &p) && (!c->only || strcmp(p.name, c->only) == 0))
            append_text(&text, " --fill %s=%s", p.name, fill_name(kind));
    return text;
}

bool check_may_vary(const struct check *c, const struct operand *o)
{
    bool is_float = is_float_type(o->array.dtype);
    if (!o->param.is_const || settings_fill(c->given, o->param.name) != FILL_NONE)
        return false;
    if (is_float && c->fill != FILL_NONE)
        return false;
    if (c->inputs == CHECK_WIDE)
        return is_float || o->array.dtype == TW_I8 || o->array.dtype == TW_U8;
    if (c->inputs == CHECK_ASCENDING && !check_may_ascend(c, &o->param))
        return false;
    return is_float ? c->inputs != CHECK_EXTREME : !c->only || strcmp(o->param.name, c->only) == 0;
}

void check_fill(struct check *c, struct operands *arrays, int shape, bool zeros)
{
    int64_t limit = INT64_MAX;
    for (int i = 0; i < arrays->count; i++)
        limit = index_limit(&arrays->list[i].array, limit);
    for (int i = 0; i < arrays->count; i++) {
        struct operand *o = &arrays->list[i];
        enum fill kind = settings_fill(c->given, o->param.name);
        if (kind == FILL_NONE && o->param.is_const)
            kind = c->fill;
        struct fill_options fill = {.kind = kind, .seed = 1 + (uint64_t)i, .scale = 1};
        if (c->inputs != CHECK_RANDOM && check_may_vary(c, o))
            fill.kind = check_fill_of(c->inputs);
        if (fill.kind != FILL_NONE)
            limit_integers(&fill, c->launch, &o->param, limit);
        if (fill.kind != FILL_NONE)
            tensor_fill(&o->array, &fill);
        else if (is_output(&o->param) && !zeros)
            tensor_fill_unwritten(&o->array, shape);
        else if (!o->param.is_const)
            memset(o->array.data, 0, tensor_bytes(&o->array));
    }
}

bool check_watches_outputs(const struct check *c)
{
    tw_param p = tw_param_init();
    int outputs = 0, free_ones = 0;
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        outputs += is_output(&p);
        free_ones += check_may_hold_anything(c, &p);
    }
    return outputs > 0 && free_ones == outputs;
}

bool check_needs_past(struct check *c, int shape)
{
    int64_t largest = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int i = 0; i < CHECK_SIMULATED && shapes[shape][axis] < 0; i++)
            largest = shapes[i][axis] > largest ? shapes[i][axis] : largest;
    operands_forget(c->launch, c->kernel);
    find_past(c, shape);
    int64_t past = count_blocks(c, shape, c->past), one = count_blocks(c, shape, 1);
    return past > one && count_blocks(c, shape, largest) == one;
}

tw_status check_make_run(struct check *c, int shape, struct operands *arrays, char **where)
{
    *arrays = (struct operands){0};
    operands_forget(c->launch, c->kernel); /* arrays of another shape contradict the sizes */
    if (shape >= CHECK_PAST)
        find_past(c, shape);
    tw_status s = set_scalars(c, shape);
    *where = s == TW_OK ? describe_run(c) : space_text(&c->space);
    if (s == TW_OK)
        s = operands_make(arrays, c->launch, c->kernel, 1, 1);
    if (s == TW_OK)
        check_fill(c, arrays, shape, false);
    return s;
}

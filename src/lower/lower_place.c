/* Places: what an access says of each axis, and where each of a lane's elements then is.
 *
 * The edge of an axis is tested as start < extent - coordinate: nothing in it wraps, however far
 * the start is, and where a loop moves only the start, the right side stays. Rows and columns
 * have conditions of their own, so that what they share is computed once and outside of the
 * loops that do not change it.
 */
#include "lower/lower_flow.h"
#include "lower/lower_memory_own.h"
#include "lower/lower_tile_own.h"

#include <limits.h>

int power_of_two_in(int64_t n)
{
    if (n == INT64_MAX)
        return VECTOR_BYTES;
    int64_t lowest = n & -n;
    return lowest > VECTOR_BYTES || n == 0 ? VECTOR_BYTES : (int)lowest;
}

const struct value *both(struct lower *l, const struct value *a, const struct value *b)
{
    if (!a || !b)
        return a ? a : b;
    return value_apply2(l, OP_LAND, DT_BOOL, a, b);
}

static const struct value *as_i32(struct lower *l, const struct value *v)
{
    return value_dtype(v) == DT_I32 ? v : value_apply1(l, OP_CAST, DT_I32, v);
}

/* --- views --- */

const struct value *view_extent(struct lower *l, const struct sym *view, int axis)
{
    return value_index(l, scalar_eval(l, view->dims[axis]));
}

static const struct value *narrow_extent(struct lower *l, const struct sym *s, int axis)
{
    if (s->storage != ST_VIEW)
        return value_int(l, DT_I32, s->type.extent[axis]);
    int64_t known;
    const struct value *v = scalar_eval(l, s->dims[axis]);
    if (value_dtype(v) == DT_I32)
        return v;
    if (value_known(v, &known) && known >= 0 && known <= INT32_MAX)
        return value_int(l, DT_I32, known);
    return NULL;
}

const struct value *view_stride(struct lower *l, const struct sym *view, int axis)
{
    if (view->strides[axis])
        return value_index(l, scalar_eval(l, view->strides[axis]));
    const struct value *stride = value_int(l, DT_I64, 1);
    for (int i = axis + 1; i < view->type.rank; i++)
        stride = value_mul(l, stride, view_extent(l, view, i));
    return stride;
}

static const struct value *view_base(struct lower *l, const struct sym *view)
{
    const struct value *base = symbol_value(l, view->base ? view->base : view);
    if (!view->base_offset)
        return base;
    const struct value *offset = value_index(l, scalar_eval(l, view->base_offset));
    return value_add(l, base, value_affine(l, offset, (int64_t)dtype_size(view->type.dtype), 0));
}

const struct value *view_address(struct lower *l, const struct sym *view,
                                 const struct value *const *index)
{
    const struct value *at = value_int(l, DT_I64, 0);
    for (int i = 0; i < view->type.rank; i++)
        at = value_add(l, at, value_mul(l, index[i], view_stride(l, view, i)));
    at = value_affine(l, at, (int64_t)dtype_size(view->type.dtype), 0);
    return value_add(l, view_base(l, view), at);
}

/* --- what an access says --- */

static void place_start(struct lower *l, struct place *p, int i, const struct expr *value)
{
    const struct value *v = scalar_eval(l, value);
    p->axis[i].start = value_index(l, v);
    p->axis[i].narrow = value_dtype(v) == DT_I32 ? v : NULL;
}

/* Kinds and axes alone. */
static struct place place_outline(const struct expr *access)
{
    struct place p = {.access = access, .rank = access->sym->type.rank};
    int tile_axis = 0;
    for (int i = 0; i < p.rank; i++) {
        bool given = i < access->indices;
        p.axis[i].kind = given ? access->index[i].kind : IX_ALL;
        p.axis[i].inside = !given || access->index[i].inside || p.axis[i].kind == IX_ALL;
        p.axis[i].tile_axis = p.axis[i].kind == IX_ELEMENT ? -1 : tile_axis++;
    }
    return p;
}

static void place_fill(struct lower *l, struct place *p)
{
    const struct value *zero = value_int(l, DT_I64, 0);
    for (int i = 0; i < p->rank; i++) {
        if (p->axis[i].kind == IX_ALL) {
            p->axis[i].start = zero;
            p->axis[i].narrow = value_int(l, DT_I32, 0);
        } else if (p->axis[i].kind != IX_GATHER) {
            place_start(l, p, i, p->access->index[i].value);
        }
    }
}

struct place place_of(struct lower *l, const struct expr *access)
{
    struct place p = place_outline(access);
    place_fill(l, &p);
    return p;
}

/* --- gathers --- */

static void gather_rows(struct lower *l, struct places *p, int i)
{
    struct places_axis *axis = &p->axis[i];
    int t = p->place.axis[i].tile_axis;
    int32_t *source, count = layout_in_extent(p->layout, AXIS_REG);
    const struct expr *e = p->access->index[i].value;
    const struct layout *line =
        plan_axis_layout(&l->layouts, p->layout, p->access->type.rank, t, axis->length, &source);
    struct regtile rows = tile_eval(l, e, line);
    struct ptx_operand *element = tile_elements(l, &rows);
    const struct value **distinct = arena_array(l->arena, const struct value *, rows.elements);
    axis->rows = arena_array(l->arena, const struct value *, count);
    for (int32_t reg = 0; reg < count; reg++) {
        int32_t from = source[reg];
        if (!distinct[from])
            distinct[from] = value_of_variable(l, rows.dtype, element[from]);
        axis->rows[reg] = distinct[from];
    }
    p->place.axis[i].gather = rows;
}

/* --- places --- */

static void prepare_edges(struct places *p, int i)
{
    struct places_axis *axis = &p->axis[i];
    const struct value *start = p->place.axis[i].start;
    axis->divisor = start ? value_divisor(start) : 1;
    axis->least = start ? value_least(start) : INT64_MIN;
    axis->greatest = start ? value_greatest(start) : INT64_MAX;
    if (p->place.axis[i].kind != IX_SLICE || p->place.axis[i].inside)
        return;
    int64_t extent = value_least(axis->extent), divisor = value_divisor(axis->extent);
    axis->lower = axis->least < 0;
    axis->upper =
        axis->greatest > INT64_MAX - axis->length || axis->greatest + axis->length > extent;
    axis->whole = axis->divisor % axis->length == 0 && divisor % axis->length == 0;
    if (axis->divisor == INT64_MAX)
        axis->whole = divisor % axis->length == 0;
}

static void prepare_axis(struct lower *l, struct places *p, int i)
{
    struct places_axis *axis = &p->axis[i];
    int t = p->place.axis[i].tile_axis;
    axis->length = t >= 0 ? (int32_t)p->access->type.extent[t] : 1;
    axis->narrow_extent = narrow_extent(l, p->sym, i);
    if (p->shared)
        axis->extent = value_int(l, DT_I64, p->sym->type.extent[i]);
    else
        axis->extent = view_extent(l, p->sym, i);
    if (!p->shared)
        axis->stride =
            value_affine(l, view_stride(l, p->sym, i), (int64_t)dtype_size(p->sym->type.dtype), 0);
    prepare_edges(p, i);
}

static struct places *places_prepare(struct lower *l, const struct expr *access,
                                     const struct layout *layout)
{
    struct places *p = arena_new(l->arena, struct places);
    *p = (struct places){.access = access, .sym = access->sym, .layout = layout};
    p->shared = access->sym->storage == ST_SHARED;
    p->place = place_of(l, access);
    for (int i = 0; i < p->place.rank; i++)
        prepare_axis(l, p, i);
    return p;
}

static void find_origin(struct lower *l, struct places *p)
{
    const struct value *at = view_base(l, p->sym);
    for (int i = 0; i < p->place.rank; i++) {
        const struct places_axis *axis = &p->axis[i];
        int t = p->place.axis[i].tile_axis;
        if (p->place.axis[i].start)
            at = value_add(l, at, value_mul(l, p->place.axis[i].start, axis->stride));
        if (t >= 0 && !axis->rows && p->tile_axis[t].additive)
            at = value_add(l, at,
                           value_mul(l, value_index(l, p->tile_axis[t].coordinate), axis->stride));
    }
    p->origin = at;
}

struct places *places_open(struct lower *l, const struct expr *access, const struct layout *layout)
{
    struct places *p = places_prepare(l, access, layout);
    for (int t = 0; t < access->type.rank; t++)
        if (layout_out_index(layout, AXIS_DIM(t)) < 0) {
            p->tile_axis[t].coordinate = value_int(l, DT_I32, 0);
            p->tile_axis[t].additive = true;
        } else {
            p->tile_axis[t].coordinate = tile_coordinate(l, layout, t, &p->tile_axis[t].additive);
        }
    for (int i = 0; i < p->place.rank; i++)
        if (p->place.axis[i].kind == IX_GATHER)
            gather_rows(l, p, i);
    if (!p->shared)
        find_origin(l, p);
    return p;
}

static const struct value *places_coordinate(struct lower *l, const struct places *p, int t,
                                             int32_t reg)
{
    if (layout_out_index(p->layout, AXIS_DIM(t)) < 0)
        return p->tile_axis[t].coordinate;
    if (!p->tile_axis[t].additive)
        return tile_coordinate_of(l, p->layout, t, reg);
    return value_affine(l, p->tile_axis[t].coordinate, 1,
                        tile_coordinate_offset(p->layout, t, reg));
}

/* --- edges --- */

static const struct value *row_inside(struct lower *l, const struct places_axis *axis,
                                      const struct value *row)
{
    if (value_dtype(row) == DT_I32 && axis->narrow_extent) {
        const struct value *limit = value_apply1(l, OP_CAST, DT_U32, axis->narrow_extent);
        return value_apply2(l, OP_LT, DT_BOOL, value_apply1(l, OP_CAST, DT_U32, row), limit);
    }
    const struct value *limit = value_apply1(l, OP_CAST, DT_U64, axis->extent);
    row = value_apply1(l, OP_CAST, DT_U64, value_index(l, row));
    return value_apply2(l, OP_LT, DT_BOOL, row, limit);
}

/* A start that is known, and small: then the coordinate is compared. */
static const struct value *known_edges(struct lower *l, const struct places_axis *axis,
                                       int64_t start, const struct value *coordinate)
{
    const struct value *at = value_affine(l, coordinate, 1, start), *upper = NULL, *lower = NULL;
    if (axis->upper && axis->narrow_extent)
        upper = value_apply2(l, OP_LT, DT_BOOL, at, axis->narrow_extent);
    else if (axis->upper)
        upper = value_apply2(l, OP_LT, DT_BOOL, value_index(l, at), axis->extent);
    if (axis->lower)
        lower = value_apply2(l, OP_GE, DT_BOOL, at, value_int(l, DT_I32, 0));
    return both(l, lower, upper);
}

static const struct value *slice_inside(struct lower *l, const struct places *p, int i, int32_t reg)
{
    enum { SMALL = 1 << 28 };
    const int64_t far = (int64_t)1 << 62; /* beyond all memory; sums with it might wrap */
    const struct places_axis *axis = &p->axis[i];
    int64_t known;
    const struct value *coordinate = places_coordinate(l, p, p->place.axis[i].tile_axis, reg);
    const struct value *start = p->place.axis[i].start, *extent = axis->extent;
    const struct value *upper = NULL, *lower = NULL;
    if (axis->whole)
        coordinate = value_int(l, DT_I32, 0);
    if (value_known(start, &known) && (known >= far || known <= -far))
        return value_int(l, DT_BOOL, 0);
    if (value_known(start, &known) && known > -SMALL && known < SMALL)
        return known_edges(l, axis, known, coordinate);
    if (p->place.axis[i].narrow && axis->narrow_extent) {
        start = p->place.axis[i].narrow;
        extent = axis->narrow_extent;
    } else {
        coordinate = value_index(l, coordinate);
    }
    if (axis->upper)
        upper = value_apply2(l, OP_LT, DT_BOOL, start, value_sub(l, extent, coordinate));
    if (axis->lower)
        lower = value_apply2(l, OP_GE, DT_BOOL, start, value_affine(l, coordinate, -1, 0));
    return both(l, lower, upper);
}

const struct value *places_edges(struct lower *l, const struct places *p, int32_t reg, bool *never)
{
    const struct value *inside = NULL;
    int64_t known;
    *never = false;
    for (int i = 0; i < p->place.rank; i++) {
        const struct places_axis *axis = &p->axis[i];
        const struct value *c = NULL;
        if (axis->rows)
            c = row_inside(l, axis, axis->rows[reg]);
        else if (axis->upper || axis->lower)
            c = slice_inside(l, p, i, reg);
        if (c && value_known(c, &known)) {
            *never |= known == 0;
            c = NULL;
        }
        inside = both(l, inside, c);
    }
    return inside;
}

/* --- elements --- */

static const struct value *view_place(struct lower *l, const struct places *p, int32_t reg)
{
    const struct value *at = p->origin;
    for (int i = 0; i < p->place.rank; i++) {
        const struct places_axis *axis = &p->axis[i];
        int t = p->place.axis[i].tile_axis;
        const struct value *index = NULL;
        if (axis->rows) {
            index = value_index(l, axis->rows[reg]);
        } else if (t >= 0 && !p->tile_axis[t].additive) {
            index = value_index(l, tile_coordinate_of(l, p->layout, t, reg));
        } else if (t >= 0 && layout_out_index(p->layout, AXIS_DIM(t)) >= 0) {
            int32_t offset = tile_coordinate_offset(p->layout, t, reg);
            at = value_add(l, at, value_affine(l, axis->stride, offset, 0));
        }
        if (index)
            at = value_add(l, at, value_mul(l, index, axis->stride));
    }
    return at;
}

static const struct value *shared_place(struct lower *l, const struct places *p, int32_t reg)
{
    const struct value *index[MAX_RANK];
    for (int i = 0; i < p->place.rank; i++) {
        int t = p->place.axis[i].tile_axis;
        const struct value *start = p->place.axis[i].narrow;
        if (p->axis[i].rows) {
            index[i] = as_i32(l, p->axis[i].rows[reg]);
            continue;
        }
        if (!start)
            start = as_i32(l, p->place.axis[i].start);
        index[i] = t < 0 ? start : value_add(l, start, places_coordinate(l, p, t, reg));
    }
    return shared_address(l, p->sym, index);
}

struct element_place places_at(struct lower *l, struct places *p, int32_t reg)
{
    static const struct vector single = {.elements = 1};
    struct access a = vector_access(&single, p->sym->type.dtype);
    struct element_place e = {.copy = !layout_access_base(p->layout, &a, reg)};
    const struct value *edges = places_edges(l, p, reg, &e.never);
    int64_t known;
    e.inside = both(l, tile_inside_of(l, p->layout, reg), edges);
    if (e.inside && value_known(e.inside, &known)) {
        e.never |= known == 0;
        e.inside = NULL;
    }
    e.address = p->shared ? shared_place(l, p, reg) : view_place(l, p, reg);
    return e;
}

struct guard places_guard(struct lower *l, const struct element_place *e)
{
    if (e->never)
        return (struct guard){.never = true};
    return guard_of(l, e->inside);
}

/* --- vectors --- */

/* The axis of the view along which its elements are neighbours; -1: none that the access walks. */
static int neighbours(const struct places *p)
{
    for (int i = p->place.rank - 1; i >= 0; i--) {
        int64_t stride;
        if (p->place.axis[i].tile_axis >= 0 && p->place.axis[i].kind != IX_GATHER &&
            value_known(p->axis[i].stride, &stride) &&
            stride == (int64_t)dtype_size(p->sym->type.dtype))
            return i;
    }
    return -1;
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

/* Returns a divisor of all coordinates along an axis of the tile that lanes and registers reach, except the
 * vector's own registers (those of `along`). */
static int coordinate_step(const struct layout *layout, int t)
{
    int j = layout_out_index(layout, AXIS_DIM(t)), step = VECTOR_BYTES;
    if (j < 0)
        return step;
    step = at_most(power_of_two_in(layout->flip[j]), power_of_two_in(layout->offset[j]));
    for (int d = 0; d < layout->digit_count; d++) {
        step = at_most(step, power_of_two_in(layout->digits[d].xor [j]));
        step = at_most(step, power_of_two_in(layout->digits[d].add[j]));
    }
    return step;
}

/* Bytes that divide the address of every vector of `elements`, which lie along axis `along`. */
static int alignment_of(struct lower *l, const struct places *p, int along, int elements)
{
    int size = (int)dtype_size(p->sym->type.dtype);
    int align = power_of_two_in(value_divisor(view_base(l, p->sym)));
    for (int i = 0; i < p->place.rank; i++) {
        int t = p->place.axis[i].tile_axis;
        int stride = power_of_two_in(value_divisor(p->axis[i].stride));
        int step = p->place.axis[i].kind == IX_GATHER ? 1 : power_of_two_in(p->axis[i].divisor);
        if (i == along)
            step = at_most(step, elements);
        else if (t >= 0 && p->place.axis[i].kind != IX_GATHER)
            step = at_most(step, coordinate_step(p->layout, t));
        if (i == along)
            stride = size;
        align = at_most(align, at_most(VECTOR_BYTES, step * stride));
    }
    return align;
}

struct vector places_vector(struct lower *l, const struct places *p, int most)
{
    struct vector v = {.elements = 1};
    int along = neighbours(p), size = (int)dtype_size(p->sym->type.dtype);
    int j = along < 0 ? -1 : layout_out_index(p->layout, AXIS_DIM(p->place.axis[along].tile_axis));
    if (j < 0)
        return v;
    const struct places_axis *axis = &p->axis[along];
    v.elements = layout_vector(p->layout, j, most / size, v.weight, &v.bits);
    if (layout_masked(p->layout))
        vector_narrow(&v, power_of_two_in(p->layout->outs[j].extent));
    if (axis->upper || axis->lower)
        vector_narrow(&v, at_most(power_of_two_in(axis->divisor),
                                  power_of_two_in(value_divisor(axis->extent))));
    while (v.elements > 1 && alignment_of(l, p, along, v.elements) < v.elements * size)
        vector_narrow(&v, v.elements / 2);
    return v;
}

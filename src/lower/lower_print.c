/* print(): a row of text (tile/print_row.h), written by one thread into memory and handed to vprintf whole.
 *
 * At thread level each thread has a row, in .local memory. A tile of the block is put into scratch
 * first, as far as it is shown, and its row is written beside it by the first thread.
 *
 * A label with conversions becomes vprintf's own format: the host formats its values. It takes 32 of
 * them, so a longer row is several calls.
 */
#include "lower/lower_element.h"
#include "lower/lower_flow.h"
#include "tile/print_row.h"

#include <string.h>

struct printer {
    struct lower *l;
    struct nvptx_printer *to;
    struct ptx_operand start, at; /* .b64, generic; of a format where its values go */
    struct text pending;          /* not yet written */
    int values;                   /* of the pending format */
};

/* --- text --- */

/* The pending format with its values. */
static void flush_format(struct printer *p)
{
    if (p->pending.length == 0)
        return;
    nvptx_print_format(p->to, p->start, p->pending.data);
    text_init(&p->pending, p->l->arena);
    p->values = 0;
}

static void flush(struct printer *p)
{
    if (p->pending.length == 0)
        return;
    p->at = nvptx_print_text(p->to, p->at, p->pending.data);
    text_init(&p->pending, p->l->arena);
}

static void add_plain(struct printer *p, const struct value *v)
{
    struct lower *l = p->l;
    const enum dtype t = value_dtype(v);
    int64_t known;
    if (dtype_is_int(t) && t != DT_U64 && value_known(v, &known)) {
        text_printf(&p->pending, "%lld", (long long)known);
        return;
    }
    flush(p);
    p->at = t == DT_BOOL
                ? nvptx_print_bool(p->to, p->at, value_operand(l, v))
                : nvptx_print_number(p->to, p->at, t,
                                     value_register(l, scalar_cast(l, v, nvptx_print_type(t))));
}

/* A value of a format. */
static void add_converted(struct printer *p, const struct print_piece *piece, const struct value *v)
{
    struct lower *l = p->l;
    const enum dtype t = print_type(piece->letter, value_dtype(v)),
                     wide = print_of_float(piece->letter) ? DT_F64 : nvptx_print_type(t);
    if (p->values == PRINT_MOST_VALUES)
        flush_format(p);
    if (wide != DT_F64)
        v = scalar_cast(l, v, t);
    struct ptx_operand x = value_register(l, scalar_cast(l, v, wide));
    text_add(&p->pending, print_conversion(l->arena, piece, t));
    nvptx_print_store(p->to, p->at, p->values++, wide, x);
}

/* --- elements --- */

/* An argument: its elements are at hand, or in shared memory. */
struct argument {
    const struct print_shown *shown;
    const struct value **element; /* of all of the argument, row-major; NULL: */
    const struct value *base;     /* of what is shown, bytes, i32 */
};

static const struct value *shown_element(struct lower *l, const struct argument *s, int64_t number)
{
    if (s->element)
        return s->element[print_number_of(s->shown, number)];
    const enum dtype t = s->shown->type.dtype;
    return own_load_shared(l, t, value_affine(l, s->base, 1, number * (int64_t)dtype_size(t)));
}

/* Puts one register's element where it is shown. */
static void put_element(struct lower *l, const struct argument *s, const struct regtile *tile,
                        int32_t reg, struct ptx_operand element)
{
    const struct value *number = value_int(l, DT_I32, 0);
    struct guard when = guard_always();
    for (int i = 0; i < s->shown->type.rank; i++) {
        int64_t n = s->shown->e->type.extent[i], shown = s->shown->type.extent[i];
        const struct print_window *window = s->shown->window;
        const struct value *c = tile_coordinate_of(l, tile->layout, i, reg);
        if (window) {
            int64_t first = window->first[i];
            const struct value *low =
                value_apply2(l, OP_GE, DT_BOOL, c, value_int(l, DT_I32, first));
            const struct value *high =
                value_apply2(l, OP_LT, DT_BOOL, c, value_int(l, DT_I32, first + shown));
            when = guard_and(l, when, value_apply2(l, OP_LAND, DT_BOOL, low, high));
            c = value_affine(l, c, 1, -first);
        } else if (print_by_ends(s->shown, i)) {
            const struct value *low =
                value_apply2(l, OP_LT, DT_BOOL, c, value_int(l, DT_I32, PRINT_ENDS));
            const struct value *high =
                value_apply2(l, OP_GE, DT_BOOL, c, value_int(l, DT_I32, n - PRINT_ENDS));
            when = guard_and(l, when, value_apply2(l, OP_LOR, DT_BOOL, low, high));
            const struct value *args[] = {low, c, value_affine(l, c, 1, shown - n)};
            c = value_apply(l, OP_WHERE, DT_I32, args, 3);
        }
        number = value_add(l, value_affine(l, number, shown, 0), c);
    }
    when = guard_and(l, when, tile_is_first_holder(l, tile->layout));
    when = guard_and(l, when, tile_inside_of(l, tile->layout, reg));
    if (when.never)
        return;
    int64_t size = (int64_t)dtype_size(s->shown->type.dtype);
    const struct value *shown = value_of_variable(l, s->shown->type.dtype, element);
    const struct value *at = value_add(l, s->base, value_affine(l, number, size, 0));
    own_store_shared(l, s->shown->type.dtype, at, shown, when);
}

static void put_tile(struct lower *l, const struct argument *s)
{
    struct regtile tile = tile_eval_natural(l, s->shown->e);
    struct ptx_operand *element = tile_elements(l, &tile);
    for (int32_t r = 0; r < tile.elements; r++)
        put_element(l, s, &tile, r, element[r]);
}

/* --- rows --- */

static const struct value *value_of_part(struct lower *l, const struct print_part *part,
                                         const struct argument *args)
{
    switch (part->kind) {
    case PRINT_BLOCK: return block_index(l, part->axis);
    case PRINT_THREAD: return value_thread(l, part->axis);
    default: return shown_element(l, &args[part->argument], part->number);
    }
}

static void add_part(struct printer *p, const struct print_part *part, const struct argument *args)
{
    text_add(&p->pending, part->text);
    if (part->kind == PRINT_END)
        return;
    const struct value *v = value_of_part(p->l, part, args);
    int64_t known;
    if (!part->piece)
        add_plain(p, v);
    else if (part->kind != PRINT_ELEMENT && value_known(v, &known))
        text_printf(&p->pending, "%lld", (long long)known);
    else
        add_converted(p, part->piece, v);
}

/* start: memory for the row. */
static void print_row(struct lower *l, const struct print_row *row, const struct argument *args,
                      struct ptx_operand start)
{
    struct printer p = {.l = l, .to = &l->bodies->printer, .start = start, .at = start};
    text_init(&p.pending, l->arena);
    for (size_t i = 0; i < row->parts.count; i++)
        add_part(&p, &row->parts.data[i], args);
    if (row->is_format) {
        flush_format(&p);
    } else {
        flush(&p);
        nvptx_print_show(p.to, p.start);
    }
}

/* --- the statement --- */

/* Bytes of scratch, in whole vectors. */
static int64_t bytes_of(const struct type *t)
{
    return (type_bytes(t) + 15) / 16 * 16;
}

/* By the first thread; elements of tiles come from scratch, where all threads put them. */
static void print_once(struct lower *l, const struct expr *e, const struct print_row *row,
                       struct argument *args)
{
    int64_t bytes = 0, from = 0;
    bool tiles = false;
    for (int i = 0; i < e->count; i++)
        tiles |= !args[i].element;
    for (int i = 0; i < e->count; i++)
        if (!args[i].element)
            bytes += bytes_of(&args[i].shown->type);
    const struct value *scratch =
        tiles ? scratch_address(l, scratch_take(l, bytes + row->bytes)) : NULL;
    for (int i = 0; i < e->count; i++)
        if (!args[i].element) {
            args[i].base = value_affine(l, scratch, 1, from);
            from += bytes_of(&args[i].shown->type);
            put_tile(l, &args[i]);
        }
    if (tiles)
        barrier_emit(l);
    struct scope scope;
    struct ptx_label *end = NULL;
    branch_on(l, value_apply2(l, OP_NE, DT_BOOL, value_thread_linear(l), value_int(l, DT_I32, 0)),
              false, &end, "printed");
    scope_open(l, &scope);
    struct nvptx_printer *to = &l->bodies->printer;
    print_row(l, row, args,
              tiles ? nvptx_print_shared(to, value_register(l, value_affine(l, scratch, 1, bytes)))
                    : nvptx_print_row(to, row->bytes));
    scope_close(l, &scope);
    place_label(l, end);
    if (tiles)
        scratch_done(l);
}

void print_emit(struct lower *l, const struct stmt *s)
{
    const struct expr *e = s->value;
    struct argument *args = arena_array(l->arena, struct argument, e->count + 1);
    bool by_thread = kernel_thread_level(l->kernel);
    for (int i = 0; i < e->count; i++)
        by_thread &= e->args[i]->type.rank == 0 || array_is_own(l, e->args[i]);
    struct print_row row = print_row_make(l->arena, l->kernel, e, by_thread);
    if (row.elements > PRINT_MOST_SHOWN)
        lower_error(l, e->loc, "print() would show %lld elements in a row; %d are the most",
                    (long long)row.elements, PRINT_MOST_SHOWN);
    for (int i = 0; i < e->count; i++) {
        const struct expr *x = e->args[i];
        args[i] = (struct argument){.shown = &row.shown[i]};
        if (x->type.rank == 0 || array_is_own(l, x) || lower_ragged_block(l))
            args[i].element = array_values(l, x);
    }
    if (by_thread)
        print_row(l, &row, args, nvptx_print_row(&l->bodies->printer, row.bytes));
    else
        print_once(l, e, &row, args);
}

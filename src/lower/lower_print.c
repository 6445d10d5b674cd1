/* print(): a row of text, written by one thread into memory and handed to vprintf whole.
 *
 * At thread level each thread has a row, in .local memory. A tile of the block is put into scratch
 * first, as far as it is shown, and its row is written beside it by the first thread.
 *
 * A label with conversions becomes vprintf's own format: the host formats its values. It takes 32 of
 * them, so a longer row is several calls.
 */
#include "lower/lower_print.h"

#include "lower/lower_element.h"
#include "lower/lower_flow.h"
#include "tile/print_format.h"

#include <assert.h>
#include <string.h>

enum {
    SHOWN_ALONE =
        12, /* as on the CPU: axes up to this extent are shown whole, longer ones by their ends: */
    SHOWN_ENDS = 4,
    MOST_SHOWN = 4096, /* elements of one row */
    NUMBER_LENGTH = 27 /* of an element, with the comma */
};

enum { MOST_VALUES = 32 }; /* of a vprintf (CUDA C++ Programming Guide, "Formatted Output") */

struct printer {
    struct lower *l;
    struct ptx_operand start, at;    /* .b64, generic; of a format where its values go */
    struct text pending;             /* not yet written */
    const struct print_piece *piece; /* the conversion of the elements at hand; NULL: no format */
    int values;                      /* of the pending format */
};

/* --- the functions --- */

static void add_functions(struct lower *l, const char *const *items)
{
    struct text text;
    text_init(&text, l->arena);
    text_add(&text, ".version 7.0\n.target sm_80\n.address_size 64\n");
    for (int i = 0; items[i]; i++)
        text_add(&text, items[i]);
    struct source source = {"print", text.data, text.length};
    struct diag diag;
    diag_init(&diag, l->arena);
    struct source *kept = arena_copy(l->arena, &source, sizeof source);
    struct ptx_module *m = ptx_parse(l->arena, kept, &diag);
    assert(m && "print's own functions");
    for (size_t i = 0; i < m->items.count; i++)
        vec_push(l->arena, &l->b.module->items, m->items.data[i]);
}

struct ptx_function *module_function(struct lower *l, const char *name, const char *const *items)
{
    struct ptx_function *f = ptx_find_function(l->b.module, name);
    if (f)
        return f;
    add_functions(l, items);
    return ptx_find_function(l->b.module, name);
}

static struct ptx_operand list_of(struct lower *l, const struct ptx_operand *o, size_t count)
{
    struct ptx_operand list = {.kind = PTX_LIST, .count = (uint16_t)count};
    list.elements = arena_copy(l->arena, o, count * sizeof *o);
    return list;
}

void module_call(struct lower *l, struct ptx_function *f, const struct ptx_operand *result,
                 const struct ptx_operand *args, size_t count)
{
    struct ptx_operand operands[3] = {{.kind = PTX_NOTHING}};
    if (result)
        operands[0] = list_of(l, result, 1);
    operands[1] =
        (struct ptx_operand){.kind = PTX_SYMBOL, .base = PTX_BASE_FUNCTION, .function = f};
    operands[2] = list_of(l, args, count);
    ptx_emit_list(&l->b, "call", NULL, operands, 3);
}

static void call(struct lower *l, const char *name, const struct ptx_operand *result,
                 const struct ptx_operand *args, size_t count)
{
    module_call(l, module_function(l, name, print_ptx), result, args, count);
}

/* Writes at p->at, and moves that on. */
static void write(struct printer *p, const char *name, const struct ptx_operand *args, size_t count)
{
    struct ptx_operand all[4] = {p->at};
    for (size_t i = 0; i < count; i++)
        all[i + 1] = args[i];
    struct ptx_operand end = ptx_reg(&p->l->b, MOD_B64);
    call(p->l, name, &end, all, count + 1);
    p->at = end;
}

/* --- text --- */

/* A constant of the module, once each. */
static struct ptx_variable *text_variable(struct lower *l, const char *text)
{
    size_t length = strlen(text);
    struct name_table *texts = &l->bodies->texts;
    texts->arena = l->arena;
    const char *name = arena_printf(l->arena, "$text_%zu", texts->count);
    struct name_entry *entry = name_table_entry(texts, text, length);
    if (!entry->object)
        entry->object = ptx_bytes(&l->b, MOD_GLOBAL, name, (const uint8_t *)text, length + 1, 1);
    return entry->object;
}

struct ptx_operand constant_text(struct lower *l, const char *text)
{
    struct ptx_operand address = ptx_reg(&l->b, MOD_B64), generic = ptx_reg(&l->b, MOD_B64);
    struct ptx_variable *v = text_variable(l, text);
    ptx_emit(&l->b, "mov.b64", address, ptx_address_of(v, 0));
    ptx_emit(&l->b, "cvta.global.u64", generic, address);
    return generic;
}

/* The pending format with its values. */
static void flush_format(struct printer *p)
{
    if (p->pending.length == 0)
        return;
    struct ptx_operand args[] = {constant_text(p->l, p->pending.data), p->start};
    text_init(&p->pending, p->l->arena);
    call(p->l, "$print_formatted", NULL, args, 2);
    p->values = 0;
}

static void flush(struct printer *p)
{
    if (p->pending.length == 0)
        return;
    struct ptx_operand from = constant_text(p->l, p->pending.data);
    text_init(&p->pending, p->l->arena);
    write(p, "$print_text", &from, 1);
}

static void add_integer(struct printer *p, const struct value *v)
{
    struct lower *l = p->l;
    enum dtype t = value_dtype(v), wide = dtype_is_signed(t) ? DT_I64 : DT_U64;
    int64_t known;
    if (value_known(v, &known) && t != DT_U64) {
        text_printf(&p->pending, "%lld", (long long)known);
        return;
    }
    flush(p);
    struct ptx_operand args[] = {value_register(l, scalar_cast(l, v, wide)), ptx_int(1)};
    if (wide == DT_I64)
        write(p, "$print_signed", args, 1);
    else {
        args[1] = ptx_reg(&l->b, MOD_B32);
        ptx_emit(&l->b, "mov.u32", args[1], ptx_int(1));
        write(p, "$print_digits", args, 2);
    }
}

/* Bits of the fraction, and the least exponent of a number that has all of them. */
static void float_format(enum dtype t, int *mantissa, int *least)
{
    static const struct {
        enum dtype dtype;
        int mantissa, least;
    } formats[] = {{DT_F64, 52, -1022}, {DT_F32, 23, -126}, {DT_TF32, 10, -126}, {DT_F16, 10, -14},
                   {DT_BF16, 7, -126},  {DT_E4M3, 3, -6},   {DT_E5M2, 2, -14}};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].dtype == t) {
            *mantissa = formats[i].mantissa;
            *least = formats[i].least;
        }
}

static void add_float(struct printer *p, const struct value *v)
{
    struct lower *l = p->l;
    int mantissa = 52, least = -1022;
    float_format(value_dtype(v), &mantissa, &least);
    flush(p);
    struct ptx_operand args[] = {value_register(l, scalar_cast(l, v, DT_F64)),
                                 ptx_reg(&l->b, MOD_B32), ptx_reg(&l->b, MOD_B32)};
    ptx_emit(&l->b, "mov.u32", args[1], ptx_int(mantissa));
    ptx_emit(&l->b, "mov.s32", args[2], ptx_int(least));
    write(p, "$print_float", args, 3);
}

static void add_bool(struct printer *p, const struct value *v)
{
    struct lower *l = p->l;
    flush(p);
    struct ptx_operand yes = constant_text(l, "true"), no = constant_text(l, "false");
    struct ptx_operand text = ptx_reg(&l->b, MOD_B64);
    ptx_emit(&l->b, "selp.b64", text, yes, no, value_operand(l, v));
    write(p, "$print_text", &text, 1);
}

/* A NaN has no sign, as its sign differs between executors. */
static struct ptx_operand unsigned_nan(struct lower *l, struct ptx_operand x)
{
    struct ptx_operand is_nan = ptx_reg(&l->b, MOD_PRED), y = ptx_reg(&l->b, MOD_F64);
    ptx_emit(&l->b, "setp.nan.f64", is_nan, x, x);
    ptx_emit(&l->b, "selp.f64", y, ptx_f64(__builtin_nan("")), x, is_nan);
    return y;
}

/* A value of a format, eight bytes of it. */
static void add_converted(struct printer *p, const struct print_piece *piece, const struct value *v)
{
    struct lower *l = p->l;
    struct ptx_operand x;
    if (p->values == MOST_VALUES)
        flush_format(p);
    char letter = piece->letter;
    if (print_of_float(letter)) {
        x = unsigned_nan(l, value_register(l, scalar_cast(l, v, DT_F64)));
        text_printf(&p->pending, "%s%c", piece->spec, letter);
    } else {
        enum dtype t = print_type(letter, value_dtype(v));
        v = scalar_cast(l, scalar_cast(l, v, t), dtype_is_signed(t) ? DT_I64 : DT_U64);
        x = value_register(l, v);
        if (t == DT_U64 && strchr("di", letter))
            letter = 'u';
        text_printf(&p->pending, "%sll%c", piece->spec, letter);
    }
    ptx_emit(&l->b, "st.b64", ptx_at(p->at, 8 * (int64_t)p->values++), x);
}

static void add_element(struct printer *p, const struct value *v)
{
    if (p->piece) {
        add_converted(p, p->piece, v);
        return;
    }
    if (dtype_is_float(value_dtype(v)))
        add_float(p, v);
    else if (value_dtype(v) == DT_BOOL)
        add_bool(p, v);
    else
        add_integer(p, v);
}

/* --- what is shown of a tile --- */

static int64_t shown_of(int64_t extent)
{
    return extent > SHOWN_ALONE ? 2 * SHOWN_ENDS : extent;
}

/* The type of the elements that are shown. */
static struct type shown_type(const struct type *t, const struct print_window *window)
{
    struct type shown = *t;
    for (int i = 0; i < t->rank; i++)
        shown.extent[i] = window ? window->count[i] : shown_of(t->extent[i]);
    return shown;
}

/* An argument as it is printed: its elements are at hand, or in shared memory. */
struct shown {
    const struct expr *e;
    struct type type;                  /* of what is shown */
    const struct value **element;      /* of all of e, row-major; NULL: */
    const struct value *base;          /* of what is shown, bytes, i32 */
    const struct print_window *window; /* NULL: all of it, abbreviated */
};

static const struct value *shown_element(struct lower *l, const struct shown *s, const int64_t *at)
{
    int64_t packed = 0, whole = 0;
    for (int i = 0; i < s->type.rank; i++) {
        int64_t n = s->e->type.extent[i], skip = n - s->type.extent[i];
        packed = packed * s->type.extent[i] + at[i];
        if (s->window)
            skip = s->window->first[i];
        whole = whole * n + at[i] + (s->window || at[i] >= SHOWN_ENDS ? skip : 0);
    }
    if (s->element)
        return s->element[whole];
    int64_t size = (int64_t)dtype_size(s->type.dtype);
    return own_load_shared(l, s->type.dtype, value_affine(l, s->base, 1, packed * size));
}

static void add_axis(struct printer *p, const struct shown *s, int axis, int64_t *at)
{
    if (axis == s->type.rank) {
        add_element(p, shown_element(p->l, s, at));
        return;
    }
    text_add(&p->pending, "[");
    for (int64_t i = 0; i < s->type.extent[axis]; i++) {
        bool cut = !s->window && s->type.extent[axis] < s->e->type.extent[axis];
        if (cut && i == SHOWN_ENDS)
            text_add(&p->pending, ", …");
        if (i > 0)
            text_add(&p->pending, ", ");
        at[axis] = i;
        add_axis(p, s, axis + 1, at);
    }
    text_add(&p->pending, "]");
}

/* Puts one register's element where it is shown. */
static void put_element(struct lower *l, const struct shown *s, const struct regtile *tile,
                        int32_t reg, struct ptx_operand element)
{
    const struct value *number = value_int(l, DT_I32, 0);
    struct guard when = guard_always();
    for (int i = 0; i < s->type.rank; i++) {
        int64_t n = s->e->type.extent[i], shown = s->type.extent[i];
        const struct value *c = tile_coordinate_of(l, tile->layout, i, reg);
        if (s->window) {
            int64_t first = s->window->first[i];
            const struct value *low =
                value_apply2(l, OP_GE, DT_BOOL, c, value_int(l, DT_I32, first));
            const struct value *high =
                value_apply2(l, OP_LT, DT_BOOL, c, value_int(l, DT_I32, first + shown));
            when = guard_and(l, when, value_apply2(l, OP_LAND, DT_BOOL, low, high));
            c = value_affine(l, c, 1, -first);
        } else if (shown < n) {
            const struct value *low =
                value_apply2(l, OP_LT, DT_BOOL, c, value_int(l, DT_I32, SHOWN_ENDS));
            const struct value *high =
                value_apply2(l, OP_GE, DT_BOOL, c, value_int(l, DT_I32, n - SHOWN_ENDS));
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
    int64_t size = (int64_t)dtype_size(s->type.dtype);
    const struct value *shown = value_of_variable(l, s->type.dtype, element);
    const struct value *at = value_add(l, s->base, value_affine(l, number, size, 0));
    own_store_shared(l, s->type.dtype, at, shown, when);
}

static void put_tile(struct lower *l, const struct shown *s)
{
    struct regtile tile = tile_eval_natural(l, s->e);
    struct ptx_operand *element = tile_elements(l, &tile);
    for (int32_t r = 0; r < tile.elements; r++)
        put_element(l, s, &tile, r, element[r]);
}

/* --- rows --- */

static const char *argument_text(struct lower *l, const struct expr *e)
{
    struct text text;
    text_init(&text, l->arena);
    expr_print(&text, e);
    return text.data;
}

/* A coordinate of block or thread. */
static void add_coordinate(struct printer *p, const struct value *v)
{
    static const struct print_piece plain = {.spec = "%", .letter = 'd'};
    int64_t known;
    if (p->piece && value_known(v, &known))
        text_printf(&p->pending, "%lld", (long long)known);
    else if (p->piece)
        add_converted(p, &plain, v);
    else
        add_integer(p, v);
}

static void add_place(struct printer *p, bool thread)
{
    struct lower *l = p->l;
    const struct kernel *k = l->kernel;
    text_add(&p->pending, "block (");
    for (int axis = 0; axis < (k->grid[2] ? 3 : 2); axis++) {
        text_add(&p->pending, axis ? "," : "");
        add_coordinate(p, k->grid[axis] ? block_index(l, axis) : value_int(l, DT_I32, 0));
    }
    text_add(&p->pending, ")");
    if (!thread)
        return;
    text_add(&p->pending, " thread (");
    for (int axis = 0; axis < (k->threads[2] > 1 ? 3 : 2); axis++) {
        text_add(&p->pending, axis ? "," : "");
        add_coordinate(p, value_thread(l, axis));
    }
    text_add(&p->pending, ")");
}

static void add_formatted_row(struct printer *p, const struct expr *e, const struct shown *shown,
                              bool thread)
{
    int64_t at[MAX_RANK] = {0};
    struct print_piece piece = {0};
    const char *format = e->label;
    p->piece = &piece;
    add_place(p, thread);
    text_add(&p->pending, " ");
    for (int i = 0; i <= e->count; i++) {
        format = print_piece_read(format, &piece);
        text_add_n(&p->pending, piece.text, piece.length);
        if (i < e->count)
            add_axis(p, &shown[i], 0, at);
    }
    text_add(&p->pending, "\n");
    flush_format(p);
}

static void add_row(struct printer *p, const struct expr *e, const struct shown *shown, bool thread)
{
    int64_t at[MAX_RANK] = {0};
    if (print_is_format(e->label)) {
        add_formatted_row(p, e, shown, thread);
        return;
    }
    add_place(p, thread);
    if (e->label)
        text_printf(&p->pending, e->count ? " %.80s =" : " %.80s", e->label);
    for (int i = 0; i < e->count; i++) {
        if (!e->label)
            text_printf(&p->pending, "%s %.60s =", i > 0 ? "," : "",
                        argument_text(p->l, e->args[i]));
        else if (i > 0)
            text_add(&p->pending, ",");
        text_add(&p->pending, " ");
        add_axis(p, &shown[i], 0, at);
    }
    text_add(&p->pending, "\n");
    flush(p);
    call(p->l, "$print_show", NULL, &p->start, 1);
}

/* Bytes of the longest row. */
static int64_t row_length(struct lower *l, const struct expr *e, const struct shown *shown)
{
    enum { PLACE = 128, NAME = 96, BRACKETS = 8 };
    int64_t length = PLACE + NAME, elements = 0;
    for (int i = 0; i < e->count; i++) {
        int64_t rows = 1, n = type_elements(&shown[i].type);
        for (int axis = 0; axis + 1 < shown[i].type.rank; axis++)
            rows *= shown[i].type.extent[axis];
        length += NAME + n * NUMBER_LENGTH + rows * 2 * BRACKETS;
        elements += n;
    }
    if (elements > MOST_SHOWN)
        lower_error(l, e->loc, "print() would show %lld elements in a row; %d are the most",
                    (long long)elements, MOST_SHOWN);
    if (print_is_format(e->label))
        length = 8 * MOST_VALUES;
    return (length + 15) / 16 * 16;
}

/* --- the statement --- */

static struct ptx_operand generic_of_shared(struct lower *l, const struct value *address)
{
    struct ptx_operand wide = ptx_reg(&l->b, MOD_B64), generic = ptx_reg(&l->b, MOD_B64);
    ptx_emit(&l->b, "cvt.u64.u32", wide, value_register(l, address));
    ptx_emit(&l->b, "cvta.shared.u64", generic, wide);
    return generic;
}

/* Returns memory of the thread for a row. All rows of a kernel share it, one after the other. */
static struct ptx_operand row_memory(struct lower *l, int64_t bytes)
{
    struct ptx_operand address = ptx_reg(&l->b, MOD_B64), generic = ptx_reg(&l->b, MOD_B64);
    struct ptx_variable **row = &l->bodies->row;
    if (!*row)
        *row = ptx_array(&l->b, MOD_LOCAL, MOD_B8, "$row", (uint64_t)bytes, 16);
    if (bytes > (*row)->extents[0])
        (*row)->extents[0] = bytes;
    ptx_emit(&l->b, "mov.b64", address, ptx_address_of(*row, 0));
    ptx_emit(&l->b, "cvta.local.u64", generic, address);
    return generic;
}

/* Bytes of scratch, in whole vectors. */
static int64_t bytes_of(const struct type *t)
{
    return (type_bytes(t) + 15) / 16 * 16;
}

/* By the first thread; elements of tiles come from scratch, where all threads put them. */
static void print_once(struct lower *l, const struct expr *e, struct shown *shown)
{
    int64_t bytes = 0, row = row_length(l, e, shown), from = 0;
    bool tiles = false;
    for (int i = 0; i < e->count; i++)
        tiles |= !shown[i].element;
    for (int i = 0; i < e->count; i++)
        if (!shown[i].element)
            bytes += bytes_of(&shown[i].type);
    const struct value *scratch = tiles ? scratch_address(l, scratch_take(l, bytes + row)) : NULL;
    for (int i = 0; i < e->count; i++)
        if (!shown[i].element) {
            shown[i].base = value_affine(l, scratch, 1, from);
            from += bytes_of(&shown[i].type);
            put_tile(l, &shown[i]);
        }
    if (tiles)
        barrier_emit(l);
    struct scope scope;
    struct ptx_label *end = NULL;
    branch_on(l, value_apply2(l, OP_NE, DT_BOOL, value_thread_linear(l), value_int(l, DT_I32, 0)),
              false, &end, "printed");
    scope_open(l, &scope);
    struct printer p = {.l = l};
    text_init(&p.pending, l->arena);
    p.at = p.start =
        tiles ? generic_of_shared(l, value_affine(l, scratch, 1, bytes)) : row_memory(l, row);
    add_row(&p, e, shown, false);
    scope_close(l, &scope);
    place_label(l, end);
    if (tiles)
        scratch_done(l);
}

static void print_by_thread(struct lower *l, const struct expr *e, struct shown *shown)
{
    struct printer p = {.l = l};
    text_init(&p.pending, l->arena);
    p.at = p.start = row_memory(l, row_length(l, e, shown));
    add_row(&p, e, shown, true);
}

void print_emit(struct lower *l, const struct stmt *s)
{
    const struct expr *e = s->value;
    struct shown *shown = arena_array(l->arena, struct shown, e->count + 1);
    bool by_thread = kernel_thread_level(l->kernel);
    for (int i = 0; i < e->count; i++) {
        const struct expr *x = e->args[i];
        const struct print_window *window = i + 1 == e->count ? e->window : NULL;
        shown[i] = (struct shown){.e = x, .type = shown_type(&x->type, window), .window = window};
        if (x->type.rank == 0 || array_is_own(l, x) || lower_ragged_block(l))
            shown[i].element = array_values(l, x);
        if (x->type.rank > 0 && !array_is_own(l, x))
            by_thread = false; /* a tile of the block */
    }
    if (by_thread)
        print_by_thread(l, e, shown);
    else
        print_once(l, e, shown);
}

/* print(): a row of text (tile/print_row.h). A thread writes the row to memory and prints it whole. A thread-level kernel
 * prints a row in each thread. For a tile of the block, all threads put the elements that are shown into scratch, and the first
 * thread prints. A label with conversions becomes a format of C's printf. A format takes 32 values, so a longer row becomes
 * several. */
#include "emit/emit_copy.h"
#include "emit/emit_fragment.h"
#include "nvptx/nvptx_print.h"
#include "tile/print_row.h"

/* An argument: each thread has all of it, or it is a tile of the block. */
struct argument {
    const struct print_shown *shown;
    const struct scalar *elements; /* of the whole argument, row-major; NULL: it is a tile */
    struct fragment fragment;      /* of a tile-level kernel's tile */
    struct scalar *turn;           /* thread-level kernel: this thread's shown elements of a tile */
    struct scratch scratch;
    int64_t first; /* place in scratch of the first element that is shown */
};

/* --- rows --- */

struct printer {
    struct emit *m;
    struct thread_operand start, at; /* addresses, u64: of the row, or of a format's values */
    struct text pending;             /* text that is not written yet */
    int values;                      /* of the pending format */
};

static void flush_format(struct printer *p)
{
    if (p->pending.length == 0)
        return;
    THREAD_ADD_OP(&p->m->b, THREAD_PRINT_FORMAT, DT_NONE, DT_NONE, p->start,
                  thread_text(p->pending.data));
    text_init(&p->pending, p->m->arena);
    p->values = 0;
}

static void flush(struct printer *p)
{
    if (p->pending.length == 0)
        return;
    p->at = thread_use(THREAD_ADD_OP(&p->m->b, THREAD_PRINT_TEXT, DT_NONE, DT_NONE, p->at,
                                     thread_text(p->pending.data)));
    text_init(&p->pending, p->m->arena);
}

/* Adds a constant that is an integer or a bool. */
static void add_constant(struct printer *p, struct scalar v)
{
    const long long wrapped = (long long)dtype_wrap(v.dtype, v.o.integer);
    if (v.dtype == DT_BOOL)
        text_add(&p->pending, wrapped ? "true" : "false");
    else
        text_printf(&p->pending, v.dtype == DT_U64 ? "%llu" : "%lld", wrapped);
}

static void add_plain(struct printer *p, struct scalar v)
{
    if (v.o.kind == THREAD_INTEGER && !dtype_is_float(v.dtype)) {
        add_constant(p, v);
        return;
    }
    flush(p);
    if (dtype_is_int(v.dtype))
        v = emit_as(p->m, v, nvptx_print_type(v.dtype));
    p->at = thread_use(THREAD_ADD_OP(&p->m->b, THREAD_PRINT_VALUE, v.dtype, DT_NONE, p->at, v.o));
}

static void add_converted(struct printer *p, const struct print_piece *piece, struct scalar v)
{
    const enum dtype t = print_type(piece->letter, v.dtype);
    const enum dtype wide = print_of_float(piece->letter) ? DT_F64 : nvptx_print_type(t);
    if (p->values == PRINT_MOST_VALUES)
        flush_format(p);
    if (wide != DT_F64)
        v = emit_as(p->m, v, t);
    text_add(&p->pending, print_conversion(p->m->arena, piece, t));
    THREAD_ADD_OP(&p->m->b, THREAD_PRINT_STORE, wide, DT_NONE, p->start,
                  thread_integer(p->values++), emit_as(p->m, v, wide).o);
}

static struct scalar coordinate(struct emit *m, const struct print_part *part)
{
    const bool of_block = part->kind == PRINT_BLOCK;
    const bool moves =
        of_block ? m->kernel->grid[part->axis] != NULL : m->kernel->threads[part->axis] > 1;
    struct expr *e = arena_new(m->arena, struct expr);
    *e = (struct expr){
        .op = of_block ? OP_BLOCK : OP_THREAD, .type = {.dtype = DT_I32}, .axis = part->axis};
    return moves ? emit_scalar(m, e) : emit_constant(DT_I32, 0);
}

static struct scalar value_of_part(struct emit *m, const struct print_part *part,
                                   const struct argument *args)
{
    const struct argument *a = &args[part->argument];
    if (part->kind != PRINT_ELEMENT)
        return coordinate(m, part);
    if (a->elements)
        return a->elements[print_number_of(a->shown, part->number)];
    const struct scalar at = emit_constant(DT_U32, a->first + part->number);
    return (struct scalar){emit_from_scratch(m, &a->scratch, at), a->shown->type.dtype};
}

static void add_part(struct printer *p, const struct print_part *part, const struct argument *args)
{
    text_add(&p->pending, part->text);
    if (part->kind == PRINT_END)
        return;
    const struct scalar v = value_of_part(p->m, part, args);
    if (!part->piece)
        add_plain(p, v);
    else if (part->kind != PRINT_ELEMENT && v.o.kind == THREAD_INTEGER)
        add_constant(p, v);
    else
        add_converted(p, part->piece, v);
}

/* Prints a row. start: the address of memory for it. */
static void print_row(struct emit *m, const struct print_row *row, const struct argument *args,
                      struct thread_operand start)
{
    struct printer p = {.m = m, .start = start, .at = start};
    text_init(&p.pending, m->arena);
    for (size_t i = 0; i < row->parts.count; i++)
        add_part(&p, &row->parts.data[i], args);
    if (row->is_format) {
        flush_format(&p);
    } else {
        flush(&p);
        THREAD_ADD_OP(&m->b, THREAD_PRINT_SHOW, DT_NONE, DT_NONE, p.start);
    }
}

static struct thread_operand own_row(struct emit *m, const struct print_row *row)
{
    return thread_use(
        THREAD_ADD_OP(&m->b, THREAD_PRINT_ROW, DT_NONE, DT_NONE, thread_integer(row->bytes)));
}

/* --- tiles of the block --- */

static struct scalar number(int64_t v)
{
    return emit_constant(DT_I32, v);
}

static struct scalar combine(struct emit *m, enum thread_opcode op, struct scalar a, int64_t b)
{
    return emit_op2(m, op, DT_I32, a, number(b));
}

/* Returns whether a coordinate is less than the limit. */
static struct scalar is_below(struct emit *m, struct coordinate c, int64_t limit)
{
    if (c.threads > 0 && (c.more >= limit || c.more + c.threads <= limit))
        return emit_constant(DT_BOOL, c.more < limit);
    return combine(m, THREAD_LT, c.thread, limit - c.more);
}

/* Finds an element's coordinate among those shown. *inside becomes false if it is not shown. */
static struct scalar place_shown(struct emit *m, const struct print_shown *s, int axis,
                                 struct coordinate c, struct scalar *inside)
{
    const int64_t n = s->e->type.extent[axis], shown = s->type.extent[axis];
    struct scalar is_shown = emit_constant(DT_BOOL, 1);
    struct scalar place = combine(m, THREAD_ADD, c.thread, c.more);
    if (s->window) {
        const int64_t first = s->window->first[axis];
        is_shown = emit_not(m, is_below(m, c, first));
        is_shown = emit_op2(m, THREAD_AND, DT_BOOL, is_shown, is_below(m, c, first + shown));
        place = combine(m, THREAD_ADD, c.thread, c.more - first);
    } else if (print_by_ends(s, axis)) {
        const struct scalar low = is_below(m, c, PRINT_ENDS);
        is_shown =
            emit_op2(m, THREAD_OR, DT_BOOL, low, emit_not(m, is_below(m, c, n - PRINT_ENDS)));
        place = emit_select(m, low, place, combine(m, THREAD_ADD, c.thread, c.more + shown - n));
    }
    *inside = emit_op2(m, THREAD_AND, DT_BOOL, *inside, is_shown);
    return place;
}

static void put(struct emit *m, const struct argument *a, struct scalar at, struct scalar v,
                struct scalar mine)
{
    const enum dtype t = a->shown->type.dtype;
    if (mine.o.kind != THREAD_VALUE && !mine.o.integer)
        return;
    struct thread_region *outer = emit_open_if(m, mine);
    at = emit_by(m, THREAD_ADD, emit_as(m, at, DT_U32), a->first);
    const struct thread_operand place = emit_scratch_at(m, &a->scratch, at);
    THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t, DT_NONE, place,
                  t == DT_BOOL ? emit_predicate(m, v) : v.o);
    m->b.region = outer;
}

static void put_fragment(struct emit *m, const struct argument *a)
{
    const struct print_shown *shown = a->shown;
    const struct spots s = emit_spots(m, a->fragment.layout);
    for (int32_t r = 0; r < a->fragment.count; r++) {
        struct scalar at = number(0);
        struct scalar mine =
            emit_op2(m, THREAD_AND, DT_BOOL, s.first, emit_spot_inside(m, &s, r, ~0u));
        if (emit_spot_repeats(&s, r))
            continue;
        for (int i = 0; i < shown->type.rank; i++) {
            const struct scalar place = place_shown(m, shown, i, emit_spot(m, &s, i, r), &mine);
            at = combine(m, THREAD_MUL, at, shown->type.extent[i]);
            at = emit_op2(m, THREAD_ADD, DT_I32, at, place);
        }
        put(m, a, at, emit_as(m, a->fragment.v[r], shown->type.dtype), mine);
    }
}

/* Returns how many of the elements that are shown a thread has: thread i has the elements i, i + threads, i + 2 threads … */
static int64_t turns(const struct emit *m, const struct print_shown *s)
{
    const int64_t threads = kernel_block_threads(m->kernel);
    return (type_elements(&s->type) + threads - 1) / threads;
}

static struct scalar number_in_turn(struct emit *m, int64_t i)
{
    return combine(m, THREAD_ADD, emit_thread_number(m), i * kernel_block_threads(m->kernel));
}

static void read_in_turn(struct emit *m, struct argument *a)
{
    const struct print_shown *s = a->shown;
    a->turn = arena_array(m->arena, struct scalar, turns(m, s) + 1);
    for (int64_t i = 0; i < turns(m, s) && !m->failed; i++) {
        struct piece p = emit_piece_in_turn(m, &s->type, number_in_turn(m, i));
        for (int axis = 0; axis < s->type.rank; axis++) {
            struct coordinate *c = &p.at[axis];
            const int64_t beyond = s->e->type.extent[axis] - s->type.extent[axis];
            if (s->window) {
                c->more += s->window->first[axis];
            } else if (print_by_ends(s, axis)) {
                const struct scalar begins = combine(m, THREAD_LT, c->thread, PRINT_ENDS);
                const struct scalar ends = combine(m, THREAD_ADD, c->thread, beyond);
                c->thread = emit_select(m, begins, c->thread, ends);
            }
        }
        a->turn[i] = emit_value_at(m, s->e, p.at, p.mine);
    }
}

static void put_in_turn(struct emit *m, const struct argument *a)
{
    for (int64_t i = 0; i < turns(m, a->shown) && !m->failed; i++) {
        const struct scalar at = number_in_turn(m, i);
        const struct scalar v = emit_as(m, a->turn[i], a->shown->type.dtype);
        put(m, a, at, v, combine(m, THREAD_LT, at, type_elements(&a->shown->type)));
    }
}

/* Returns the number of elements, rounded up to whole vectors. */
static int64_t in_vectors(enum dtype t, int64_t elements)
{
    enum { VECTOR_BYTES = 16 };
    const int64_t each = VECTOR_BYTES / (int64_t)dtype_size(t);
    return (elements + each - 1) / each * each;
}

/* Gives the tiles of a type their places in the scratch of that type. more: elements after them. Returns the number of elements
 * before these. */
static int64_t place_type(struct emit *m, struct argument *args, int count, enum dtype t,
                          int64_t more, struct scratch *scratch)
{
    int64_t elements = 0;
    for (int i = 0; i < count; i++)
        if (!args[i].elements && args[i].shown->type.dtype == t) {
            args[i].first = elements;
            elements += in_vectors(t, type_elements(&args[i].shown->type));
        }
    if (elements + more > 0)
        *scratch = emit_scratch(m, t, elements + more);
    for (int i = 0; i < count; i++)
        if (args[i].shown->type.dtype == t)
            args[i].scratch = *scratch;
    return elements;
}

/* Puts the tiles into scratch. Returns the address of memory for the row, after them. */
static struct thread_operand share_tiles(struct emit *m, struct argument *args, int count,
                                         const struct print_row *row, struct scratch *of_row)
{
    int64_t first = 0;
    for (int t = 0; t < DT_COUNT; t++) {
        struct scratch scratch;
        if (t == DT_U8)
            first = place_type(m, args, count, DT_U8, row->bytes, of_row);
        else
            place_type(m, args, count, (enum dtype)t, 0, &scratch);
    }
    for (int i = 0; i < count && !m->failed; i++)
        if (args[i].turn)
            put_in_turn(m, &args[i]);
        else if (!args[i].elements)
            put_fragment(m, &args[i]);
    emit_sync(m);
    return emit_scratch_at(m, of_row, emit_constant(DT_U32, first));
}

/* --- the statement --- */

static struct argument argument_of(struct emit *m, const struct print_shown *shown)
{
    struct argument a = {.shown = shown};
    if (shown->e->type.rank == 0) {
        const struct scalar v = emit_scalar(m, shown->e);
        a.elements = arena_copy(m->arena, &v, sizeof v);
    } else if (expr_is_per_thread(shown->e)) {
        a.elements = emit_elements(m, shown->e);
    } else if (m->fragments) {
        a.fragment = emit_fragment_natural(m, shown->e);
    } else {
        read_in_turn(m, &a);
    }
    return a;
}

/* Prints by the first thread. */
static void print_once(struct emit *m, const struct print_row *row, struct argument *args,
                       int count)
{
    struct thread_operand shared = {0};
    struct scratch of_row;
    bool tiles = false;
    for (int i = 0; i < count; i++)
        tiles |= !args[i].elements;
    if (tiles)
        shared = share_tiles(m, args, count, row, &of_row);
    struct thread_region *outer =
        emit_open_if(m, (struct scalar){thread_use(m->place.elected), DT_BOOL});
    print_row(
        m, row, args,
        tiles ? thread_use(THREAD_ADD_OP(&m->b, THREAD_PRINT_ROW_SHARED, DT_NONE, DT_NONE, shared))
              : own_row(m, row));
    m->b.region = outer;
    for (int i = 0; i < count; i++)
        if (!args[i].elements)
            emit_was_read(m, &args[i].scratch);
    if (tiles)
        emit_was_read(m, &of_row);
}

void emit_print(struct emit *m, const struct stmt *s)
{
    const struct expr *e = s->value;
    struct argument *args = arena_array(m->arena, struct argument, e->count + 1);
    bool by_thread = kernel_thread_level(m->kernel);
    for (int i = 0; i < e->count; i++)
        by_thread &= e->args[i]->type.rank == 0 || expr_is_per_thread(e->args[i]);
    const struct print_row row = print_row_make(m->arena, m->kernel, e, by_thread);
    if (row.elements > PRINT_MOST_SHOWN)
        emit_error(m, e->loc, "print() would show %lld elements in a row; %d are the most",
                   (long long)row.elements, PRINT_MOST_SHOWN);
    for (int i = 0; i < e->count && !m->failed; i++)
        args[i] = argument_of(m, &row.shown[i]);
    if (m->failed)
        return;
    if (by_thread)
        print_row(m, &row, args, own_row(m, &row));
    else
        print_once(m, &row, args, e->count);
}

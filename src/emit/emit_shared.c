/* Shared tiles. The last two axes are a matrix; axes before them count matrices. A swizzled matrix lies in panels of 128 bytes
 * a row, one after the other; in each row the pieces of 16 bytes are exchanged: piece p of row r is at p ^ (r % 8). */
#include "emit/emit_own.h"

enum { MOST_LOADS = 128 };

static int size_of(const struct sym *s)
{
    return (int)dtype_size(s->type.dtype);
}

/* Returns whether a slice that begins at a scalar lies within the tile, and begins at a row where the swizzle repeats. */
static bool is_further(struct emit *m, const struct expr *e, int axis)
{
    const struct facts f = emit_facts_of(m, e->index[axis].value);
    return f.least >= 0 && f.greatest <= e->sym->type.extent[axis] - e->index[axis].extent &&
           f.modulus % EMIT_SWIZZLED_ROWS == 0 && f.rest % EMIT_SWIZZLED_ROWS == 0;
}

static bool part_further(struct emit *m, const struct expr *e, int axis, int *extent,
                         struct scalar *further)
{
    *extent = (int)e->index[axis].extent;
    if (is_further(m, e, axis)) {
        *further = emit_as(m, emit_scalar(m, e->index[axis].value), DT_U32);
        return true;
    }
    emit_error(m, e->loc, "it is not known where this part of `%s` begins", e->sym->name);
    diag_note(
        m->diag, e->loc,
        "rows begin at a constant, or at a multiple of %d within the tile that follows from a "
        "role's index, a loop's counter or `cluster.rank`",
        EMIT_SWIZZLED_ROWS);
    return false;
}

/* Finds the start and the extent of an axis of a part. */
static bool part_of_axis(struct emit *m, const struct expr *e, int axis, int *start, int *extent,
                         struct scalar *further)
{
    int64_t first = 0;
    *start = 0;
    *extent = (int)e->sym->type.extent[axis];
    if (axis >= e->indices || e->index[axis].kind == IX_ALL)
        return true;
    if (further && e->index[axis].kind == IX_SLICE && !eval_int(e->index[axis].value, NULL, &first))
        return part_further(m, e, axis, extent, further);
    if (e->index[axis].kind != IX_SLICE || !eval_int(e->index[axis].value, NULL, &first)) {
        emit_missing(m, e->loc,
                     "a part of a shared tile, here, other than a slice from a constant on",
                     "give the part a tile of its own, or an axis of the tile, as `s[i]`");
        return false;
    }
    *start = (int)first;
    *extent = (int)e->index[axis].extent;
    if (first >= 0 && first + *extent <= e->sym->type.extent[axis])
        return true;
    emit_missing(m, e->loc, "a slice that reaches past the edge of a shared tile, here,",
                 "let it end at the edge");
    return false;
}

/* Finds the number of the matrix. */
static bool find_stage(struct emit *m, const struct expr *e, int axes, struct scalar *stage)
{
    *stage = emit_constant(DT_U32, 0);
    for (int i = 0; i < axes; i++) {
        if (i >= e->indices || e->index[i].kind != IX_ELEMENT) {
            emit_missing(m, e->loc, "several matrices of a shared tile at once, here,",
                         "take one at a time: `s[i]`, in a loop");
            return false;
        }
        struct scalar index = emit_as(m, emit_scalar(m, e->index[i].value), DT_U32);
        *stage = emit_by(m, THREAD_MUL, *stage, e->sym->type.extent[i]);
        *stage = emit_op2(m, THREAD_ADD, DT_U32, index, *stage);
    }
    return true;
}

struct scalar emit_peer(struct emit *m, const struct expr *e)
{
    struct scalar rank = emit_as(m, emit_scalar(m, access_peer(e)), DT_U32);
    return (struct scalar){thread_use(THREAD_ADD_OP(&m->b, THREAD_PEER, DT_NONE, DT_NONE, rank.o)),
                           DT_U32};
}

bool emit_shared_part(struct emit *m, const struct expr *e, struct shared_part *out)
{
    const struct type *t = &e->sym->type;
    int axes = t->rank > 2 ? t->rank - 2 : 0, last = t->rank - 1;
    *out = (struct shared_part){.sym = e->sym, .object = emit_object(m, e->sym)};
    out->further = emit_constant(DT_U32, 0);
    out->of_peer = access_peer(e) != NULL;
    if (out->of_peer)
        out->peer = emit_peer(m, e);
    if (!find_stage(m, e, axes, &out->stage))
        return false;
    out->rows = t->rank > 1 ? (int)t->extent[last - 1] : 1;
    out->columns = (int)t->extent[last];
    out->part_rows = 1;
    if (!part_of_axis(m, e, last, &out->column, &out->part_columns, NULL) ||
        (t->rank > 1 && !part_of_axis(m, e, last - 1, &out->row, &out->part_rows, &out->further)))
        return false;
    out->swizzled = emit_is_swizzled(e->sym);
    out->panel = out->swizzled ? EMIT_PANEL / size_of(e->sym) : out->columns;
    if (!out->swizzled || (out->row % EMIT_SWIZZLED_ROWS == 0 && out->column % out->panel == 0 &&
                           (out->part_columns % out->panel == 0)))
        return true;
    emit_error(m, e->loc, "this part of `%s` does not begin and end where its swizzled panels do",
               e->sym->name);
    diag_note(m->diag, e->loc, "rows begin at multiples of %d, columns at multiples of %d",
              EMIT_SWIZZLED_ROWS, out->panel);
    return false;
}

/* --- loads and stores --- */

/* The row of an element of the part; in_row finds the place of the element. Its column is a number that depends on the lane,
 * plus a constant; `piece` is the piece of 16 bytes of the lane's part. */
struct at {
    const struct shared_part *part;
    struct scalar row_start; /* place of the row's first element in the first panel */
    struct scalar turned;    /* row % 8 */
};

static struct at at_row(struct emit *m, const struct shared_part *p, struct scalar row)
{
    struct at at = {.part = p};
    struct scalar matrix = emit_by(m, THREAD_MUL, p->stage, (int64_t)p->rows * p->columns);
    row = emit_op2(m, THREAD_ADD, DT_U32, row, p->further);
    at.row_start = emit_op2(m, THREAD_ADD, DT_U32, matrix, emit_by(m, THREAD_MUL, row, p->panel));
    at.turned = emit_by(m, THREAD_AND, row, EMIT_SWIZZLED_ROWS - 1);
    return at;
}

/* Returns the constant part of a place: the start of the part, and that of the column's panel. */
static int64_t panel_start(const struct shared_part *p, int column)
{
    int whole = p->column + column;
    return (int64_t)p->row * p->panel +
           (p->swizzled ? (int64_t)(whole / p->panel) * p->rows * p->panel : (int64_t)whole);
}

/* Returns the place of element `within` of piece `piece` + `more` of the panel. more: a constant multiple of 2. */
static struct scalar in_row(struct emit *m, const struct at *at, struct scalar piece, int more,
                            struct scalar within)
{
    int each = EMIT_PIECE / size_of(at->part->sym);
    if (at->part->swizzled)
        piece = emit_by(m, THREAD_XOR, emit_op2(m, THREAD_XOR, DT_U32, piece, at->turned), more);
    struct scalar place = emit_by(m, THREAD_MUL, piece, each);
    place = emit_op2(m, THREAD_ADD, DT_U32, at->row_start, place);
    return emit_op2(m, THREAD_ADD, DT_U32, place, within);
}

/* Returns the address for four matrices of 8 x 8 elements of 16 bits: rows 0 to 7 and rows 8 to 15 of eight columns, then of
 * the next eight. Each lane has the address of row lane % 16, in the first or the second eight columns. */
static struct thread_operand matrices_at(struct emit *m, const struct shared_part *p, int block,
                                         int blocks, int columns)
{
    struct scalar first = emit_row(m, block, blocks);
    struct scalar quarter = emit_by(m, THREAD_SHR, m->place.lane, 2);
    struct scalar in_half = emit_by(m, THREAD_AND, m->place.lane, 15);
    struct scalar row =
        emit_op2(m, THREAD_ADD, DT_U32, emit_op2(m, THREAD_SUB, DT_U32, first, quarter), in_half);
    struct scalar half = emit_by(m, THREAD_SHR, m->place.lane, 4);
    struct at at = at_row(m, p, row);
    int in_panel = p->swizzled ? columns % p->panel / 8 : 0;
    struct scalar place = in_row(m, &at, half, in_panel, emit_constant(DT_U32, 0));
    return thread_element(p->object, place.o, panel_start(p, columns));
}

static void store_halves(struct emit *m, const struct shared_part *p, const struct tile *t)
{
    enum { EACH = 8 }; /* elements of four matrices in a lane, of 16 columns */
    for (int b = 0; b < t->blocks; b++)
        for (int c = 0; c < t->columns; c += 16) {
            struct thread_operand v = emit_part(m, t->dtype, t->part[b], c / 2, EACH, 1);
            THREAD_ADD_OP(&m->b, THREAD_STORE_MATRIX, t->dtype, DT_NONE,
                          matrices_at(m, p, b, t->blocks, c), v);
        }
}

static struct thread_operand load_halves(struct emit *m, const struct shared_part *p,
                                         const struct tile *t, int block)
{
    enum { EACH = 8 };
    struct thread_operand all[MOST_LOADS];
    int count = 0;
    for (int c = 0; c < t->columns; c += 16) {
        struct thread_operand from[] = {matrices_at(m, p, block, t->blocks, c), thread_integer(0)};
        struct thread_operand v = thread_use(
            thread_add_counted(&m->b, THREAD_LOAD_MATRIX, t->dtype, DT_NONE, EACH, from, 2));
        all[count++] = v;
    }
    return emit_join(m, t->dtype, all, count);
}

/* Returns the element at which two neighbours begin, in the thread's columns 8 i and 8 i + 1. */
static struct thread_operand pair_at(struct emit *m, const struct shared_part *p, int block,
                                     int blocks, int below, int columns)
{
    struct scalar row = emit_by(m, THREAD_ADD, emit_row(m, block, blocks), below);
    struct scalar column = emit_column(m);
    struct at at = at_row(m, p, row);
    struct scalar piece = emit_constant(DT_U32, 0), within = column;
    int more = 0;
    if (p->swizzled) {
        int each = EMIT_PIECE / size_of(p->sym);
        piece = emit_by(m, THREAD_DIV, column, each);
        within = emit_by(m, THREAD_AND, column, each - 1);
        more = columns % p->panel / each;
    }
    struct scalar place = in_row(m, &at, piece, more, within);
    return thread_element(p->object, place.o, panel_start(p, columns));
}

static void store_words(struct emit *m, const struct shared_part *p, const struct tile *t)
{
    for (int b = 0; b < t->blocks; b++)
        for (int i = 0; i < t->columns / 2; i += 2) {
            struct thread_operand v = emit_part(m, t->dtype, t->part[b], i, 2, 1);
            struct thread_operand to = pair_at(m, p, b, t->blocks, i % 4 * 4, i / 4 * 8);
            if (p->of_peer)
                THREAD_ADD_OP(&m->b, THREAD_STORE_PEER, t->dtype, DT_NONE, to, p->peer.o, v);
            else
                THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t->dtype, DT_NONE, to, v);
        }
}

static struct thread_operand load_words(struct emit *m, const struct shared_part *p,
                                        const struct tile *t, int block)
{
    struct thread_operand all[MOST_LOADS];
    int count = 0;
    for (int i = 0; i < t->columns / 2; i += 2) {
        struct thread_operand from[] = {pair_at(m, p, block, t->blocks, i % 4 * 4, i / 4 * 8),
                                        p->peer.o};
        enum thread_opcode op = p->of_peer ? THREAD_LOAD_PEER : THREAD_LOAD_SHARED;
        struct thread_operand v =
            thread_use(thread_add_counted(&m->b, op, t->dtype, DT_NONE, 2, from, 1 + p->of_peer));
        all[count++] = v;
    }
    return emit_join(m, t->dtype, all, count);
}

/* --- any part, element by element --- */

bool emit_shared_find(struct emit *m, const struct expr *e, struct shared_place *a)
{
    int seen = 0;
    *a = (struct shared_place){.e = e, .object = emit_object(m, e->sym)};
    a->row_axis = a->column_axis = -1;
    if (access_peer(e))
        a->peer = emit_peer(m, e);
    for (int i = 0; i < e->sym->type.rank; i++) {
        enum index_kind kind = i < e->indices ? e->index[i].kind : IX_ALL;
        if (kind == IX_GATHER) {
            emit_missing(m, e->loc, "a gather from a shared tile", "read its rows one by one");
            return false;
        }
        a->start[i] = kind == IX_ALL     ? emit_constant(DT_I32, 0)
                      : kind == IX_SLICE ? emit_start_i32(m, &e->index[i])
                                         : emit_as(m, emit_scalar(m, e->index[i].value), DT_I32);
        if (kind == IX_ELEMENT)
            continue;
        seen++;
        if (seen == e->type.rank - 1)
            a->row_axis = i;
        if (seen == e->type.rank)
            a->column_axis = i;
    }
    return true;
}

/* Returns true if the part certainly lies within the axis. */
static bool is_inside(const struct shared_place *a, int axis, int64_t extent)
{
    const struct index *x = axis < a->e->indices ? &a->e->index[axis] : NULL;
    const struct thread_operand *o = &a->start[axis].o;
    if (!x || x->kind != IX_SLICE || x->inside)
        return true;
    return o->kind == THREAD_INTEGER && o->integer >= 0 && o->integer + x->extent <= extent;
}

/* Returns the place of element (row, column) of a matrix, in elements. */
static struct scalar in_matrix(struct emit *m, const struct sym *s, struct scalar row,
                               struct scalar column)
{
    const struct type *t = &s->type;
    int64_t rows = t->rank > 1 ? t->extent[t->rank - 2] : 1, columns = t->extent[t->rank - 1];
    int each = EMIT_PIECE / size_of(s), panel = EMIT_PANEL / size_of(s);
    if (!emit_is_swizzled(s))
        return emit_op2(m, THREAD_ADD, DT_U32, column, emit_by(m, THREAD_MUL, row, columns));
    struct scalar start =
        emit_by(m, THREAD_MUL, emit_by(m, THREAD_DIV, column, panel), rows * panel);
    start = emit_op2(m, THREAD_ADD, DT_U32, start, emit_by(m, THREAD_MUL, row, panel));
    struct scalar turned = emit_by(m, THREAD_MUL, emit_by(m, THREAD_AND, row, 7), each);
    struct scalar in_panel = emit_by(m, THREAD_AND, column, panel - 1);
    return emit_op2(m, THREAD_ADD, DT_U32, start,
                    emit_op2(m, THREAD_XOR, DT_U32, in_panel, turned));
}

/* Returns the place of element (row, column) of the access's tile. *inside becomes false if the shared tile does not have
 * it. */
static struct scalar place_of(struct emit *m, const struct shared_place *a, struct scalar row,
                              struct scalar column, struct scalar *inside)
{
    const struct type *t = &a->e->sym->type;
    struct scalar matrix = emit_constant(DT_U32, 0), index[2] = {matrix, matrix};
    for (int i = 0; i < t->rank; i++) {
        struct scalar at = emit_as(m, a->start[i], DT_U32);
        struct scalar extent = emit_constant(DT_U32, t->extent[i]);
        if (i == a->row_axis || i == a->column_axis)
            at = emit_op2(m, THREAD_ADD, DT_U32, at, i == a->row_axis ? row : column);
        if (!is_inside(a, i, t->extent[i]))
            emit_and(m, inside, emit_op2(m, THREAD_LT, DT_U32, at, extent));
        if (i >= t->rank - 2)
            index[i - t->rank + 2] = at;
        else
            matrix = emit_op2(m, THREAD_ADD, DT_U32,
                              emit_op2(m, THREAD_MUL, DT_U32, matrix, extent), at);
    }
    int64_t size = t->extent[t->rank - 1] * (t->rank > 1 ? t->extent[t->rank - 2] : 1);
    struct scalar start = emit_by(m, THREAD_MUL, matrix, size);
    return emit_op2(m, THREAD_ADD, DT_U32, in_matrix(m, a->e->sym, index[0], index[1]), start);
}

struct thread_operand emit_shared_held(struct emit *m, const struct shared_place *a, struct held at,
                                       struct scalar *inside)
{
    m->place.touched = true;
    *inside = at.real;
    return thread_element(a->object, place_of(m, a, at.row, at.column, inside).o, 0);
}

/* Loads an element of a peer's tile. A thread whose element is not real loads the first one, and keeps `otherwise`. */
static struct thread_operand load_of_peer(struct emit *m, const struct shared_place *a,
                                          struct scalar place, struct scalar inside,
                                          struct scalar otherwise)
{
    enum dtype t = a->e->sym->type.dtype;
    bool known = inside.o.kind != THREAD_VALUE;
    if (!known)
        place = emit_select(m, inside, place, emit_constant(DT_U32, 0));
    struct thread_operand from[] = {thread_element(a->object, place.o, 0), a->peer.o};
    struct thread_operand v =
        thread_use(thread_add_counted(&m->b, THREAD_LOAD_PEER, t, DT_NONE, 1, from, 2));
    if (known)
        return v;
    if (t == DT_BOOL)
        otherwise.o = emit_predicate(m, otherwise);
    return thread_use(THREAD_ADD_OP(&m->b, THREAD_SELECT, t, DT_NONE, inside.o, v, otherwise.o));
}

static struct thread_operand load_element(struct emit *m, const struct shared_place *a,
                                          struct held at, struct scalar otherwise)
{
    enum dtype t = a->e->sym->type.dtype;
    struct scalar inside = at.real, place = place_of(m, a, at.row, at.column, &inside);
    struct thread_operand from[] = {inside.o, thread_element(a->object, place.o, 0), otherwise.o};
    if (inside.o.kind != THREAD_VALUE && !inside.o.integer)
        return otherwise.o;
    if (access_peer(a->e))
        return load_of_peer(m, a, place, inside, otherwise);
    if (inside.o.kind != THREAD_VALUE)
        return thread_use(
            thread_add_counted(&m->b, THREAD_LOAD_SHARED, t, DT_NONE, 1, from + 1, 1));
    if (t == DT_BOOL)
        from[2] = emit_predicate(m, otherwise);
    return thread_use(thread_add_counted(&m->b, THREAD_LOAD_SHARED_IF, t, DT_NONE, 1, from, 3));
}

struct scalar emit_shared_read(struct emit *m, const struct shared_place *a, struct held at)
{
    enum dtype t = a->e->sym->type.dtype;
    return (struct scalar){load_element(m, a, at, emit_constant(t, 0)), t};
}

static void store_element(struct emit *m, const struct shared_place *a, struct held at,
                          struct thread_operand v)
{
    struct scalar inside = at.real, place = place_of(m, a, at.row, at.column, &inside);
    if (inside.o.kind != THREAD_VALUE && !inside.o.integer)
        return;
    struct thread_region *outer = emit_open_if(m, inside);
    struct thread_operand to = thread_element(a->object, place.o, 0);
    if (access_peer(a->e))
        THREAD_ADD_OP(&m->b, THREAD_STORE_PEER, a->e->sym->type.dtype, DT_NONE, to, a->peer.o, v);
    else
        THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, a->e->sym->type.dtype, DT_NONE, to, v);
    m->b.region = outer;
}

/* --- all of some matrices with one value --- */

/* Returns the number of elements of an access that covers its last axes wholly; 0: it does not. *first: the number of this part
 * among the parts of equal size. */
static int64_t covered(struct emit *m, const struct expr *e, struct scalar *first)
{
    const struct type *t = &e->sym->type;
    int64_t elements = 1, start;
    int axis = 0;
    *first = emit_constant(DT_U32, 0);
    for (; axis < e->indices && axis < t->rank - 2 && e->index[axis].kind == IX_ELEMENT; axis++) {
        struct scalar index = emit_as(m, emit_scalar(m, e->index[axis].value), DT_U32);
        *first = emit_by(m, THREAD_MUL, *first, t->extent[axis]);
        *first = emit_op2(m, THREAD_ADD, DT_U32, index, *first);
    }
    for (; axis < t->rank; axis++) {
        const struct index *x = axis < e->indices ? &e->index[axis] : NULL;
        bool all = !x || x->kind == IX_ALL ||
                   (x->kind == IX_SLICE && x->extent == t->extent[axis] &&
                    eval_int(x->value, NULL, &start) && start == 0);
        elements *= all ? t->extent[axis] : 0;
    }
    return elements;
}

/* Gives `count` elements of an array one value. Threads take pieces of 16 bytes in turn. */
static void fill(struct emit *m, const struct thread_object *object, struct scalar first,
                 int64_t count, struct thread_operand v)
{
    enum dtype t = object->dtype;
    int each = EMIT_PIECE / (int)dtype_size(t);
    if (t == DT_BOOL || count % each != 0 || object->at % EMIT_PIECE != 0)
        each = 1;
    struct scalar thread = emit_op2(m, THREAD_ADD, DT_U32, m->place.lane,
                                    emit_by(m, THREAD_MUL, m->place.warp, WARP_LANES));
    struct thread_operand piece = t == DT_BOOL ? v : emit_splat(m, t, v, each);
    struct thread_operation *loop = thread_add_control(&m->b, THREAD_LOOP);
    struct thread_region *outer = m->b.region, *r = arena_new(m->arena, struct thread_region);
    struct thread_value *i =
        thread_new_value(&m->b, (struct thread_type){.dtype = DT_U32, .count = 1});
    vec_push(m->arena, &loop->operands, thread.o);
    vec_push(m->arena, &r->arguments, i);
    vec_push(m->arena, &loop->regions, r);
    m->b.region = r;
    struct scalar at = {thread_use(i), DT_U32};
    struct scalar done = emit_by(m, THREAD_GE, at, count / each);
    struct thread_operation *leave = thread_add_control(&m->b, THREAD_BREAK_IF);
    vec_push(m->arena, &leave->operands, done.o);
    struct scalar start = emit_by(m, THREAD_MUL, first, count);
    start = emit_op2(m, THREAD_ADD, DT_U32, start, emit_by(m, THREAD_MUL, at, each));
    THREAD_ADD_OP(&m->b, THREAD_STORE_SHARED, t, DT_NONE, thread_element(object, start.o, 0),
                  piece);
    struct scalar next = emit_by(m, THREAD_ADD, at, (int64_t)m->place.warps * WARP_LANES);
    struct thread_operation *again = thread_add_control(&m->b, THREAD_CONTINUE);
    vec_push(m->arena, &again->operands, next.o);
    m->b.region = outer;
}

/* --- any access --- */

/* Returns true if one instruction moves several elements of the part. *p then describes the part. */
static bool moves_together(struct emit *m, const struct expr *e, struct shared_part *p)
{
    const struct type *t = &e->type;
    int64_t start, size = (int64_t)dtype_size(t->dtype);
    int last = e->sym->type.rank - 1,
        blocks = emit_form(t) == TILE_WHOLE ? emit_blocks(m, t, e->loc) : 0;
    bool halves = size == 2 && t->dtype != DT_BOOL, words = size == 4;
    if (t->rank != 2 || !blocks || !emit_is_whole(m, t, blocks) || (!halves && !words))
        return false;
    int64_t step = halves ? 8 : 2, columns = e->sym->type.extent[last];
    if (columns % step != 0 || t->extent[1] % (halves ? 16 : 8) != 0)
        return false;
    for (int i = 0; i <= last; i++) {
        const struct index *x = i < e->indices ? &e->index[i] : NULL;
        bool swizzled = emit_is_swizzled(e->sym);
        int64_t multiple = i < last   ? (swizzled ? EMIT_SWIZZLED_ROWS : 1)
                           : swizzled ? EMIT_PANEL / size
                                      : step;
        if (i == last - 1 && x && x->kind == IX_SLICE && !eval_int(x->value, NULL, &start) &&
            is_further(m, e, i))
            continue;
        if (i < last - 1
                ? !x || x->kind != IX_ELEMENT
                : x && x->kind != IX_ALL &&
                      (x->kind != IX_SLICE || !eval_int(x->value, NULL, &start) || start < 0 ||
                       start + x->extent > e->sym->type.extent[i] || start % multiple != 0 ||
                       (i == last && swizzled && x->extent % multiple != 0)))
            return false;
    }
    return emit_shared_part(m, e, p);
}

void emit_shared_store(struct emit *m, const struct expr *target, const struct tile *value)
{
    struct shared_part p;
    struct shared_place a;
    struct scalar first;
    m->place.touched = true;
    bool fills = value->form == TILE_UNIFORM && !access_peer(target);
    int64_t all = fills ? covered(m, target, &first) : 0;
    if (all) {
        fill(m, emit_object(m, target->sym), first, all, value->part[0]);
        return;
    }
    struct tile t = emit_spread(m, value, &target->type, target->loc);
    if (m->failed)
        return;
    if (moves_together(m, target, &p)) {
        emit_note_moved(m, target, &p, t.blocks, true);
        if (dtype_size(t.dtype) == 2 && !p.of_peer)
            store_halves(m, &p, &t);
        else
            store_words(m, &p, &t);
        return;
    }
    if (!emit_shared_find(m, target, &a))
        return;
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    struct scalar one = emit_holds_first(m, t.form);
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < elements; j++) {
            struct held at = emit_held(m, &t, &target->type, i, j);
            emit_and(m, &at.real, one);
            store_element(m, &a, at, emit_element(m, &t, i, j));
        }
}

struct tile emit_shared_load(struct emit *m, const struct expr *e)
{
    enum { MOST = EMIT_MOST_COLUMNS / 2 };
    struct shared_part p;
    struct shared_place a;
    struct thread_operand all[MOST];
    m->place.touched = true;
    struct tile t = emit_tile_like(&e->type, emit_blocks(m, &e->type, e->loc));
    if (!t.blocks)
        return t;
    if (moves_together(m, e, &p)) {
        emit_note_moved(m, e, &p, t.blocks, false);
        for (int b = 0; b < t.blocks; b++)
            t.part[b] = dtype_size(t.dtype) == 2 && !p.of_peer ? load_halves(m, &p, &t, b)
                                                               : load_words(m, &p, &t, b);
        return t;
    }
    struct scalar otherwise = e->otherwise ? emit_as(m, emit_scalar(m, e->otherwise), t.dtype)
                                           : emit_constant(t.dtype, 0);
    if (!emit_shared_find(m, e, &a))
        return t;
    int elements, parts = emit_parts(t.form, t.blocks, t.columns, &elements);
    for (int i = 0; i < parts; i++) {
        for (int j = 0; j < elements; j++)
            all[j] = load_element(m, &a, emit_held(m, &t, &e->type, i, j), otherwise);
        t.part[i] = emit_join(m, t.dtype, all, elements);
    }
    return t;
}

static const struct held only = {
    .row = {{.kind = THREAD_INTEGER}, DT_U32},
    .column = {{.kind = THREAD_INTEGER}, DT_U32},
    .real = {{.kind = THREAD_INTEGER, .integer = 1}, DT_BOOL},
};

struct scalar emit_shared_element(struct emit *m, const struct expr *e)
{
    struct shared_place a;
    struct scalar none = emit_constant(e->type.dtype, 0);
    m->place.touched = true;
    return emit_shared_find(m, e, &a) ? emit_shared_read(m, &a, only) : none;
}

/* Stores one element, once for the role: by its one thread. */
void emit_shared_store_element(struct emit *m, const struct expr *target, struct scalar value)
{
    struct shared_place a;
    struct held at = only;
    m->place.touched = true;
    if (!m->place.one_thread)
        at.real = emit_elected(m);
    if (emit_shared_find(m, target, &a))
        store_element(m, &a, at, value.o);
}

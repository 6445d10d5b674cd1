/* Describes accesses. */
#include "cpu/compile/compile.h"

static void dense(struct access *a, const int64_t *extent, int rank)
{
    a->rank = rank;
    memcpy(a->extent, extent, (size_t)rank * sizeof *extent);
    compile_dense_strides(rank, extent, 1, a->stride);
}

static int view_rank(const struct sym *s)
{
    int rank = 0;
    while (rank < MAX_RANK && s->dims[rank])
        rank++;
    return rank;
}

void compile_row_load(struct compiler *c, const struct sym *s)
{
    const struct slot *slot = compile_slot_of(c, s);
    if (!slot->is_shown)
        return;
    struct instr *in = compile_add_step(c, step_row_load);
    in->dst = slot->value.at;
    in->a = slot->shown_at;
    in->n = (uint32_t)compile_value_bytes(&slot->value);
}

static void access_memory(struct compiler *c, struct access *a, const struct sym *s)
{
    const struct slot *slot = compile_slot_of(c, s);
    a->sym = s;
    a->local_lanes = 1;
    if (s->storage == ST_VIEW) {
        a->space = SPACE_VIEW;
        a->view = slot->view;
        a->rank = view_rank(s);
    } else if (s->storage == ST_SHARED) {
        a->space = SPACE_SHARED;
        a->at = slot->shared_at;
        dense(a, s->type.extent, s->type.rank);
    } else {
        compile_row_load(c, s);
        a->space = SPACE_LOCAL;
        a->at = slot->value.at;
        a->local_lanes = slot->value.lanes;
        if (slot->value.lanes == 0)
            compile_error(c, "%s is used before it is declared", s->name);
        dense(a, s->type.extent, s->type.rank);
    }
}

/* Describes a varying index that is affine, and so needs no value for each lane. false: it is
 * not affine. */
static bool affine_index(struct compiler *c, struct access_axis *axis, const struct index *index)
{
    if (c->plain || index->kind == IX_GATHER || !compile_expr_varying(c, index->value) ||
        !compile_expr_affine(c, index->value, axis->step))
        return false;
    for (int i = 0; i < 3; i++) {
        int64_t reach = axis->step[i] * ((int64_t)c->program->threads[i] - 1);
        *(reach < 0 ? &axis->low : &axis->high) += reach;
    }
    axis->affine = axis->varying = true;
    axis->at = compile_first_lane(c, index->value).at;
    return true;
}

/* Returns the grid axis of an index, as struct access_axis stores it. */
static int block_axis(const struct compiler *c, const struct expr *index)
{
    if (index->op == OP_BLOCK)
        return 1 + index->axis;
    const struct slot *slot = index->op == OP_REF ? compile_slot_of(c, index->sym) : NULL;
    return slot && !slot->assigned ? slot->block_axis : 0;
}

/* Describes an index; its value is compiled as i32, or as i64 if its type needs that. */
static void access_index(struct compiler *c, struct access_axis *axis, const struct index *index)
{
    axis->kind = index->kind;
    axis->inside = index->inside;
    axis->loc = index->value ? index->value->loc : LOC_NONE;
    axis->extent = index->kind == IX_ELEMENT ? 1 : index->extent;
    if (!index->value)
        return;
    if (affine_index(c, axis, index))
        return;
    struct value v = compile_expr(c, index->value, NULL);
    bool wide = dtype_size(v.dtype) == 8 || v.dtype == DT_U32;
    v = compile_value_convert(c, v, wide ? DT_I64 : DT_I32);
    if (index->kind == IX_GATHER)
        axis->extent = compile_value_elements(&v);
    axis->at = v.at;
    axis->wide = wide;
    axis->block_axis = block_axis(c, index->value);
    axis->varying = v.lanes > 1;
}

static bool mentions(const struct expr *e, const struct sym *s)
{
    for (int i = 0; i < e->indices; i++)
        if (e->index[i].value && expr_mentions(e->index[i].value, s))
            return true;
    return false;
}

/* Finds the variable that a condition keeps below the extent, if the access does not use it. */
static const struct sym *kept_below(const struct expr *condition, const struct sym *extent,
                                    const struct expr *access)
{
    if (condition->op == OP_LAND) {
        const struct sym *first = kept_below(condition->args[0], extent, access);
        return first ? first : kept_below(condition->args[1], extent, access);
    }
    if (condition->op != OP_LT || condition->args[0]->op != OP_REF ||
        condition->args[1]->op != OP_REF || condition->args[1]->sym != extent)
        return NULL;
    const struct sym *variable = condition->args[0]->sym;
    return mentions(access, variable) ? NULL : variable;
}

static const struct sym *below_extent(const struct compiler *c, const struct expr *e, int axis)
{
    const struct expr *extent = e->sym->dims[axis];
    const struct sym *found = NULL;
    if (!extent || extent->op != OP_REF || e->index[axis].kind != IX_ELEMENT)
        return NULL;
    for (const struct holds *h = c->holds; h && !found; h = h->outer)
        found = kept_below(h->condition, extent->sym, e);
    return found;
}

struct access *compile_access_new(struct compiler *c, const struct expr *e)
{
    struct access *a = arena_new(c->arena, struct access);
    access_memory(c, a, e->sym);
    a->lanes = 1;
    a->elements = type_elements(&e->type);
    a->size = dtype_size(e->sym->type.dtype);
    a->size_index = size_index(e->sym->type.dtype);
    a->peer = a->otherwise = a->strided = a->prefetch = a->row = NO_SLOT;
    if (access_peer(e))
        a->peer = compile_value_convert(c, compile_expr(c, access_peer(e), NULL), DT_I32).at;
    a->otherwise_lanes = 1;
    int rest = a->rank - e->indices; /* number of trailing axes without an index: they are
                                      * accessed whole */
    for (int i = 0; i < a->rank; i++) {
        if (i < e->indices) {
            access_index(c, &a->axis[i], &e->index[i]);
            a->axis[i].below = below_extent(c, e, i);
        } else {
            a->axis[i].kind = IX_ALL;
            a->axis[i].extent = e->type.extent[e->type.rank - rest + (i - e->indices)];
        }
        if (a->axis[i].varying)
            a->lanes = c->lanes;
    }
    return a;
}

/* Returns whether two strided accesses differ only in where they start. */
static bool strided_alike(const struct access *a, const struct access *b)
{
    bool alike = a->space == b->space && a->rank == b->rank && a->local_lanes == b->local_lanes &&
                 (a->space != SPACE_VIEW || a->view == b->view);
    for (int i = 0; i < a->rank && alike; i++)
        alike = a->stride[i] == b->stride[i] && a->axis[i].kind == b->axis[i].kind &&
                a->axis[i].extent == b->axis[i].extent &&
                memcmp(a->axis[i].step, b->axis[i].step, sizeof a->axis[i].step) == 0;
    return alike;
}

bool compile_note_strided(struct compiler *c, struct access *a, bool store)
{
    if (c->plain || (store && a->space == SPACE_LOCAL))
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->axis[i].kind == IX_GATHER || (a->axis[i].varying && !a->axis[i].affine))
            return false;
    for (a->strided = 0; a->strided < c->strided.count; a->strided++) {
        const struct strided *s = &c->strided.data[a->strided];
        if (s->store == store && strided_alike(s->access, a))
            return true;
    }
    struct strided made = {a, store};
    vec_push(c->arena, &c->strided, made);
    return true;
}

bool compile_loads_row(const struct compiler *c, const struct access *a)
{
    int last = a->rank - 1;
    bool row = !c->plain && a->space == SPACE_VIEW && last >= 0;
    for (int i = 0; i < last; i++)
        row &= a->axis[i].kind == IX_ELEMENT;
    return row && (a->axis[last].kind == IX_SLICE || a->axis[last].kind == IX_ALL);
}

void compile_note_row_access(struct compiler *c, struct access *a)
{
    const struct access *row = a;
    a->row = (uint32_t)c->rows.count;
    vec_push(c->arena, &c->rows, row);
}

uint32_t compile_row_prefetch_new(struct compiler *c)
{
    uint32_t *count = &c->program->row_prefetch_count;
    return *count < MOST_ROW_PREFETCHES ? (*count)++ : NO_SLOT;
}

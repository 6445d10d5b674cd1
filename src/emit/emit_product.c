/* Products of warpgroups: wgmma. Each warpgroup has some blocks of 64 rows of the sums; the product of one block is one group
 * of instructions, one for each 32 bytes of k. Units keep about 14 bits of sums of 8-bit floats, so these are promoted: each
 * group takes a part of k, and its sums are added to others of all bits. */
#include "emit/emit_fragment.h"
#include "target/targets.h"

enum { DESCRIPTOR_UNIT = 16 };

/* --- sums --- */

/* Returns the unit for the types of the product; NULL: there is none. */
static const struct target_warpgroup_unit *unit_of(const struct stmt *s)
{
    const struct expr *dot = s->value;
    return target_warpgroup_unit_of(expr_unconverted_factor(dot->args[0])->type.dtype,
                                    expr_unconverted_factor(dot->args[1])->type.dtype,
                                    dot->type.dtype);
}

/* Returns the elements of k after which the sums of the unit are added to sums of all bits; 0: never. */
static int promoted_after(const struct stmt *s)
{
    enum { F32_BITS = 24 };
    const struct target_warpgroup_unit *u = unit_of(s);
    if (!u || u->sum_bits >= F32_BITS || s->promoted == SUM_IN_UNIT)
        return 0;
    return s->promoted ? s->promoted : SUM_PROMOTED;
}

static void note_sums(void *user, struct stmt *s)
{
    struct emit *m = user;
    bool added;
    if (!s->in_background)
        return;
    int64_t rows = promoted_after(s) ? -1 : s->target->sym->type.extent[0];
    m->products_differ |= m->product_rows && m->product_rows != rows;
    m->product_rows = rows;
    if (!promoted_after(s))
        number_map_entry(m->arena, &m->sums, (uintptr_t)s->target->sym, &added);
}

void emit_find_sums(struct emit *m, struct stmt *body)
{
    stmt_walk(body, note_sums, m);
}

/* --- factors --- */

struct factor {
    struct shared_part part;
    bool across;              /* its k runs down the rows */
    struct scalar descriptor; /* of its first element, u64 */
    struct fragment tile;     /* in registers, if it has no part */
    bool in_registers;
};

/* Returns the descriptor of a factor that begins `row` (a u32) rows of its matrix after its part. If the factor is read across,
 * the row moves it by whole panels. */
static struct scalar descriptor(struct emit *m, const struct shared_part *p, bool across,
                                struct scalar row)
{
    int64_t matrix = (int64_t)p->rows * p->columns, size = (int64_t)dtype_size(p->sym->type.dtype);
    int64_t leading = across ? (int64_t)p->rows * PLAN_PANEL : DESCRIPTOR_UNIT;
    int64_t constant =
        (int64_t)p->row * p->panel + (int64_t)(p->column / p->panel) * p->rows * p->panel;
    struct scalar first = emit_by(m, THREAD_MUL, row, across ? p->rows : p->panel);
    first = emit_op2(m, THREAD_ADD, DT_U32, first, emit_by(m, THREAD_MUL, p->further, p->panel));
    bool known = p->stage.o.kind != THREAD_VALUE;
    if (known)
        constant += matrix * p->stage.o.integer;
    struct thread_operand o[] = {thread_element(p->object, first.o, constant),
                                 thread_integer(leading),
                                 thread_integer(PLAN_SWIZZLED_ROWS * PLAN_PANEL)};
    struct scalar d = {
        thread_use(thread_add_counted(&m->b, THREAD_DESCRIPTOR, DT_NONE, DT_NONE, 0, o, 3)),
        DT_U64};
    if (known)
        return d;
    struct scalar stage = emit_as(m, p->stage, DT_U64);
    return emit_op2(m, THREAD_ADD, DT_U64, d,
                    emit_op2(m, THREAD_MUL, DT_U64, stage,
                             emit_constant(DT_U64, matrix * size / DESCRIPTOR_UNIT)));
}

/* Returns the number that step `step` of k adds to a descriptor. */
static int64_t step_of(const struct shared_part *p, bool across, int step)
{
    int64_t size = (int64_t)dtype_size(p->sym->type.dtype);
    int64_t element = (int64_t)step * TARGET_WARPGROUP_K_BYTES / size;
    if (across)
        return element * PLAN_PANEL / DESCRIPTOR_UNIT;
    return element / p->panel * p->rows * PLAN_PANEL / DESCRIPTOR_UNIT +
           element % p->panel * size / DESCRIPTOR_UNIT;
}

static bool find_shared(struct emit *m, const struct expr *e, struct factor *f)
{
    if (!emit_shared_part(m, e, &f->part))
        return false;
    if (f->part.swizzled)
        return true;
    emit_error(m, e->loc, "`%s` has rows of %lld bytes, which no product of warpgroups reads",
               e->sym->name,
               (long long)(f->part.columns * (int64_t)dtype_size(e->sym->type.dtype)));
    diag_note(m->diag, e->sym->loc,
              "its rows are a multiple of %d bytes, and their number one of %d", PLAN_PANEL,
              PLAN_SWIZZLED_ROWS);
    return false;
}

static bool find_left(struct emit *m, const struct expr *e, const struct target_warpgroup_unit *u,
                      struct factor *f)
{
    if (e->op == OP_REF && u->left == TARGET_LEFT_OWN) {
        emit_error(m, e->loc, "the unit for %s · %s does not take this register tile",
                   dtype_table[u->a].name, dtype_table[u->b].name);
        diag_note(m->diag, e->loc,
                  "only 16-bit elements lie in registers as the unit wants them: copy `%s` to a "
                  "shared tile",
                  e->sym->name);
        return false;
    }
    if (e->op == OP_REF) {
        f->tile = emit_fragment_grouped(m, e, plan_blocked(m->layouts, &e->type, 0));
        f->in_registers = true;
        return !m->failed;
    }
    f->across = e->op == OP_TRANS;
    if (f->across && u->right == TARGET_RIGHT_K) {
        const struct expr *stored = e->args[0];
        emit_error(m, e->loc, "the unit for %s · %s reads the left factor along k only",
                   dtype_table[u->a].name, dtype_table[u->b].name);
        diag_note(m->diag, stored->sym->loc, "store `%s` as [m][k]", stored->sym->name);
        return false;
    }
    return find_shared(m, f->across ? e->args[0] : e, f);
}

static bool find_right(struct emit *m, const struct expr *e, const struct target_warpgroup_unit *u,
                       struct factor *f)
{
    f->across = e->op != OP_TRANS;
    if (f->across && u->right == TARGET_RIGHT_K) {
        emit_error(m, e->loc, "the unit for %s · %s reads the right factor along k only",
                   dtype_table[u->a].name, dtype_table[u->b].name);
        diag_note(m->diag, e->sym->loc, "store `%s` as [n][k], and multiply by `trans(%s%s)`",
                  e->sym->name, e->sym->name, e->sym->type.rank > 2 ? "[…]" : "");
        return false;
    }
    return find_shared(m, f->across ? e : e->args[0], f);
}

/* Returns the unit of the product; NULL: there is none, which is reported. */
static const struct target_warpgroup_unit *find_unit(struct emit *m, const struct stmt *s)
{
    const struct expr *dot = s->value;
    const struct type *a = &expr_unconverted_factor(dot->args[0])->type;
    const struct type *b = &expr_unconverted_factor(dot->args[1])->type;
    const struct target_warpgroup_unit *u = unit_of(s);
    if (u && target_warpgroup_has_n(u, dot->type.extent[1]) && a->extent[1] % u->k == 0)
        return u;
    emit_error(m, s->loc, "no unit of warpgroups has this product: %s · %s", type_text(m->arena, a),
               type_text(m->arena, b));
    if (u)
        diag_note(m->diag, s->loc,
                  "n is a multiple of %d up to %d%s, here %lld; k is a multiple of %d, here %lld",
                  u->step, TARGET_WARPGROUP_N, u->step > 8 ? ", or 8 or 24" : "",
                  (long long)dot->type.extent[1], u->k, (long long)a->extent[1]);
    else
        diag_note(m->diag, s->loc,
                  "there are products of two f16, two bf16, two tf32 or two 8-bit floats with sums "
                  "of f32, and of two 8-bit integers with sums of i32");
    return NULL;
}

/* --- products --- */

struct product {
    const struct stmt *s;
    const struct target_warpgroup_unit *unit;
    struct factor left, right;
    int steps;
};

/* Steps of k. */
struct steps {
    int first, end;
};

/* Emits the product of one block over some steps. adds: whether the sums before it count, a bool. Returns the sums in
 * flight. */
static struct thread_value *block_product(struct emit *m, const struct product *p, int block,
                                          struct steps over, struct thread_operand sums,
                                          struct thread_operand adds)
{
    const enum dtype types[THREAD_TYPES] = {p->unit->sum, p->unit->a, p->unit->b};
    enum { LEFT = 8 }; /* elements of a step in a thread */
    struct thread_value *v = NULL;
    struct scalar row = emit_constant(DT_U32, 0), left = row;
    const int blocks = plan_role_blocks(m->layouts, &p->s->target->type);
    if (!p->left.in_registers) {
        row = emit_by(m, THREAD_MUL, m->place.group, (int64_t)blocks * EMIT_ROWS);
        row = emit_by(m, THREAD_ADD, row, (int64_t)block * EMIT_ROWS);
        left = descriptor(m, &p->left.part, p->left.across, row);
    }
    struct scalar right = p->right.descriptor;
    struct thread_operand *parts = arena_array(m->arena, struct thread_operand, p->steps);
    for (int i = over.first; p->left.in_registers && i < over.end; i++)
        parts[i] = emit_fragment_part(m, &p->left.tile,
                                      block * (p->left.tile.count / blocks) + LEFT * i, LEFT);
    for (int i = over.first; i < over.end; i++) {
        struct scalar b =
            emit_op2(m, THREAD_ADD, DT_U64, right,
                     emit_constant(DT_U64, step_of(&p->right.part, p->right.across, i)));
        struct thread_operand o[] = {
            sums, {0}, b.o, adds, thread_integer(p->right.across + 2 * p->left.across)};
        if (p->left.in_registers)
            o[1] = parts[i];
        else
            o[1] = emit_op2(m, THREAD_ADD, DT_U64, left,
                            emit_constant(DT_U64, step_of(&p->left.part, p->left.across, i)))
                       .o;
        v = thread_add_typed(&m->b, p->left.in_registers ? THREAD_PRODUCT_FROM : THREAD_PRODUCT,
                             types, 0, o, 5);
        sums = thread_use(v);
        adds = thread_integer(1);
    }
    return THREAD_ADD_OP(&m->b, THREAD_PRODUCT_COMMIT, p->unit->sum, DT_NONE, sums);
}

/* Adds a product to the sums, all of it by the unit. */
static void add_in_unit(struct emit *m, const struct product *p, struct variable *v)
{
    const struct steps all = {0, p->steps};
    int blocks = v->count - 1;
    for (int b = 0; b < blocks && !m->failed; b++) {
        struct thread_value *out = block_product(m, p, b, all, v->slots[b].o, v->slots[blocks].o);
        v->slots[b] = (struct slot){thread_use(out), out->type};
    }
    v->slots[blocks].o = thread_integer(1);
    m->product_groups = blocks;
    v->flight = v->since = ++m->begun;
    v->factors |= p->left.in_registers;
}

/* Adds the unit's sums over some steps to the tile, which keeps all bits. Begins the products of all blocks, then adds each one
 * as soon as it is complete. */
static void add_promoted(struct emit *m, const struct product *p, struct steps over,
                         struct thread_operand *sums, int blocks)
{
    struct thread_value **part = arena_array(m->arena, struct thread_value *, blocks);
    const enum dtype t = p->unit->sum;
    uint16_t count = (uint16_t)(p->s->target->type.extent[1] / 2);
    for (int b = 0; b < blocks; b++) {
        struct thread_operand none =
            thread_use(thread_add_counted(&m->b, THREAD_UNDEFINED, t, DT_NONE, count, NULL, 0));
        part[b] = block_product(m, p, b, over, none, thread_integer(0));
    }
    for (int b = 0; b < blocks; b++) {
        struct thread_operand done =
            thread_use(THREAD_ADD_OP(&m->b, THREAD_PRODUCT_WAIT, t, DT_NONE, thread_use(part[b]),
                                     thread_integer(blocks - 1 - b)));
        sums[b] = thread_use(THREAD_ADD_OP(&m->b, THREAD_ADD, t, DT_NONE, sums[b], done));
    }
}

/* Adds a product part by part, each part promoted. The last wait of a part leaves no product under way, so dot_wait does not
 * wait for these. */
static void add_in_parts(struct emit *m, const struct product *p, struct variable *v)
{
    int each = promoted_after(p->s) / p->unit->k, blocks = v->count - v->sums;
    const struct fragment before =
        emit_fragment_grouped(m, p->s->target, plan_symbol(m->layouts, v->sym));
    struct thread_operand *sums = arena_array(m->arena, struct thread_operand, blocks);
    for (int b = 0; b < blocks && !m->failed; b++)
        sums[b] = emit_fragment_is_uniform(&before) ? before.v[0].o : before.groups[b];
    for (int i = 0; i < p->steps && !m->failed; i += each) {
        struct steps over = {i, i + each < p->steps ? i + each : p->steps};
        add_promoted(m, p, over, sums, blocks);
    }
    for (int b = 0; b < blocks && !m->failed; b++)
        v->slots[b].o = sums[b];
    if (v->sums)
        v->slots[blocks].o = thread_integer(1);
    m->begun++;
}

static void note_factors(struct emit *m, const struct product *p, const struct expr *left,
                         const struct expr *right, int blocks)
{
    int n = (int)p->s->value->type.extent[1];
    int64_t products = (int64_t)blocks * p->steps;
    if (!p->left.in_registers)
        emit_note_factor(m, p->left.across ? left->args[0] : left, &p->left.part, EMIT_ROWS,
                         products, n);
    emit_note_factor(m, right, &p->right.part, n, products, n);
}

/* Checks that all warpgroups have the same number of blocks of 64 rows of the sums. */
static bool sums_fit(struct emit *m, const struct stmt *s)
{
    const struct type *t = &s->target->type;
    int groups = m->place.warps / EMIT_WARPGROUP;
    if (m->place.warps % EMIT_WARPGROUP != 0 || m->place.first % EMIT_WARPGROUP != 0) {
        emit_error(m, s->loc, "`dot_async` in a role of %d warps", m->place.warps);
        diag_note(m->diag, s->loc,
                  "products are for whole warpgroups: 4, 8 or 12 warps, the first a multiple of 4");
        return false;
    }
    if (t->extent[0] % (EMIT_ROWS * groups) == 0)
        return true;
    emit_error(m, s->loc, "`dot_async` adds to %s in a role of %d warpgroup%s",
               type_text(m->arena, t), groups, groups == 1 ? "" : "s");
    diag_note(m->diag, s->loc, "its rows are a multiple of %d, %d for each warpgroup",
              EMIT_ROWS * groups, EMIT_ROWS);
    return false;
}

void emit_product(struct emit *m, const struct stmt *s)
{
    const struct expr *a = expr_unconverted_factor(s->value->args[0]);
    const struct expr *b = expr_unconverted_factor(s->value->args[1]);
    struct variable *v = emit_variable(m, s->target->sym);
    struct product p = {.s = s, .unit = v && sums_fit(m, s) ? find_unit(m, s) : NULL};
    if (!p.unit || !find_left(m, a, p.unit, &p.left) || !find_right(m, b, p.unit, &p.right))
        return;
    p.steps = (int)a->type.extent[1] / p.unit->k;
    p.right.descriptor = descriptor(m, &p.right.part, p.right.across, emit_constant(DT_U32, 0));
    note_factors(m, &p, a, p.right.across ? b : b->args[0],
                 plan_role_blocks(m->layouts, &s->target->type));
    if (promoted_after(s))
        add_in_parts(m, &p, v);
    else
        add_in_unit(m, &p, v);
}

/* Emits dot_wait. Sums to which a later product adds stay in flight; the factors of their earlier products are free after the
 * wait. After loops and branches, it is not known which products are the latest. So the wait is for all products, unless all
 * have the same number of groups. It leaves at most the groups that every run has begun since the sums got their registers. */
void emit_product_wait(struct emit *m, int64_t most)
{
    enum { MOST_OPEN = 7 };
    bool waits = false, in_flight = false;
    int latest = m->begun - (int)most, each = m->products_differ ? 0 : m->product_groups;
    int groups = (int)most * each < MOST_OPEN ? (int)most * each : MOST_OPEN;
    for (size_t i = 0; i < m->live.count; i++) {
        struct variable *v = m->live.data[i];
        in_flight |= v->flight > latest;
        if (v->flight == 0 || v->flight > latest)
            continue;
        waits = true;
        int later = (m->begun - v->since) * each;
        for (int j = 0; j < v->count - 1; j++) {
            struct thread_value *sums =
                THREAD_ADD_OP(&m->b, THREAD_PRODUCT_WAIT, v->slots[j].type.dtype, DT_NONE,
                              v->slots[j].o, thread_integer(later < groups ? later : groups));
            sums->type.count = v->slots[j].type.count;
            v->slots[j] = (struct slot){thread_use(sums), sums->type};
        }
        v->flight = 0;
        v->factors = false;
    }
    if (in_flight && !waits)
        THREAD_ADD_OP(&m->b, THREAD_PRODUCT_WAIT_READ, DT_NONE, DT_NONE, thread_integer(groups));
}

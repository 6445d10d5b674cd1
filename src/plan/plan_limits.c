/* Compares a kernel's needs with the target: element types, blocks, shared memory, registers and local memory
 * of a thread, code. An error says what needs too much. The language refuses too many threads of a block. */
#include "plan/plan_limits.h"

#include "base/grid.h"

#include <string.h>

/* --- types, blocks --- */

static void refuse_byte_floats(void *user, struct expr **at)
{
    struct layouts *l = user;
    enum dtype t = (*at)->type.dtype;
    if (l->failed || !dtype_is_float(t) || dtype_size(t) > 1)
        return;
    plan_error(l, (*at)->loc, "%s has no `%s`: sm_%d is the first that has", l->target->name,
               dtype_table[t].name, target_first_with(TARGET_BYTE_FLOATS));
    if (l->diag->current)
        l->diag->current->needs_sm = target_first_with(TARGET_BYTE_FLOATS);
    diag_note(l->diag, (*at)->loc, "f16 has all of its values, in twice the space");
}

static void refuse_statement(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        stmt_own_expressions(s, refuse_byte_floats, user);
}

/* Checks the extents that are known now; a launch checks all. */
static void check_grid(struct layouts *l)
{
    for (int axis = 0; axis < 3; axis++) {
        const struct expr *e = l->kernel->grid[axis];
        struct scalar_env nothing = {0};
        int64_t blocks, most = grid_limits[axis];
        if (!e || !eval_int(e, &nothing, &blocks) || blocks <= most)
            continue;
        plan_error(l, e->loc, "a grid of %lld blocks along %c: GPUs have %lld at most",
                   (long long)blocks, "xyz"[axis], (long long)most);
        if (axis > 0)
            diag_note(l->diag, e->loc, "along x there may be %lld: let the longest axis be that",
                      (long long)grid_limits[0]);
    }
}

bool plan_limits_of_parameters(struct layouts *l)
{
    uint64_t bytes = ptx_signature_bytes(&l->out->function->signature);
    if (bytes <= PTX_PARAMETERS_MOST)
        return true;
    plan_error(l, l->kernel->loc,
               "the parameters of `%s` take %llu bytes, and GPUs have %d for those of a kernel",
               l->kernel->name, (unsigned long long)bytes, PTX_PARAMETERS_MOST);
    diag_note(l->diag, l->kernel->loc,
              "pass values in an array, or make those that seldom change `static`");
    return false;
}

/* --- shared memory --- */

static void note_bytes(struct layouts *l, const struct sym *s)
{
    diag_note(l->diag, s->loc, "`%s` is %s: %lld bytes", s->name, type_text(l->arena, &s->type),
              (long long)type_bytes(&s->type));
}

static void note_buffers(struct layouts *l)
{
    for (const struct sym *s = l->kernel->symbols; s; s = s->next)
        if (s->storage == ST_SHARED)
            note_bytes(l, s);
}

static void note_way_out(struct layouts *l)
{
    diag_note(l->diag, LOC_NONE,
              "smaller tiles and narrower types take less; after `free`, other tiles may use a "
              "tile's place");
}

bool plan_limits_of_shared(struct layouts *l)
{
    const struct kernel *k = l->kernel;
    int64_t all = l->out->shared_bytes, own = all - k->shared_bytes;
    if (all <= l->target->shared_bytes)
        return true;
    l->out->excess = LOWERED_MANY_BYTES;
    plan_error(l, k->loc, "`%s` takes %lld bytes of shared memory a block, %s has %d", k->name,
               (long long)all, l->target->name, l->target->shared_bytes);
    note_buffers(l);
    if (own > 0)
        diag_note(l->diag, k->loc, "and %lld bytes for the compiler's own exchanges",
                  (long long)own);
    note_way_out(l);
    return false;
}

void plan_limits_no_room(struct layouts *l, int64_t bytes)
{
    const struct kernel *k = l->kernel;
    if (l->failed)
        return;
    l->out->excess = LOWERED_MANY_BYTES;
    plan_error(l, k->loc,
               "`%s` leaves %lld of the %d bytes of shared memory that a block has on %s: too "
               "few for a register tile of %lld bytes whose elements move between threads",
               k->name, (long long)(l->target->shared_bytes - k->shared_bytes),
               l->target->shared_bytes, l->target->name, (long long)bytes);
    note_buffers(l);
    note_way_out(l);
}

/* target(sm_90): GPUs from sm_90 on; target(sm_90a): that one alone. */
static void check_target(struct layouts *l)
{
    const char *wanted = l->kernel->target;
    const struct ptx_target own = l->target->ptx;
    struct ptx_target t;
    if (!wanted || !ptx_target_parse(wanted, strlen(wanted), &t))
        return; /* cpu, sim, cuda */
    if (t.suffix ? t.number == own.number && t.suffix == own.suffix : own.number >= t.number)
        return;
    plan_error(l, l->kernel->loc, "`%s` is for %s%s; this is %s", l->kernel->name, wanted,
               t.suffix ? "" : " and later", l->target->name);
    diag_note(l->diag, l->kernel->loc, "its `target(%s)` names that GPU", wanted);
}

bool plan_limits_of_kernel(struct layouts *l)
{
    const struct kernel *k = l->kernel;
    check_target(l);
    check_grid(l);
    if (!target_has(l->target, TARGET_BYTE_FLOATS))
        stmt_walk(k->body, refuse_statement, l);
    return !l->failed && plan_limits_of_shared(l);
}

void plan_limits_ragged(struct layouts *l, struct loc loc, const char *what)
{
    plan_error(l, loc, "%s needs a number of threads that is a multiple of %d: this block has %d",
               what, WARP_LANES, l->threads);
    diag_note(l->diag, loc,
              "write it element by element, each thread its own, as in `Out[i] = …`; or take %d "
              "threads, with a condition that keeps those past the first %d from work of their own",
              l->warps * WARP_LANES, l->threads);
}

/* --- local memory --- */

void plan_limits_of_local(struct layouts *l, const struct sym *const *arrays, size_t count)
{
    int64_t all = 0;
    for (size_t i = 0; i < count; i++)
        all += type_bytes(&arrays[i]->type);
    if (all <= GPU_LOCAL_BYTES || l->failed)
        return;
    l->out->excess = LOWERED_MUCH_LOCAL;
    plan_error(l, arrays[count - 1]->loc,
               "the arrays of `%s` take %lld bytes of memory a thread, and a thread has %d",
               l->kernel->name, (long long)all, GPU_LOCAL_BYTES);
    for (size_t i = 0; i < count; i++)
        note_bytes(l, arrays[i]);
    diag_note(l->diag, LOC_NONE,
              "a `global` view without a pointer is memory for all threads: give it an axis for "
              "them");
}

/* --- code ---
 *
 * Operations on a tile are written out for each element of a thread. A kernel that takes minutes to assemble has a
 * mistake, or should have a loop.
 */

enum { MOST_WORDS = 4096, MOST_PRODUCTS = 16384, WORD_BYTES = 4 };

struct code {
    struct layouts *l;
    bool own;                /* the statement's tiles: each thread has all of their elements */
    const struct sym *array; /* at tile level: the small array that it sets, or NULL */
};

/* Notes that `reg` may be missing, which is more likely than an array of a thread. Returns whether it did. */
static bool note_no_reg(const struct code *x)
{
    if (x->array)
        diag_note(x->l->diag, x->array->loc,
                  "`%s` is an array, which every thread has for itself: `reg` before it makes it a "
                  "tile, spread over the block's threads",
                  x->array->name);
    return x->array;
}

static void refuse_elements(const struct code *x, const struct type *t, struct loc loc,
                            int64_t each, int64_t most)
{
    struct layouts *l = x->l;
    bool all = each == type_elements(t);
    l->out->excess = LOWERED_MUCH_CODE;
    plan_error(l, loc,
               "%s is %lld elements for each of %d threads, with code for each element: %lld are "
               "the most",
               type_text(l->arena, t), (long long)each, l->threads, (long long)most);
    if (note_no_reg(x))
        return;
    diag_note(l->diag, loc,
              all ? "take the elements one at a time, in a loop"
                  : "take the tile in slices, in a loop; with more threads each has fewer");
}

static void check_elements(const struct code *x, const struct type *t, struct loc loc, bool own)
{
    struct layouts *l = x->l;
    int64_t bytes = t->dtype == DT_BOOL ? WORD_BYTES : (int64_t)dtype_size(t->dtype);
    int64_t each = type_elements(t), most = MOST_WORDS * WORD_BYTES / bytes;
    if (t->rank == 0 || l->failed || (!own && plan_ragged_block(l)))
        return;
    if (!own)
        each = (each + l->threads - 1) / l->threads;
    if (each > most)
        refuse_elements(x, t, loc, each, most);
}

static void refuse_products(const struct code *x, const struct expr *e, int64_t count,
                            const char *what)
{
    struct layouts *l = x->l;
    const struct expr *a = e->args[0], *b = e->args[1];
    l->out->excess = LOWERED_MUCH_CODE;
    plan_error(l, e->loc,
               "`dot` of %s and %s is %lld %s for each of %d threads, all written out: %d are the "
               "most",
               type_text(l->arena, &a->type), type_text(l->arena, &b->type), (long long)count, what,
               l->threads, MOST_PRODUCTS);
    if (note_no_reg(x))
        return;
    diag_note(l->diag, e->loc, "take k = %lld in slices, in a loop that adds up their products%s",
              (long long)a->type.extent[a->type.rank - 1],
              x->own ? "" : "; with more threads each has fewer");
}

/* The sum is held from the first product to the last. */
static void check_sum(struct layouts *l, const struct expr *e, int64_t sums)
{
    int64_t words = tile_registers(e->type.dtype, sums);
    if (words <= l->target->register_limit)
        return;
    l->out->excess = LOWERED_MANY_REGISTERS;
    plan_error(l, e->loc,
               "the sum of this `dot` takes %lld registers of each of %d threads, and a thread "
               "has %d",
               (long long)words, l->threads, l->target->register_limit);
    diag_note(l->diag, e->loc, "take smaller tiles, or more warps: each then holds less of it");
}

static void check_product(const struct code *x, const struct expr *e)
{
    struct layouts *l = x->l;
    const struct dot_plan *p = plan_dot(l, e);
    if (!p || l->failed)
        return;
    int64_t sums = layout_in_extent(p->c, AXIS_REG);
    check_sum(l, e, sums);
    const struct mma_shape *s = &p->mma.shape;
    bool mma = p->kind == DOT_MMA;
    int64_t count = mma ? sums * WARP_LANES / (s->m * s->n) * (p->k / s->k)
                        : sums * (p->chunk ? p->chunk : p->k);
    if (count > MOST_PRODUCTS)
        refuse_products(x, e, count, mma ? "matrix instructions" : "multiply-adds");
}

static void check_node(void *user, struct expr **at)
{
    struct code *x = user;
    const struct expr *e = *at;
    struct layouts *l = x->l;
    if (e->type.rank == 0) {
        if (op_is_reduction(e->op) && plan_of_thread(l, e->args[0]))
            check_elements(x, &e->args[0]->type, e->args[0]->loc, true);
        return;
    }
    check_elements(x, &e->type, e->loc, x->own);
    if (e->op != OP_DOT || l->failed)
        return;
    int64_t own = type_elements(&e->type) * e->args[0]->type.extent[e->args[0]->type.rank - 1];
    if (!x->own)
        check_product(x, e);
    else if (own > MOST_PRODUCTS)
        refuse_products(x, e, own, "multiply-adds");
}

static void check_statement(void *user, struct stmt *s)
{
    struct code x = {.l = user};
    bool array = s->sym && s->sym->storage == ST_ARRAY;
    if (s->kind == STMT_ENSURES || x.l->failed)
        return;
    x.own = array || (s->target && expr_is_own(x.l->kernel, s->target)) ||
            (s->value && kernel_thread_level(x.l->kernel) && expr_is_own(x.l->kernel, s->value));
    const struct sym *set = s->sym ? s->sym : s->target ? s->target->sym : NULL;
    if (set && set->storage == ST_ARRAY && !kernel_thread_level(x.l->kernel))
        x.array = set;
    if (array && s->value)
        check_elements(&x, &s->sym->type, s->loc, true);
    stmt_own_expressions(s, check_node, &x);
}

bool plan_limits_of_code(struct layouts *l)
{
    stmt_walk(l->kernel->body, check_statement, l);
    return !l->failed;
}

/* --- registers ---
 *
 * A tile is live from its declaration to its last use, or to the end of the outermost loop that
 * uses it and does not declare it. The tiles that are live together are the least that a thread
 * must hold; fragments, addresses and the like come on top, and if those do not fit the assembler
 * spills them.
 */

struct life {
    const struct sym *sym;
    int first, last; /* on the clock of statements */
    int words;       /* registers of a thread */
};

struct lives {
    struct layouts *l;
    VEC(struct life) list;
    struct pointer_map of; /* symbol -> its index + 1 */
    VEC(size_t) uses;      /* indices, in the order of the uses */
    int now;
};

static int words_of(struct layouts *l, const struct sym *s)
{
    return (int)tile_registers(s->type.dtype, layout_in_extent(plan_symbol(l, s), AXIS_REG));
}

static void touch(struct lives *x, const struct sym *s)
{
    if (!s || s->storage != ST_REG)
        return;
    size_t index = (size_t)(uintptr_t)pointer_map_get(&x->of, s);
    if (index) {
        x->list.data[index - 1].last = x->now;
        vec_push(x->l->arena, &x->uses, index - 1);
        return;
    }
    struct life born = {.sym = s, .first = x->now, .last = x->now, .words = words_of(x->l, s)};
    vec_push(x->l->arena, &x->list, born);
    pointer_map_put(x->l->arena, &x->of, s, (void *)(uintptr_t)x->list.count);
}

static void touch_expr(void *user, struct expr **at)
{
    touch(user, (*at)->sym);
}

static void walk(struct lives *x, struct stmt *first);

static void walk_loop(struct lives *x, struct stmt *s)
{
    int start = x->now;
    size_t condition = x->uses.count;
    while (condition > 0 && x->list.data[x->uses.data[condition - 1]].last == start)
        condition--;
    walk(x, s->body);
    x->now++;
    for (size_t i = condition; i < x->uses.count; i++) {
        struct life *life = &x->list.data[x->uses.data[i]];
        if (life->first < start && life->last >= start)
            life->last = x->now;
    }
}

static void walk(struct lives *x, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        if (s->kind == STMT_ENSURES)
            continue;
        x->now++;
        stmt_own_expressions(s, touch_expr, x);
        if (s->kind == STMT_DECL)
            touch(x, s->sym);
        if (s->kind == STMT_FOR || s->kind == STMT_WHILE) {
            walk_loop(x, s);
        } else {
            walk(x, s->body);
            walk(x, s->otherwise);
        }
    }
}

/* A tile that is read for the last time where another is made may leave it its registers. */
static bool holds(const struct life *life, int at)
{
    return life->first == at || (life->first < at && at < life->last);
}

/* Words held at each time of the clock. */
static const int *words_held(struct lives *x)
{
    int *words = arena_array(x->l->arena, int, x->now + 3);
    for (size_t i = 0; i < x->list.count; i++) {
        const struct life *life = &x->list.data[i];
        words[life->first] += life->words;
        words[life->last > life->first ? life->last : life->first + 1] -= life->words;
    }
    for (int at = 1; at <= x->now; at++)
        words[at] += words[at - 1];
    return words;
}

static void note_tiles(const struct lives *x, int at)
{
    struct layouts *l = x->l;
    for (size_t i = 0; i < x->list.count; i++) {
        const struct life *life = &x->list.data[i];
        if (holds(life, at) && life->words > 0)
            diag_note(l->diag, life->sym->loc, "`%s` is %s: %d registers of each of %d threads",
                      life->sym->name, type_text(l->arena, &life->sym->type), life->words,
                      l->threads);
    }
}

bool plan_limits_of_registers(struct layouts *l)
{
    struct lives x = {.l = l};
    int worst = 0, most = 0;
    walk(&x, l->kernel->body);
    const int *words = words_held(&x);
    for (size_t i = 0; i < x.list.count; i++) {
        int held = words[x.list.data[i].first];
        worst = held > most ? x.list.data[i].first : worst;
        most = held > most ? held : most;
    }
    if (most <= l->target->register_limit)
        return true;
    l->out->excess = LOWERED_MANY_REGISTERS;
    plan_error(l, l->kernel->loc,
               "the register tiles of `%s` take %d registers a thread, and a thread has %d",
               l->kernel->name, most, l->target->register_limit);
    note_tiles(&x, worst);
    diag_note(l->diag, l->kernel->loc,
              "more warps, or smaller tiles, leave each thread less to hold");
    return false;
}

/* Returns how many blocks share a multiprocessor if each thread has this number of registers. */
static int64_t blocks_with(const struct layouts *l, int64_t registers)
{
    enum { MOST_BLOCKS = 4, GRAIN = GPU_REGISTER_UNIT };
    const int64_t taken = (registers + GRAIN - 1) / GRAIN * GRAIN;
    const int64_t by_shared = l->target->shared_of_sm / (l->out->shared_bytes + GPU_SYSTEM_SHARED);
    const int64_t by_threads = l->target->threads_of_sm / l->threads;
    int64_t blocks = l->target->registers / (taken * l->threads);
    blocks = by_shared < blocks ? by_shared : blocks;
    blocks = by_threads < blocks ? by_threads : blocks;
    return blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
}

/* ptxas (13.0) wants more blocks on a multiprocessor than is good for some kernels. For sm_100 and up it spills a little for one
 * more, and for all targets if a thread needs more than 128 registers and one more block would leave it less than nine tenths of
 * them. A product by multiply-adds then has too few registers to read the factors ahead (12 warps with 168 registers are faster
 * than 16 with 128: docs/performance.md). Such a kernel, if it has registers to spare, says how many blocks are meant. So does one
 * of which a multiprocessor holds one block: ptxas then uses the registers that are left to read factors ahead; it says two if they
 * fit with a tenth fewer registers. Elsewhere, and for larger kernels, ptxas's own choice is the better one. A program that says
 * resident(n) is not second-guessed. */
void plan_ask_for_registers(struct layouts *l)
{
    enum { SMALL = 128, LARGE = 180, MOST_REGISTERS = 255 };
    const int64_t registers = l->out->registers, fewer = registers * 9 / 10;
    int64_t blocks = l->kernel->resident;
    const bool chooses = blocks < 0 && !kernel_thread_level(l->kernel);
    if (chooses && registers >= MOST_REGISTERS) {
        blocks = 1; /* else ptxas 13.0 may give up, use 32 registers, and spill the rest */
    } else if (chooses && registers > SMALL && blocks_with(l, registers) == 1) {
        blocks = blocks_with(l, fewer);
    } else if (chooses && registers > 0 && registers <= LARGE &&
               (target_has(l->target, TARGET_ASKS_FOR_REGISTERS) || plan_multiplies_elements(l) ||
                (registers > SMALL && blocks_with(l, registers) == blocks_with(l, fewer)))) {
        blocks = blocks_with(l, registers);
    }
    struct ptx_limit limit = {
        .directive = PTX_MINNCTAPERSM, .count = 1, .values = {(uint32_t)blocks}};
    if (blocks > 0)
        vec_push(l->arena, &l->out->function->limits, limit);
}

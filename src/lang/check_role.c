/* Hopper's constructs: mbarriers, roles, one_thread, products and stores in the background.
 * docs/language.md, "Roles". */
#include "lang/check_internal.h"

#include <string.h>

enum { WARPGROUP = 4, MOST_BARRIERS = 64 };

/* --- mbarriers --- */

static bool outermost(const struct checker *c)
{
    return c->level == 1 && !c->frames;
}

void check_mbarrier(struct checker *c, const struct node *n)
{
    enum { MOST_ARRIVALS = (1 << 20) - 1 }; /* PTX ISA, "Contents of the mbarrier object" */
    struct type type = type_scalar(DT_U64);
    int64_t arrivals;
    bool good =
        n->a && check_constant_in(c, n->a, "the number of arrivals", 1, MOST_ARRIVALS, &arrivals);
    if (good && n->dims)
        good = check_extents(c, n->dims, n->text, &type);
    if (good && type_elements(&type) > MOST_BARRIERS) {
        diag_error(c->diag, n->loc, "`%s` has %lld mbarriers; there may be up to %d", n->text,
                   (long long)type_elements(&type), MOST_BARRIERS);
        good = false;
    }
    if (good && !outermost(c)) {
        diag_error(c->diag, n->loc, "the mbarrier `%s` within a statement", n->text);
        diag_note(c->diag, n->loc,
                  "all warps use it: declare it in the kernel's body, before the roles");
        good = false;
    }
    struct sym *s = good ? check_declare_sym(c, n->text, ST_MBARRIER, type, n->loc) : NULL;
    if (!s) {
        check_poison_name(c, n->text, n->loc);
        return;
    }
    s->arrivals = (int)arrivals;
    s->ready = n->is_ready;
    check_placement(c, n, s);
    check_emit(c, STMT_DECL, n->loc)->sym = s;
}

bool check_names_mbarrier(struct checker *c, const struct node *n)
{
    const struct node *name = n && n->kind == N_ACCESS ? n->a : n;
    const struct binding *b =
        name && name->kind == N_NAME ? check_lookup_name(c, name->text) : NULL;
    return b && b->kind == BIND_SYM && b->sym->storage == ST_MBARRIER;
}

struct expr *check_mbarrier_place(struct checker *c, const struct node *n)
{
    if (n->kind != N_NAME && n->kind != N_ACCESS) {
        diag_error(c->diag, n->loc, "`%s` is not an mbarrier", check_source_snippet(c, n->loc));
        diag_note(c->diag, n->loc, "declare one: `mbarrier full[3](1);`, and write `full[s]`");
        return NULL;
    }
    if (!check_place_binding(c, n))
        return NULL;
    if (!check_names_mbarrier(c, n)) {
        diag_error(c->diag, n->loc, "`%s` is not an mbarrier", check_place_text(n));
        diag_note(c->diag, n->loc, "declare one: `mbarrier full[3](1);`, and write `full[s]`");
        return NULL;
    }
    c->wants_mbarrier = true;
    struct expr *e = check_operand(c, n);
    c->wants_mbarrier = false;
    if (e && e->type.rank > 0) {
        diag_error(c->diag, n->loc, "`%s` is several mbarriers", check_source_snippet(c, n->loc));
        diag_note(c->diag, n->loc, "choose one with an index: `%s[i]`", e->sym->name);
        return NULL;
    }
    return e;
}

/* --- calls --- */

static struct expr *effect(struct checker *c, const struct node *n, enum op op, int count)
{
    struct stmt *s = check_emit(c, STMT_EFFECT, n->loc);
    s->value = expr_new(c->kernel, op, type_scalar(DT_I32), n->loc, count);
    return s->value;
}

static void check_wait(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 1, 2, NULL, "wait(full[s])` or `wait(full[s], phase)"))
        return;
    bool by_hand = check_call_argument(n, 1) != NULL;
    if (!check_is_own_place(c, check_call_argument(n, 0), "the mbarrier of `wait`"))
        return;
    struct expr *barrier = check_mbarrier_place(c, check_call_argument(n, 0));
    struct expr *phase =
        by_hand ? check_scalar_int(c, check_call_argument(n, 1), "the parity of a phase") : NULL;
    if (!barrier || (by_hand && !phase))
        return;
    struct expr *e = effect(c, n, OP_WAIT, by_hand ? 2 : 1);
    e->args[0] = barrier;
    if (by_hand)
        e->args[1] = phase;
}

static void check_expect(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 2, 2, NULL, "expect(full[s], bytes(sa[s]))"))
        return;
    enum { MOST_BYTES = (1 << 20) - 1 };
    int64_t bytes;
    if (!check_is_own_place(c, check_call_argument(n, 0), "the mbarrier of `expect`"))
        return;
    struct expr *barrier = check_mbarrier_place(c, check_call_argument(n, 0));
    struct expr *count = check_scalar_int(c, check_call_argument(n, 1), "a number of bytes");
    if (!barrier || !count)
        return;
    if (eval_int(count, NULL, &bytes) && (bytes < 0 || bytes > MOST_BYTES)) {
        diag_error(c->diag, check_call_argument(n, 1)->loc,
                   "an mbarrier counts 0 to %d bytes, this is %lld", MOST_BYTES, (long long)bytes);
        return;
    }
    struct expr *e = effect(c, n, OP_EXPECT, 2);
    e->args[0] = barrier;
    e->args[1] = check_cast_to(c, count, DT_I32);
}

static void check_mbarrier_arrive(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 1, 1, NULL, "arrive(empty[s])"))
        return;
    struct expr *barrier = check_mbarrier_place(c, check_call_argument(n, 0));
    if (barrier)
        effect(c, n, OP_MBARRIER_ARRIVE, 1)->args[0] = barrier;
}

static void check_wait_count(struct checker *c, const struct node *n, enum op op, const char *form)
{
    enum { MOST_GROUPS = 7 }; /* more are never of use, and wgmma.wait_group takes no more */
    int64_t groups;
    if (!check_arguments(c, n, 1, 1, NULL, form) ||
        !check_constant_in(c, check_call_argument(n, 0), "the number under way", 0, MOST_GROUPS,
                           &groups))
        return;
    effect(c, n, op, 1)->args[0] = expr_int(c->kernel, DT_I32, groups, n->loc);
}

/* --- products --- */

static bool is_shared_part(const struct expr *e)
{
    return e->op == OP_ACCESS && e->sym->storage == ST_SHARED && !access_peer(e);
}

/* Checks the factors of a product in the background. The unit reads the right one from shared
 * memory, the left one from there or from registers. */
static bool factors_in_place(struct checker *c, const struct expr *dot)
{
    const struct expr *a = expr_unconverted_factor(dot->args[0]),
                      *b = expr_unconverted_factor(dot->args[1]);
    const struct expr *left = a->op == OP_TRANS ? a->args[0] : a;
    const struct expr *right = b->op == OP_TRANS ? b->args[0] : b;
    if (!is_shared_part(right)) {
        diag_error(c->diag, b->loc, "the right factor of `dot_async` is a part of a shared tile");
        diag_note(c->diag, b->loc, "write `sb[s]` or `trans(sb[s])`; `dot` takes any value");
        return false;
    }
    if (is_shared_part(left) || (a->op == OP_REF && a->sym->storage == ST_REG))
        return true;
    diag_error(c->diag, a->loc,
               "the left factor of `dot_async` is a part of a shared tile, or a register tile");
    diag_note(c->diag, a->loc, "keep the value in a tile before: `reg f16 x[…][…] = …;`");
    return false;
}

/* Returns dot(a, b, sums) of the call dot_async(sums, a, b); NULL: reported. */
static struct expr *product_of(struct checker *c, const struct node *n)
{
    const struct node *args[3];
    struct node *copy[3], *call = arena_copy(c->arena, n, sizeof *n);
    for (int i = 0; i < 3; i++) {
        args[i] = check_call_argument(n, (i + 1) % 3);
        copy[i] = arena_copy(c->arena, args[i], sizeof *args[i]);
    }
    copy[0]->next = copy[1];
    copy[1]->next = copy[2];
    copy[2]->next = NULL;
    call->list = copy[0];
    return check_dot(c, call, NULL);
}

/* Takes the sum(…) after the call. */
static void check_sums(struct checker *c, const struct node *n, struct stmt *s)
{
    enum { MOST = 1 << 20 };
    int64_t k = SUM_IN_UNIT;
    if (!n->c)
        return;
    if (!expr_product_is_small(s)) {
        diag_error(
            c->diag, n->c->loc,
            "`sum(…)` is for products of 8-bit floats; the unit for %s and %s keeps all bits "
            "of its sums",
            dtype_table[expr_unconverted_factor(s->value->args[0])->type.dtype].name,
            dtype_table[expr_unconverted_factor(s->value->args[1])->type.dtype].name);
        diag_note(c->diag, n->c->loc, "leave it out");
        return;
    }
    if (!n->in_unit && !check_constant_in(c, n->c, "the k of promoted sums", SUM_STEP, MOST, &k))
        return;
    if (k > 0 && k % SUM_STEP != 0) {
        diag_error(c->diag, n->c->loc,
                   "one instruction takes %d elements of k, so %lld is not possible", SUM_STEP,
                   (long long)k);
        diag_note(c->diag, n->c->loc, "write a multiple of %d: `sum(promoted %d)`", SUM_STEP,
                  SUM_PROMOTED);
        return;
    }
    s->promoted = (int)k;
}

static void check_dot_async(struct checker *c, const struct node *n)
{
    if (!check_arguments(c, n, 3, 3, NULL, "dot_async(sums, a, b)"))
        return;
    if (c->thread_level) {
        diag_error(c->diag, n->loc, "`dot_async` in a kernel with `threads(…)`");
        diag_note(c->diag, c->kernel->loc, "products are for kernels with `warps(n)`");
        return;
    }
    struct expr *target = check_target(c, check_call_argument(n, 0), "added to");
    struct expr *value = target ? product_of(c, n) : NULL;
    if (!value || !factors_in_place(c, value))
        return;
    if (target->op != OP_REF || target->sym->storage != ST_REG) {
        diag_error(c->diag, target->loc, "`dot_async` adds to a whole register tile; `%s` is %s",
                   check_source_snippet(c, target->loc),
                   target->op == OP_REF ? check_storage_text(target->sym) : "none");
        diag_note(c->diag, target->loc, "declare one: `reg f32 acc[…][…] = 0;`");
        return;
    }
    if (!type_same_shape(&target->type, &value->type) || target->type.dtype != value->type.dtype) {
        diag_error(c->diag, n->loc, "`%s` is %s, and the product is %s", target->sym->name,
                   check_type_name(c, target), check_type_name(c, value));
        return;
    }
    struct stmt *s = check_emit(c, STMT_ASSIGN, n->loc);
    s->target = target;
    s->value = value;
    s->in_background = true;
    check_sums(c, n, s);
}

void check_role_call(struct checker *c, const struct node *n, enum op op)
{
    if (!check_allowed_in_pipeline(c, n->loc, n->text))
        return;
    switch (op) {
    case OP_WAIT: check_wait(c, n); break;
    case OP_EXPECT: check_expect(c, n); break;
    case OP_MBARRIER_ARRIVE: check_mbarrier_arrive(c, n); break;
    case OP_DOT_ASYNC: check_dot_async(c, n); break;
    case OP_DOT_WAIT: check_wait_count(c, n, op, "dot_wait(n)"); break;
    case OP_STORE_WAIT: check_wait_count(c, n, op, "store_wait(n)"); break;
    default:
        if (check_arguments(c, n, 0, 0, NULL, "fence_async()"))
            effect(c, n, OP_FENCE_ASYNC, 0);
        break;
    }
}

/* --- what a role's statements may use --- */

/* A walk over the body of a role or of one_thread. */
struct body_rules {
    struct checker *c;
    int first;       /* number of the first symbol that is declared inside */
    bool one_thread; /* the body of one_thread */
    bool reported;
};

static void report_outside(struct body_rules *r, const struct expr *e, const char *why)
{
    if (r->reported)
        return;
    r->reported = true;
    diag_error(r->c->diag, e->loc, "`%s` is declared outside of %s, %s", e->sym->name,
               r->one_thread ? "`one_thread`" : "the role", why);
    diag_note(r->c->diag, e->sym->loc,
              r->one_thread ? "declare it in `one_thread`"
                            : "declare it in the role: each role has its own");
}

static void check_use(void *user, struct expr **at)
{
    struct body_rules *r = user;
    const struct expr *e = *at;
    bool register_tile = (e->op == OP_REF || e->op == OP_ACCESS) &&
                         (e->sym->storage == ST_REG || e->sym->storage == ST_ARRAY);
    if (register_tile && e->sym->index < r->first)
        report_outside(r, e, "and its elements are spread over all warps of the block");
}

static void check_role_statement(void *user, struct stmt *s)
{
    struct body_rules *r = user;
    stmt_own_expressions(s, check_use, r);
    if (s->kind == STMT_ASSIGN && s->target->op == OP_REF && s->target->sym->storage == ST_SCALAR &&
        s->target->sym->index < r->first)
        report_outside(r, s->target,
                       r->one_thread ? "and the other threads would not see its new value"
                                     : "and the other roles would not see its new value");
    if (s->kind == STMT_RETURN && !r->reported) {
        r->reported = true;
        diag_error(r->c->diag, s->loc, "`return` leaves the kernel, and this is one role of it");
        diag_note(r->c->diag, s->loc, "let the role's loops end");
    }
}

static void check_thread_use(void *user, struct expr **at)
{
    struct body_rules *r = user;
    const struct expr *e = *at;
    if (r->reported || e->type.rank == 0)
        return;
    r->reported = true;
    diag_error(r->c->diag, e->loc, "a tile in `one_thread`");
    diag_note(
        r->c->diag, e->loc,
        "one thread starts copies with `async`, and works with scalars; tiles are the work of "
        "all threads of a role");
}

static void check_thread_statement(void *user, struct stmt *s)
{
    struct body_rules *r = user;
    enum op op = s->kind == STMT_EFFECT ? s->value->op : OP_COUNT;
    bool of_all = op == OP_SYNC || op == OP_CLUSTER_SYNC || op == OP_LOCK || op == OP_UNLOCK ||
                  op == OP_ARRIVE || op == OP_DOT_WAIT || s->kind == STMT_ROLE ||
                  s->kind == STMT_ONE_THREAD;
    if (of_all && !r->reported) {
        r->reported = true;
        diag_error(r->c->diag, s->loc,
                   "%s is the work of all threads of a role, and this is "
                   "`one_thread`",
                   s->kind == STMT_ROLE ? "a role"
                   : s->kind == STMT_ONE_THREAD
                       ? "another `one_thread`"
                       : arena_printf(r->c->arena, "`%s`", op_table[op].text));
        diag_note(r->c->diag, s->loc, "write it outside of `one_thread`");
    }
    if (s->kind == STMT_DECL && s->sym->type.rank > 0 && !r->reported) {
        r->reported = true;
        diag_error(r->c->diag, s->loc, "a tile in `one_thread`");
        diag_note(r->c->diag, s->loc,
                  "declare it outside: tiles are the work of all threads of a role");
    }
    bool tensor_copy =
        s->kind == STMT_ASYNC_COPY && (s->barrier || s->target->sym->storage == ST_VIEW);
    if (!tensor_copy)
        stmt_own_expressions(s, check_thread_use, r);
}

/* --- waits of one role --- */

/* The places of one role that wait for an mbarrier and leave its phase to the role. */
struct waits {
    struct checker *c;
    const struct sym *barrier;
    struct stmt *outside, *inside; /* the first of all threads, the first in one_thread */
    bool in_one_thread;
};

static void find_waits(struct waits *w, struct stmt *first)
{
    for (struct stmt *s = first; s; s = s->next) {
        bool waits = s->kind == STMT_EFFECT && s->value->op == OP_WAIT && s->value->count == 1 &&
                     s->value->args[0]->sym == w->barrier;
        struct stmt **at = w->in_one_thread ? &w->inside : &w->outside;
        if (waits && !*at)
            *at = s;
        bool outer = w->in_one_thread;
        w->in_one_thread |= s->kind == STMT_ONE_THREAD;
        find_waits(w, s->body);
        find_waits(w, s->otherwise);
        w->in_one_thread = outer;
    }
}

/* A thread counts the phases that it has waited for, so the waits of one role are either all in
 * one_thread or all outside. */
static void check_waits(struct checker *c, struct stmt *body)
{
    for (struct sym *s = c->kernel->symbols; s; s = s->next) {
        struct waits w = {.c = c, .barrier = s};
        if (s->storage != ST_MBARRIER)
            continue;
        find_waits(&w, body);
        if (!w.inside || !w.outside)
            continue;
        diag_error(c->diag, w.inside->loc,
                   "one thread waits for `%s` here, and all threads of the role wait for it "
                   "elsewhere: they would count different phases",
                   s->name);
        diag_note(c->diag, w.outside->loc, "all threads wait here");
        diag_note(c->diag, w.inside->loc, "give the parity of the phase: `wait(%s%s, phase)`",
                  s->name, s->type.rank > 0 ? "[…]" : "");
    }
}

/* --- roles --- */

static bool role_warps(struct checker *c, const struct node *n, struct role *role)
{
    int64_t first, count;
    if (!n->a || !n->b ||
        !check_constant_in(c, n->a, "the first warp of a role", 0, MAX_WARPS - 1, &first) ||
        !check_constant_in(c, n->b, "the number of warps of a role", 1, MAX_WARPS, &count))
        return false;
    role->first = (int)first;
    role->warps = (int)count;
    return true;
}

static bool role_replicas(struct checker *c, const struct node *n, struct role *role)
{
    int64_t count;
    role->replicas = 1;
    if (!n->over)
        return true;
    if (n->over->next || check_dtype(c, n->over->type) != DT_I32) {
        diag_error(c->diag, n->over->loc, "the number of a role's replica is one i32");
        diag_note(c->diag, n->over->loc, "write `warps(4 +: 4) for (i32 g < 2) { … }`");
        return false;
    }
    if (!check_constant_in(c, n->over->init, "the number of replicas", 1, MAX_WARPS, &count))
        return false;
    role->replicas = (int)count;
    role->replica =
        check_declare_sym(c, n->over->text, ST_SCALAR, type_scalar(DT_I32), n->over->loc);
    return role->replica != NULL;
}

/* Reports warps that the block does not have, or that another role has. */
static bool role_fits(struct checker *c, const struct node *n, const struct role *role)
{
    int end = role->first + role->warps * role->replicas;
    if (end > c->kernel->warps) {
        diag_error(c->diag, n->loc, "the role has warps %d to %d, and a block has warps 0 to %d",
                   role->first, end - 1, c->kernel->warps - 1);
        diag_note(c->diag, c->kernel->loc, "`warps(%d)` in the kernel's head gives it enough", end);
        return false;
    }
    uint32_t mask = (uint32_t)(((uint64_t)1 << end) - ((uint64_t)1 << role->first));
    if (c->role_warps & mask) {
        int both = 0;
        while (!(c->role_warps & mask & ((uint32_t)1 << both)))
            both++;
        diag_error(c->diag, n->loc, "warp %d has a role already", both);
        return false;
    }
    c->role_warps |= mask;
    return true;
}

static bool role_registers(struct checker *c, const struct node *n, struct role *role)
{
    enum { LEAST = 24, MOST = 240, STEP = 8 }; /* PTX ISA, setmaxnreg */
    int64_t registers;
    if (!n->c)
        return true;
    if (!check_constant_in(c, n->c, "the registers of a role's threads", LEAST, MOST, &registers))
        return false;
    if (registers % STEP != 0) {
        diag_error(c->diag, n->c->loc, "registers are given in steps of %d, not %lld", STEP,
                   (long long)registers);
        diag_note(c->diag, n->c->loc, "write `regs(%lld)`", (long long)(registers / STEP * STEP));
        return false;
    }
    if (role->first % WARPGROUP != 0 || role->warps % WARPGROUP != 0) {
        diag_error(c->diag, n->c->loc,
                   "`regs` is for whole warpgroups: the role has warps %d to %d", role->first,
                   role->first + role->warps - 1);
        diag_note(c->diag, n->c->loc, "a warpgroup is four warps, the first a multiple of 4");
        return false;
    }
    role->registers = (int)registers;
    return true;
}

static bool may_have_role(struct checker *c, const struct node *n)
{
    if (c->thread_level) {
        diag_error(c->diag, n->loc, "a role in a kernel with `threads(…)`");
        diag_note(c->diag, c->kernel->loc, "roles are for kernels with `warps(n)`");
        return false;
    }
    if (c->left_roles) {
        diag_error(c->diag, n->loc, "a role after `cluster_sync()`, which ends the roles");
        diag_note(c->diag, n->loc, "move it before that");
        return false;
    }
    if (outermost(c) && !c->in_role)
        return true;
    diag_error(c->diag, n->loc, "a role within %s", c->in_role ? "a role" : "a statement");
    diag_note(c->diag, n->loc, "roles are the last statements of the kernel's own body");
    return false;
}

void check_role(struct checker *c, const struct node *n)
{
    struct role *role = arena_new(c->arena, struct role);
    if (!may_have_role(c, n) || !role_warps(c, n, role))
        return;
    int outer = check_scope_open(c), first = c->kernel->symbol_count;
    if (role_replicas(c, n, role) && role_registers(c, n, role) && role_fits(c, n, role)) {
        struct stmt *s = check_emit(c, STMT_ROLE, n->loc), **after = c->tail;
        s->role = role;
        s->block = check_block_of(n->body);
        c->in_role = true;
        s->body = check_body(c, n->body);
        c->in_role = false;
        c->tail = after;
        struct body_rules rules = {.c = c, .first = first};
        stmt_walk(s->body, check_role_statement, &rules);
        check_waits(c, s->body);
    }
    check_scope_close(c, outer);
}

void check_one_thread(struct checker *c, const struct node *n)
{
    if (c->thread_level) {
        diag_error(c->diag, n->loc, "`one_thread` in a kernel with `threads(…)`");
        diag_note(c->diag, n->loc, "write `if (thread.x == 0)`");
        return;
    }
    int loops = c->loops, first = c->kernel->symbol_count;
    struct stmt *s = check_emit(c, STMT_ONE_THREAD, n->loc), **after = c->tail;
    s->block = check_block_of(n->body);
    c->loops = 0; /* break and continue would leave the other threads in the loop */
    s->body = check_body(c, n->body);
    c->loops = loops;
    c->tail = after;
    struct body_rules rules = {.c = c, .first = first, .one_thread = true};
    stmt_walk(s->body, check_thread_statement, &rules);
    if (!rules.reported)
        stmt_walk(s->body, check_role_statement, &rules);
}

bool check_allowed_after_roles(struct checker *c, const struct node *n)
{
    bool closes = n->kind == N_EXPR && n->a->kind == N_CALL &&
                  strcmp(n->a->text, op_table[OP_CLUSTER_SYNC].text) == 0;
    if (!c->role_warps || !outermost(c) || n->kind == N_ROLE || n->kind == N_ENSURES ||
        n->kind == N_EMPTY || closes)
        return true;
    diag_error(c->diag, n->loc, "a statement after roles");
    diag_note(c->diag, n->loc,
              "roles are the last statements of a kernel: move it before them, or "
              "into one");
    return false;
}

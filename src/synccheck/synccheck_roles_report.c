/* Findings about roles as diagnostics: the fault at the later of the two places, the earlier place,
 * and the way out. */
#include "synccheck/synccheck_roles.h"

/* --- texts --- */

/* Returns the number of the mbarrier's symbol. */
static size_t barrier_sym(const struct roles_check *r, int barrier)
{
    barrier %= r->barriers_each;
    size_t i = r->barriers.count - 1;
    while (r->first_barrier.data[i] > barrier)
        i--;
    return i;
}

static int64_t arrivals_of(const struct roles_check *r, int barrier)
{
    return r->barriers.data[barrier_sym(r, barrier)]->arrivals;
}

/* Returns `full[1]`. It lives in the check's arena. */
static const char *barrier_text(const struct roles_check *r, int barrier)
{
    size_t i = barrier_sym(r, barrier);
    const struct sym *sym = r->barriers.data[i];
    int64_t at = barrier % r->barriers_each - r->first_barrier.data[i];
    int64_t below = type_elements(&sym->type);
    struct text t;
    text_init(&t, r->k->arena);
    text_add(&t, sym->name);
    for (int axis = 0; axis < sym->type.rank; axis++) {
        below /= sym->type.extent[axis];
        text_printf(&t, "[%lld]", (long long)(at / below));
        at %= below;
    }
    return t.data;
}

/* Notes the calls through which the place, in the body of a fn, is reached. */
static void note_calls(struct roles_check *r, const struct role_place *p)
{
    const struct inlining *i = p->stmt->inlined;
    while (i && (p->loc.source != i->body.source || p->loc.offset < i->body.offset ||
                 p->loc.offset >= i->body.offset + i->body.length))
        i = i->outer;
    for (; i; i = i->outer)
        diag_note(r->k->diag, i->call, "in this call of `%s`", i->name);
}

static void note_place(struct roles_check *r, const struct role_place *p, const char *what)
{
    diag_note(r->k->diag, p->loc, "%s", what);
    note_calls(r, p);
}

/* --- accesses that race --- */

static void add_access(struct roles_check *r, const struct role_place *p, const struct sym *tile)
{
    static const char *const what[] = {"read", "write", "update", "copy"};
    struct diag_access access = {
        .at = p->loc, .what = what[p->kind], .variable = tile->name, .thread = -1};
    diag_access(r->k->diag, &access);
}

/* Returns what the later access does: "is read here". */
static const char *does(const struct role_place *p, bool overwrites)
{
    if (p->work == WORK_COPY || p->work == WORK_LOAD)
        return "is the target of a copy that begins here";
    if (p->work == WORK_STORE)
        return "is the source of a store that begins here";
    if (p->work == WORK_DOT)
        return "is a factor of a product that begins here";
    return p->kind == TOUCH_READ     ? "is read here"
           : p->kind == TOUCH_ATOMIC ? "is updated here"
           : overwrites              ? "is overwritten here"
                                     : "is written here";
}

/* Returns what may still go on: "the copy into it may still be under way". */
static const char *goes_on(const struct role_place *early, const struct role_place *late)
{
    if (early->work == WORK_COPY || early->work == WORK_LOAD)
        return "the copy into it may still be under way";
    if (early->work == WORK_STORE)
        return "the store of it may still be reading it";
    if (early->work == WORK_DOT)
        return early->block == late->block ? "a product may still be reading it"
                                           : "a product of another block may still be reading it";
    bool other = early->role != late->role && early->role >= 0;
    if (early->block != late->block)
        return early->kind == TOUCH_READ ? "another block may still be reading it"
                                         : "another block may still be writing it";
    if (early->kind == TOUCH_READ)
        return other ? "another role may still be reading it"
                     : "other threads may still be reading it";
    return other ? "another role may still be writing it" : "other threads may still be writing it";
}

static const char *begins(const struct role_place *p)
{
    if (p->work == WORK_COPY || p->work == WORK_LOAD)
        return "the copy begins here";
    if (p->work == WORK_STORE)
        return "the store begins here";
    if (p->work == WORK_DOT)
        return "the product begins here";
    return p->kind == TOUCH_READ     ? "read here"
           : p->kind == TOUCH_ATOMIC ? "updated here"
                                     : "written here";
}

/* Returns the text of the mbarrier of a copy, a wait or an arrival, as the program writes it. */
static const char *written_barrier(struct roles_check *r, const struct stmt *s)
{
    const struct loc at = s->barrier ? s->barrier->loc : s->value->args[0]->loc;
    return arena_printf(r->k->arena, "%.*s", (int)at.length, at.source->text + at.offset);
}

/* Returns the first such step of the roles, at an mbarrier of the symbol; NULL: at any. */
static const struct stmt *find_step(const struct roles_check *r, int first, int end,
                                    enum step_kind kind, const struct sym *sym)
{
    for (int t = first < 0 ? 0 : first; t < end; t++)
        for (size_t i = 0; i < r->traces.data[t].steps.count; i++) {
            const struct role_step *s = &r->traces.data[t].steps.data[i];
            if (s->kind == kind && (!sym || r->barriers.data[barrier_sym(r, s->barrier)] == sym))
                return s->stmt;
        }
    return NULL;
}

/* Notes an mbarrier at which roles arrive, and for which none waits. Returns false if there is none. */
static bool note_never_awaited(struct roles_check *r, const struct role_place *p)
{
    const int all = (int)r->traces.count;
    for (size_t i = 0; i < r->barriers.count; i++) {
        const struct sym *sym = r->barriers.data[i];
        if (!find_step(r, 0, all, STEP_ARRIVE, sym) || find_step(r, 0, all, STEP_WAIT, sym))
            continue;
        diag_note(r->k->diag, p->loc, "no role waits for `%s`: put `wait(%s%s)` before this",
                  sym->name, sym->name, sym->type.rank ? "[…]" : "");
        return true;
    }
    return false;
}

/* Returns what to ask about the parity that a wait names, if it names one. */
static const char *ask_parity(const struct stmt *wait)
{
    return wait && wait->value->count > 1 ? "; is the parity right? Phases count from 0" : "";
}

static void race_way_out(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    const struct role_place *early = &f->early, *late = &f->late;
    bool same_role = early->role == late->role;
    const struct stmt *wait =
        early->work == WORK_COPY && late->work != WORK_COPY
            ? find_step(r, late->role, late->role + 1, STEP_WAIT, early->stmt->barrier->sym)
            : NULL;
    if (f->waited) {
        diag_note(d, f->waited->loc,
                  "only one thread of the role waits here: put `sync()` after it");
        sync_fix_with_barrier(r->k, early->site, late->site, f->waited->loc);
        return;
    }
    if (f->few) {
        diag_note(
            d, f->few->loc,
            "a phase completes after the %lld bytes that this announces, and its copies bring "
            "%lld: `expect(%s, %lld)`",
            (long long)f->announced, (long long)f->bytes, written_barrier(r, early->stmt),
            (long long)f->bytes);
        return;
    }
    if (early->work == WORK_COPY && late->work == WORK_COPY && note_never_awaited(r, late))
        return;
    static const char between[] = "put `sync()` between the two";
    const char *way;
    if (early->work == WORK_COPY && late->work == WORK_COPY)
        way = "wait before this for an mbarrier at which the roles that read the part arrive";
    else if (early->work == WORK_COPY)
        way = arena_printf(r->k->arena,
                           "the copy completes a phase of `%s`: let `wait(%s)` for that phase come "
                           "before this%s",
                           written_barrier(r, early->stmt), written_barrier(r, early->stmt),
                           ask_parity(wait));
    else if (early->work == WORK_LOAD)
        way = "put `async_wait(0)` and `sync()` before this";
    else if (early->work == WORK_STORE)
        way = same_role && late->thread ? "put `store_wait(0)` before this"
                                        : "put `store_wait(0)` and then `sync()` before this";
    else if (early->work == WORK_DOT)
        way = same_role ? "put `dot_wait(0)` and then `sync()` before this"
                        : "let the role of the product `dot_wait` and then `arrive` at an mbarrier "
                          "that this role waits for before this";
    else if (early->block != late->block)
        way = early->role < 0 || late->role < 0
                  ? "put `cluster_sync()` between the two"
                  : "let the other block `arrive` at an mbarrier of this one afterwards, and wait "
                    "for it before this";
    else if (early->stmt == late->stmt && early->kind == TOUCH_READ)
        way = "keep the element in a scalar before, and put `sync()` after that";
    else if (same_role || early->role < 0)
        way = between;
    else
        way = "let that role `arrive` at an mbarrier afterwards, and this one wait for it before "
              "this";
    diag_note(d, late->loc, "%s", way);
    if (way == between)
        sync_fix_with_barrier(r->k, early->site, late->site, LOC_NONE);
}

static bool in_background(const struct role_place *p)
{
    return p->work != WORK_NONE;
}

static void report_race(struct roles_check *r, const struct role_finding *f)
{
    diag_error(r->k->diag, f->late.loc, "`%s` %s while %s", f->tile->name,
               does(&f->late, f->early.kind == TOUCH_READ), goes_on(&f->early, &f->late));
    diag_code(r->k->diag,
              in_background(&f->early) || in_background(&f->late) ? CODE_ASYNC_RACE : CODE_RACE);
    add_access(r, &f->late, f->tile);
    add_access(r, &f->early, f->tile);
    note_calls(r, &f->late);
    if (f->early.stmt != f->late.stmt || f->early.loc.offset != f->late.loc.offset)
        note_place(r, &f->early, begins(&f->early));
    race_way_out(r, f);
}

/* --- ends --- */

static void report_pending(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    const char *when = f->at_scope ? "when its scope ends" : "when the kernel ends";
    const char *name = f->tile->name;
    switch (f->early.work) {
    case WORK_STORE:
        diag_error(d, f->early.loc, "the store of `%s` may still be reading it %s", name, when);
        diag_note(d, f->early.loc, "put `store_wait(0)` at the end of the %s",
                  f->at_scope ? "scope" : "role");
        if (!f->at_scope)
            sync_fix_at_end_of_role(r->k, f->early.stmt, "store_wait(0);");
        break;
    case WORK_DOT:
        if (f->tile->storage == ST_REG)
            diag_error(d, f->early.loc, "a product may still be adding to `%s` %s", name,
                       f->at_scope ? when : "when the role ends");
        else
            diag_error(d, f->early.loc, "a product may still be reading `%s` %s", name, when);
        diag_note(d, f->early.loc, "put `dot_wait(0)` at the end of the %s",
                  f->at_scope ? "scope" : "role");
        break;
    default:
        diag_error(d, f->early.loc, "the copy into `%s` may still be under way %s", name, when);
        if (f->early.work == WORK_COPY)
            diag_note(d, f->early.loc,
                      "no role waits for this phase of `%s`: wait for each phase that has copies",
                      written_barrier(r, f->early.stmt));
        else
            diag_note(d, f->early.loc, "put `async_wait(0)` at the end of the %s",
                      f->at_scope ? "scope" : "role");
        break;
    }
    diag_code(d, CODE_ASYNC_PENDING);
    add_access(r, &f->early, f->tile);
    note_calls(r, &f->early);
}

/* --- registers of products --- */

static void report_register(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    const char *name = f->tile->name;
    const char *what = f->late.kind == TOUCH_READ ? "read" : "changed";
    if (f->kind == ROLE_SUM)
        diag_error(d, f->late.loc, "`%s` is %s here while a product may still be adding to it",
                   name, what);
    else
        diag_error(d, f->late.loc,
                   "`%s` is changed here while a product may still be reading it as a factor",
                   name);
    diag_code(d, CODE_ASYNC_RACE);
    add_access(r, &f->late, f->tile);
    add_access(r, &f->early, f->tile);
    note_calls(r, &f->late);
    note_place(r, &f->early, "the product begins here");
    diag_note(d, f->late.loc, "put `dot_wait(0)` before this");
    sync_fix_before(r->k, f->late.stmt, "dot_wait(0);");
}

/* --- mbarriers --- */

static bool is_arrive(const struct role_place *p)
{
    return p->stmt->kind == STMT_EFFECT && p->stmt->value->op == OP_MBARRIER_ARRIVE;
}

static void report_parity(struct roles_check *r, const struct role_finding *f)
{
    diag_error(r->k->diag, f->late.loc, "the parity of a phase is 0 or 1, and this is %lld",
               (long long)f->bytes);
    diag_code(r->k->diag, CODE_MBARRIER);
    note_calls(r, &f->late);
    diag_note(r->k->diag, f->late.loc, "write the number of the phase, from 0, modulo 2");
}

static void report_bytes(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    const char *name = barrier_text(r, f->barrier);
    diag_error(d, f->early.loc,
               "a phase of `%s` never completes: %lld bytes are announced, and copies bring %lld",
               name, (long long)f->announced, (long long)f->bytes);
    diag_code(d, CODE_MBARRIER);
    note_calls(r, &f->early);
    if (f->late.stmt != f->early.stmt && f->bytes > 0)
        note_place(r, &f->late, "the last copy of the phase begins here");
    diag_note(
        d, f->early.loc,
        f->announced > f->bytes && r->blocks > 1
            ? "let other blocks copy to this one by `multicast(…)`, or announce less: `expect(%s, "
              "%lld)`"
            : "announce the bytes of all copies of the phase, those beyond the edge of a view "
              "too: `expect(%s, %lld)`",
        written_barrier(r, f->early.stmt), (long long)f->bytes);
}

static const char *warps_text(struct roles_check *r, const struct role_place *p)
{
    const struct stmt *s = p->role >= 0 ? r->traces.data[p->role].role : NULL;
    const char *of = r->blocks > 1 ? arena_printf(r->k->arena, " of block %d", p->block) : "";
    if (!s)
        return r->blocks > 1 ? arena_printf(r->k->arena, "block %d", p->block) : "the block";
    int first = s->role->first;
    for (int i = p->role - 1;
         i >= 0 && r->traces.data[i].role == s && r->traces.data[i].block == p->block; i--)
        first += s->role->warps;
    if (s->role->warps == 1)
        return arena_printf(r->k->arena, "warp %d%s", first, of);
    return arena_printf(r->k->arena, "warps %d to %d%s", first, first + s->role->warps - 1, of);
}

static void note_waiting(struct roles_check *r, const struct role_waiting *w)
{
    const char *warps = warps_text(r, &w->place);
    const struct stmt *role = w->place.role >= 0 ? r->traces.data[w->place.role].role : NULL;
    const char *verb = role && role->role->warps > 1 ? "wait" : "waits";
    if (w->barrier < 0) {
        bool cluster = w->place.stmt->value && w->place.stmt->value->op == OP_CLUSTER_SYNC;
        diag_note(r->k->diag, w->place.loc, "%s %s here for the others at `%s()`", warps, verb,
                  cluster ? "cluster_sync" : "sync");
        return;
    }
    int64_t wanted = arrivals_of(r, w->barrier);
    diag_note(r->k->diag, w->place.loc,
              "%s %s here for `%s`, whose phase has %lld of %lld arrival%s%s", warps, verb,
              barrier_text(r, w->barrier), (long long)w->arrivals, (long long)wanted,
              wanted == 1 ? "" : "s", w->arrivals == wanted ? ", and lacks bytes" : "");
}

/* Returns true if each role waits for the first phase of an mbarrier. */
static bool nothing_began(const struct role_finding *f)
{
    for (int i = 0; i < f->waiting; i++)
        if (f->waits[i].barrier < 0 || f->waits[i].phase > 0)
            return false;
    return true;
}

static void report_stuck(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    bool single = f->waiting == 1;
    diag_error(d, f->late.loc, "%s",
               single ? "this waits forever" : "roles wait for each other forever");
    diag_code(d, CODE_DEADLOCK);
    const struct stmt *parity = NULL;
    for (int i = 0; i < f->waiting; i++) {
        const struct role_waiting *w = &f->waits[i];
        const struct stmt *s = w->place.stmt;
        note_waiting(r, w);
        parity = w->barrier >= 0 && s->value->count > 1 && !parity ? s : parity;
    }
    if (!single && nothing_began(f))
        diag_note(d, f->late.loc,
                  "no role can begin: the first wait for an mbarrier that is declared `ready` "
                  "returns at once");
    bool sync = f->waits[0].barrier < 0 && r->blocks > 1;
    diag_note(d, f->late.loc,
              sync ? "all blocks of a cluster come to `cluster_sync()` equally often%s"
                   : "each `wait` takes one phase: a role waits as often as phases complete, and "
                     "each phase gets all of its arrivals%s",
              ask_parity(parity));
}

/* Notes a role whose warpgroups arrive more often together than a phase counts. */
static void note_warpgroups(struct roles_check *r, const struct role_finding *f)
{
    const struct sym *sym = r->barriers.data[barrier_sym(r, f->barrier)];
    const struct role_trace *t = f->late.role >= 0 ? &r->traces.data[f->late.role] : NULL;
    bool each = is_arrive(&f->late) && !f->late.thread && f->early.stmt == f->late.stmt;
    if (each && t && t->groups > sym->arrivals)
        diag_note(r->k->diag, sym->loc,
                  "`%s` takes %d arrival%s, and %s arrive %d times, once for each warpgroup: write "
                  "`mbarrier %s%s(%d)`",
                  sym->name, sym->arrivals, sym->arrivals == 1 ? "" : "s", warps_text(r, &f->late),
                  t->groups, sym->name, sym->type.rank ? "[…]" : "", t->groups);
}

static void report_early(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    const char *name = barrier_text(r, f->barrier);
    int64_t wanted = arrivals_of(r, f->barrier);
    if (f->kind == ROLE_EARLY_COPY)
        diag_error(d, f->late.loc,
                   "this copy may complete in the phase of `%s` before the one that is meant",
                   name);
    else
        diag_error(d, f->late.loc,
                   "this may arrive at `%s` before its last phase completes: the phase takes %lld "
                   "arrival%s",
                   name, (long long)wanted, wanted == 1 ? "" : "s");
    diag_code(d, CODE_MBARRIER);
    note_calls(r, &f->late);
    if (f->early.stmt != f->late.stmt)
        note_place(r, &f->early,
                   f->early.work == WORK_COPY ? "that phase waits for this copy"
                                              : "that phase waits for this arrival");
    note_warpgroups(r, f);
    if (note_never_awaited(r, &f->late))
        return;
    diag_note(d, f->late.loc,
              "let this role know that the phase is over: wait for it, or for an mbarrier at which "
              "a role arrives after it has waited; or change the number of arrivals");
}

static void report_overtaken(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    const int role = f->late.role;
    bool apart = !f->late.thread && find_step(r, role, role + 1, STEP_COPY, NULL);
    const char *name = barrier_text(r, f->barrier);
    diag_error(d, f->late.loc,
               "`%s` may be two phases ahead of this wait, which then waits forever: a wait sees "
               "only whether a phase is even or odd",
               name);
    diag_code(d, CODE_MBARRIER);
    note_calls(r, &f->late);
    if (f->early.stmt != f->late.stmt)
        note_place(r, &f->early, "the next phase can complete here without the wait");
    diag_note(
        d, f->late.loc,
        apart ? "one thread begins the copies, others may be late: put both into `one_thread { … }`"
        : is_arrive(&f->early)
            ? "arrive once for each phase, and only after this role has had the chance to wait"
            : "let this role `arrive` at an mbarrier after the wait, and wait for that before "
              "the next phase");
}

/* --- blocks of a cluster --- */

/* Reports a use of a block's memory before it has begun, or after it has ended. */
static void report_peer(struct roles_check *r, const struct role_finding *f)
{
    struct diag *d = r->k->diag;
    bool begins = f->kind == ROLE_UNBEGUN, copies = f->late.work == WORK_COPY;
    const char *name = f->barrier >= 0 ? barrier_text(r, f->barrier) : f->tile->name;
    diag_error(d, f->late.loc, "%s of another block, which may %s",
               arena_printf(r->k->arena, copies ? "this copies to `%s`" : "this uses `%s`", name),
               !begins          ? "have ended before"
               : f->barrier < 0 ? "not have begun yet"
                                : "not have initialised it yet");
    diag_code(d, f->barrier >= 0 ? CODE_MBARRIER : CODE_RACE);
    note_calls(r, &f->late);
    bool roles = r->traces.data[0].role;
    diag_note(d, f->late.loc, "put `cluster_sync()` %s%s",
              !begins ? "at the end of the kernel"
              : roles ? "before the roles"
                      : "before this",
              !begins             ? (roles ? ", after the roles" : "")
              : r->barriers.count ? ", after the mbarriers' declarations"
                                  : "");
}

/* --- findings that are reported --- */

static bool is_order(const struct role_finding *f)
{
    return f->kind == ROLE_EARLY || f->kind == ROLE_EARLY_COPY || f->kind == ROLE_OVERTAKEN;
}

static bool has_kind(const struct roles_check *r, enum role_finding_kind kind)
{
    for (size_t i = 0; i < r->findings.count; i++)
        if (r->findings.data[i].kind == kind)
            return true;
    return false;
}

/* Returns true for a copy that begins too early into a part that is in use. */
static bool copies_early(const struct role_finding *f)
{
    return f->kind == ROLE_RACE && f->late.work == WORK_COPY;
}

/* Returns true if an arrival that comes too early is the cause: some role arrives too often, and
 * no role reads what it has not waited for. */
static bool arrives_too_often(const struct roles_check *r)
{
    bool too_often = false;
    for (size_t i = 0; i < r->findings.count; i++) {
        const struct role_finding *f = &r->findings.data[i];
        too_often |= f->kind == ROLE_EARLY && is_arrive(&f->late);
        too_often |= f->kind == ROLE_OVERTAKEN && is_arrive(&f->early);
        if (f->kind == ROLE_RACE && !copies_early(f))
            return false;
    }
    return too_often;
}

/* Returns true if a finding before it has the same cause: one missing wait lets an access race
 * with several others. */
static bool said_before(const struct roles_check *r, size_t number)
{
    const struct role_finding *f = &r->findings.data[number];
    for (size_t i = 0; i < number; i++) {
        const struct role_finding *other = &r->findings.data[i];
        if (is_order(f) && is_order(other))
            return true;
        if (f->kind == ROLE_PENDING && other->kind == ROLE_RACE &&
            f->early.stmt == other->early.stmt && f->early.work == other->early.work)
            return true; /* the use is the clearer report */
        if (f->kind == ROLE_PENDING && other->kind == ROLE_SUM &&
            f->early.stmt == other->early.stmt)
            return true;
        if (f->kind == ROLE_RACE && other->kind == ROLE_RACE && f->early.stmt == other->late.stmt &&
            f->late.stmt == other->early.stmt)
            return true;
        if (f->kind == other->kind && f->kind != ROLE_BYTES &&
            (f->early.stmt == other->early.stmt || f->late.stmt == other->late.stmt))
            return true;
    }
    return false;
}

static bool is_reported(const struct roles_check *r, size_t number)
{
    const struct role_finding *f = &r->findings.data[number];
    if (has_kind(r, ROLE_PARITY))
        return f->kind == ROLE_PARITY;
    if (has_kind(r, ROLE_UNBEGUN))
        return f->kind == ROLE_UNBEGUN && !said_before(r, number);
    if (has_kind(r, ROLE_BYTES))
        return f->kind == ROLE_BYTES || (r->blocks > 1 && f->kind == ROLE_STUCK);
    if (arrives_too_often(r))
        return (is_order(f) || !copies_early(f)) && !said_before(r, number);
    bool data = false;
    for (size_t i = 0; i < r->findings.count; i++)
        data |= !is_order(&r->findings.data[i]);
    return !(is_order(f) && data) && !said_before(r, number);
}

/* Notes the choices that led to the findings. The first combination of choices is the usual
 * case, so it needs no word. */
static void note_choices(struct roles_check *r)
{
    bool usual = true;
    for (size_t i = 0; i < r->choices.count; i++)
        usual = usual && r->choices.data[i].value == 0;
    for (size_t i = 0; i < r->chosen.count && !usual; i++) {
        const struct role_chosen *c = &r->chosen.data[i];
        int trips = c->value[0];
        if (!c->loc.source) /* one of a condition's ways */
            continue;
        if (c->is_loop)
            diag_note(r->k->diag, c->loc, "this happens if the loop makes %d round%s",
                      r->trips.data[trips], r->trips.data[trips] == 1 ? "" : "s");
        else
            diag_note(r->k->diag, c->loc, "this happens if the condition is %s",
                      trips ? "false" : "true");
    }
}

void sync_report_role_findings(struct roles_check *r)
{
    for (size_t i = 0; i < r->findings.count; i++) {
        const struct role_finding *f = &r->findings.data[i];
        if (!is_reported(r, i))
            continue;
        switch (f->kind) {
        case ROLE_RACE: report_race(r, f); break;
        case ROLE_PENDING: report_pending(r, f); break;
        case ROLE_SUM:
        case ROLE_FACTOR: report_register(r, f); break;
        case ROLE_PARITY: report_parity(r, f); break;
        case ROLE_BYTES: report_bytes(r, f); break;
        case ROLE_STUCK: report_stuck(r, f); break;
        case ROLE_EARLY:
        case ROLE_EARLY_COPY: report_early(r, f); break;
        case ROLE_UNBEGUN:
        case ROLE_LEFT: report_peer(r, f); break;
        case ROLE_OVERTAKEN: report_overtaken(r, f); break;
        }
        note_choices(r);
    }
}

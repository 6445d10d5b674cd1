/* The runs of the check of roles: one for each combination of choices. */
#include "synccheck/synccheck_roles.h"

/* Returns true if the run is one of those that are tried: of many choices, up to two differ from
 * the usual ones, which come first. */
static bool is_tried(const struct roles_check *r)
{
    enum { MANY = 4, MOST_UNUSUAL = 2 };
    int unusual = 0;
    for (size_t i = 0; i < r->choices.count; i++)
        unusual += r->choices.data[i].value > 0;
    return unusual <= MOST_UNUSUAL || r->choices.count <= MANY;
}

/* Goes on to the next combination of choices. Returns false after the last. */
static bool next_choices(struct roles_check *r)
{
    while (r->choices.count) {
        struct role_choice *last = &r->choices.data[r->choices.count - 1];
        if (++last->value < last->options && is_tried(r))
            return true;
        r->choices.count--;
    }
    return false;
}

/* Judges the findings of a run: they count if there are inputs that lead to its choices. */
static void judge_run(struct roles_check *r)
{
    static const char related[] = "it depends on values that only one role knows, such as a loop's "
                                  "bound that it loads";
    static const char unknown[] = "it depends on values that are not known here";
    if (r->doubtful)
        r->why = unknown;
    if (!r->findings.count)
        return;
    if (r->unrelated)
        r->why = related;
    else if (r->state->unsure || !sync_solve(r->k, r->state, NULL, 0))
        r->why = unknown;
    else
        r->confirmed = true;
}

/* --- the kernel --- */

static void track_scalars(struct sync_check *k)
{
    struct tracked all = {0};
    vec_push(k->arena, &k->code.slots, all);
    for (const struct sym *s = k->kernel->symbols; s; s = s->next) {
        struct tracked scalar = {.sym = s, .indexes = true};
        if (s->storage == ST_SCALAR)
            vec_push(k->arena, &k->code.slots, scalar);
    }
}

static void note_product_tile(struct roles_check *r, const struct expr *e)
{
    const struct expr *tile = e->op == OP_TRANS ? e->args[0] : e;
    if (tile->sym->storage != ST_REG)
        return;
    for (size_t i = 0; i < r->products.count; i++)
        if (r->products.data[i] == tile->sym)
            return;
    vec_push(r->k->arena, &r->products, tile->sym);
}

static void find_products(void *user, struct stmt *s)
{
    if (!s->in_background)
        return;
    note_product_tile(user, s->target);
    note_product_tile(user, expr_unconverted_factor(s->value->args[0]));
    note_product_tile(user, expr_unconverted_factor(s->value->args[1]));
}

static void number_barriers(struct roles_check *r)
{
    for (const struct sym *s = r->k->kernel->symbols; s; s = s->next) {
        if (s->storage != ST_MBARRIER)
            continue;
        vec_push(r->k->arena, &r->barriers, s);
        vec_push(r->k->arena, &r->first_barrier, r->barriers_each);
        r->barriers_each += (int)type_elements(&s->type);
    }
    r->blocks = kernel_cluster_blocks(r->k->kernel);
    r->barrier_count = r->barriers_each * r->blocks;
}

/* Lists the numbers of trips to try: around the number of stages S, the usual ones first. */
static void list_trips(struct roles_check *r)
{
    int stages = 1;
    for (size_t i = 0; i < r->barriers.count; i++) {
        const struct type *type = &r->barriers.data[i]->type;
        if (type->rank > 0 && type->extent[0] > stages)
            stages = (int)type->extent[0];
    }
    const int all[] = {stages + 1, 2 * stages + 1, stages, stages - 1, 1, 0};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        bool listed = false;
        for (size_t j = 0; j < r->trips.count; j++)
            listed |= r->trips.data[j] == all[i];
        if (!listed)
            vec_push(r->k->arena, &r->trips, all[i]);
    }
}

/* Limit on the memory of all runs. */
enum { MOST_BYTES = 128 << 20 };

static void run_once(struct roles_check *r)
{
    if (r->k->arena->used > MOST_BYTES)
        sync_give_up(r, "the roles take too much memory");
    r->choice = 0;
    r->chosen.count = 0;
    r->findings.count = 0;
    r->unrelated = r->doubtful = r->impossible = false;
    sync_state_begin(r->k, r->state);
    sync_eval_grid_facts(r->k, r->state);
    sync_make_traces(r);
    if (r->k->gave_up || r->impossible)
        return;
    sync_run_traces(r);
    if (!r->k->gave_up)
        judge_run(r);
}

static enum sync_verdict run_all(struct roles_check *r, const char **why)
{
    do {
        run_once(r);
    } while (!r->confirmed && !r->k->gave_up && next_choices(r));
    if (r->confirmed) {
        sync_report_role_findings(r);
        return SYNC_RACE;
    }
    *why = r->k->gave_up ? r->k->gave_up : r->why;
    return *why ? SYNC_UNDECIDED : SYNC_CLEAN;
}

enum sync_verdict sync_check_roles(struct sync_check *k, const char **why)
{
    struct roles_check *r = arena_new(k->arena, struct roles_check);
    r->k = k;
    r->state = arena_new(k->arena, struct sync_state);
    k->exact = true;
    track_scalars(k);
    number_barriers(r);
    list_trips(r);
    stmt_walk(k->kernel->body, find_products, r);
    if (k->code.slots.count > MAX_SLOTS) {
        *why = "the kernel is very large";
        return SYNC_UNDECIDED;
    }
    return run_all(r, why);
}

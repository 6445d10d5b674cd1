/* Results that the statements of a role have had before. A loop of a role repeats them for the same
 * few stages.
 *
 * A result is kept if it depends on at most two scalars, both of which hold numbers. Then no fact
 * and no unknown has a part in it, so it is the same in all runs. */
#include "synccheck/synccheck_roles.h"

enum { MOST_SCALARS = 2, KEPT_RESULTS = 512 };

struct kept_result {
    int value[MOST_SCALARS]; /* of the scalars */
    int result;
};

struct role_memo {
    struct role_memo *next; /* in the same bucket */
    const struct expr *e;
    const struct stmt *s;
    int what;
    bool plain; /* results can be kept */
    int scalars;
    int slot[MOST_SCALARS];
    struct kept_result *kept; /* by a hash of the values */
};

/* --- what an expression depends on --- */

static bool add_scalar(const struct roles_check *r, struct role_memo *m, const struct sym *sym)
{
    int slot = sync_tracked_slot(r->k, sym);
    for (int i = 0; i < m->scalars; i++)
        if (m->slot[i] == slot)
            return true;
    if (slot < 0 || m->scalars == MOST_SCALARS)
        return false;
    m->slot[m->scalars++] = slot;
    return true;
}

static bool plain_ref(const struct roles_check *r, struct role_memo *m, const struct sym *sym)
{
    if (sym->storage == ST_CONST || (sym->storage == ST_PARAM && sym->has_value))
        return !sym->value.is_float;
    return sym->storage == ST_SCALAR && add_scalar(r, m, sym);
}

static bool is_plain_op(enum op op)
{
    switch (op) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_DIV:
    case OP_REM:
    case OP_CDIV:
    case OP_CAST:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE: return true;
    default: return false;
    }
}

/* Returns true if e computes an integer from numbers and scalars alone, and notes the scalars. */
static bool is_plain(const struct roles_check *r, struct role_memo *m, const struct expr *e)
{
    if (e->type.rank || dtype_is_float(e->type.dtype))
        return false;
    if (e->op == OP_LITERAL)
        return true;
    if (e->op == OP_REF)
        return plain_ref(r, m, e->sym);
    bool plain = is_plain_op(e->op);
    for (int i = 0; i < e->count && plain; i++)
        plain = is_plain(r, m, e->args[i]);
    return plain;
}

/* The same for the place that an access names; NULL: a whole tile. */
static bool is_plain_place(const struct roles_check *r, struct role_memo *m, const struct expr *e)
{
    for (int i = 0; e && i < e->indices; i++) {
        const struct index *x = &e->index[i];
        if (x->kind != IX_ALL && (x->kind == IX_GATHER || !is_plain(r, m, x->value)))
            return false;
    }
    return true;
}

/* --- results --- */

static struct role_memo *memo_of(struct roles_check *r, const struct expr *e, const struct stmt *s,
                                 int what)
{
    size_t at = ((uintptr_t)e >> 4 ^ (uintptr_t)s >> 5 ^ (size_t)what) % ROLE_BUCKETS;
    for (struct role_memo *m = r->memos[at]; m; m = m->next)
        if (m->e == e && m->s == s && m->what == what)
            return m;
    struct role_memo *m = arena_new(r->k->arena, struct role_memo);
    *m = (struct role_memo){.next = r->memos[at], .e = e, .s = s, .what = what};
    bool place = what != MEMO_VALUE && what != MEMO_TRUTH;
    m->plain = place ? is_plain_place(r, m, e) : is_plain(r, m, e);
    if (m->plain)
        m->kept = arena_array(r->k->arena, struct kept_result, m->scalars ? KEPT_RESULTS : 1);
    return r->memos[at] = m;
}

bool sync_role_reads_nothing(struct roles_check *r, const struct expr *e)
{
    return memo_of(r, e, NULL, MEMO_VALUE)->plain;
}

int *sync_role_result(struct roles_check *r, const struct expr *e, const struct stmt *s, int what)
{
    const struct role_memo *m = memo_of(r, e, s, what);
    if (!m->plain)
        return NULL;
    int value[MOST_SCALARS] = {0};
    int64_t number;
    for (int i = 0; i < m->scalars; i++) {
        value[i] = r->state->slot[m->slot[i]];
        if (value[i] < 0 || !sync_value_number(r->k, value[i], &number))
            return NULL;
    }
    unsigned at = m->scalars ? ((unsigned)value[0] + 37u * (unsigned)value[1]) % KEPT_RESULTS : 0;
    struct kept_result *kept = &m->kept[at];
    bool same = true;
    for (int i = 0; i < m->scalars; i++)
        same = same && kept->value[i] == value[i];
    if (!same)
        *kept = (struct kept_result){.value = {value[0], value[1]}};
    return &kept->result;
}

int sync_role_value(struct roles_check *r, const struct expr *e)
{
    int *kept = sync_role_result(r, e, NULL, MEMO_VALUE);
    if (kept && *kept)
        return *kept - 1;
    int fresh = r->state->fresh, value = sync_eval_value(r->k, r->state, e);
    int64_t number;
    if (kept && r->state->fresh == fresh && sync_value_number(r->k, value, &number))
        *kept = value + 1;
    return value;
}

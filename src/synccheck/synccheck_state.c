/* The state of an execution: the facts about unknowns, the values of scalars, and the copies in
 * flight.
 *
 * Two executions in equal states continue alike, so each state is continued from only once.
 * Widening makes the number of states finite: a counter with unknown bounds becomes an unknown
 * itself, "its value at the head of the loop". Facts that conditions imply about it move along
 * with it from round to round. */
#include "synccheck/synccheck_core.h"

#include <string.h>

/* --- facts --- */

struct fact *sync_fact_find(struct sync_state *s, int form)
{
    for (int i = 0; i < s->facts; i++)
        if (s->fact[i].form == form)
            return &s->fact[i];
    return NULL;
}

void sync_fact_interval(const struct sync_check *k, const struct sync_state *s, int form,
                        int64_t *low, int64_t *high)
{
    *low = FACT_NONE;
    *high = FACT_MANY;
    const struct sync_value *v = sync_value_at(k, form);
    if (v->terms == 1 && v->factor[0] == 1) {
        const struct atom *a = sync_atom_at(k, v->atom[0]);
        if (a->kind != ATOM_LITERAL) {
            *low = a->low;
            *high = a->high;
        }
    }
    for (int i = 0; i < s->facts; i++) {
        const struct fact *f = &s->fact[i];
        if (f->form != form)
            continue;
        *low = f->low > *low ? f->low : *low;
        *high = f->high < *high ? f->high : *high;
    }
}

static struct fact *fact_room(struct sync_state *s, int form)
{
    struct fact *old = sync_fact_find(s, form);
    if (old || s->facts == MAX_FACTS)
        return old;
    int at = s->facts++;
    for (; at > 0 && s->fact[at - 1].form > form; at--)
        s->fact[at] = s->fact[at - 1];
    s->fact[at] = (struct fact){.form = form, .residue = -1, .low = FACT_NONE, .high = FACT_MANY};
    return &s->fact[at];
}

bool sync_fact_add(struct sync_check *k, struct sync_state *s, int form, int64_t low, int64_t high)
{
    int64_t known_low, known_high;
    sync_fact_interval(k, s, form, &known_low, &known_high);
    low = low > known_low ? low : known_low;
    high = high < known_high ? high : known_high;
    if (low > high)
        return false;
    struct fact *f = fact_room(s, form);
    if (!f) { /* the fact is forgotten; widened, that is safe */
        s->unsure = k->exact;
        return true;
    }
    f->low = low;
    f->high = high;
    return true;
}

static void fact_remove(struct sync_state *s, int at)
{
    s->facts--;
    memmove(&s->fact[at], &s->fact[at + 1], sizeof s->fact[0] * (size_t)(s->facts - at));
}

/* Collects the leaves and sites in the scalars and accesses of the state. */
static void held_by(const struct sync_check *k, const struct sync_state *s, uint64_t held[2])
{
    held[0] = held[1] = 0;
    for (size_t i = 0; i < k->code.slots.count; i++)
        if (s->slot[i] >= 0) {
            held[0] |= sync_value_leaves(k, s->slot[i]);
            held[1] |= sync_value_at(k, s->slot[i])->sites;
        }
    for (int i = 0; i < s->done + s->flights; i++) {
        int number = i < s->done ? s->access[i] : s->flight[i - s->done].access;
        const struct sync_access *a = k->accesses.item.data[number];
        for (int axis = 0; axis < a->rank; axis++) {
            held[0] |= sync_value_leaves(k, a->start[axis]);
            held[1] |= k->exact ? sync_value_at(k, a->start[axis])->sites : 0;
        }
    }
}

static bool is_input(const struct sync_check *k, int form)
{
    const struct sync_value *v = sync_value_at(k, form);
    const struct atom *a = sync_atom_at(k, v->atom[0]);
    return v->terms == 1 &&
           (a->kind == ATOM_PARAM || (a->kind == ATOM_LOAD && a->sym->storage == ST_VIEW));
}

/* Exact: keeps dead facts if needed, because a fact also restricts the inputs that lead here.
 * Facts may be removed together with all facts connected to them, if there are inputs for these. */
static void keep_connected(struct sync_check *k, const struct sync_state *s, bool *dead)
{
    struct fact group[MAX_FACTS];
    int count = 0;
    bool again = true;
    while (again) {
        again = false;
        for (int i = 0; i < s->facts; i++)
            for (int j = 0; dead[i] && j < s->facts; j++) {
                uint64_t a[2], b[2];
                sync_fact_key(k, &s->fact[i], a);
                sync_fact_key(k, &s->fact[j], b);
                if (!dead[j] && ((a[0] & b[0]) || (a[1] & b[1]))) {
                    dead[i] = false;
                    again = true;
                }
            }
    }
    bool plain = true;
    for (int i = 0; i < s->facts; i++)
        if (dead[i]) {
            plain = plain && is_input(k, s->fact[i].form);
            group[count++] = s->fact[i];
        }
    if (count && !plain && !sync_facts_solve(k, group, count))
        memset(dead, 0, sizeof *dead * (size_t)s->facts);
}

/* Removes facts that no later instruction can need. */
static void facts_prune(struct sync_check *k, struct sync_state *s, uint64_t live)
{
    uint64_t held[2];
    bool dead[MAX_FACTS], any = false;
    if (!s->facts)
        return;
    held_by(k, s, held);
    for (int i = 0; i < s->facts; i++) {
        uint64_t key[2];
        sync_fact_key(k, &s->fact[i], key);
        dead[i] = k->exact ? !(key[0] & (held[0] | live)) && !key[1]
                           : (key[0] & ~(held[0] | live)) || (key[1] & ~held[1]);
        any = any || dead[i];
    }
    if (any && k->exact)
        keep_connected(k, s, dead);
    for (int i = s->facts - 1; any && i >= 0; i--)
        if (dead[i])
            fact_remove(s, i);
}

/* Forgets bounds that move away with a counter: they would make every round a new state. */
static void facts_forget_far(const struct sync_check *k, struct sync_state *s)
{
    for (int i = s->facts - 1; i >= 0; i--) {
        struct fact *f = &s->fact[i];
        if (!sync_value_at(k, f->form)->sites)
            continue;
        f->low = f->low > k->code.reach    ? k->code.reach
                 : f->low < -k->code.reach ? FACT_NONE
                                           : f->low;
        f->high = f->high < -k->code.reach  ? -k->code.reach
                  : f->high > k->code.reach ? FACT_MANY
                                            : f->high;
        if (f->low == FACT_NONE && f->high == FACT_MANY && f->residue < 0)
            fact_remove(s, i);
    }
}

enum { RETURNS = 1, RETURNS_NEVER };

/* Marks the atoms of a value that the state holds, and those that they are made of. */
static void mark_held(struct sync_check *k, int v)
{
    const struct sync_value *x = sync_value_at(k, v);
    for (int i = 0; i < x->terms; i++) {
        const struct atom *a = sync_atom_at(k, x->atom[i]);
        bool made = atom_is_made(a);
        if (k->returns.data[x->atom[i]] == RETURNS)
            continue;
        k->returns.data[x->atom[i]] = RETURNS;
        for (int j = 0; made && j < a->count; j++)
            mark_held(k, a->arg[j]);
    }
}

/* Returns true if an instruction from `earliest` on may make the atoms of v from others that may
 * return. */
static bool may_return(struct sync_check *k, int v, int earliest)
{
    const struct sync_value *x = sync_value_at(k, v);
    bool all = true;
    for (int i = 0; i < x->terms && all; i++) {
        const struct atom *a = sync_atom_at(k, x->atom[i]);
        int *known = &k->returns.data[x->atom[i]];
        bool made = atom_is_made(a);
        if (!*known) {
            bool again = !made || k->made_at.data[x->atom[i]] >= earliest;
            for (int j = 0; made && again && j < a->count; j++)
                again = may_return(k, a->arg[j], earliest);
            *known = again ? RETURNS : RETURNS_NEVER;
        }
        all = *known == RETURNS;
    }
    return all;
}

/* Widened: forgets facts about results of earlier rounds that no later instruction can make again.
 * They would multiply with the rounds. Hasty: only inputs make results again. */
static void facts_forget_past(struct sync_check *k, struct sync_state *s)
{
    if (!s->facts)
        return;
    while (k->returns.count < k->made_at.count)
        vec_push(k->arena, &k->returns, 0);
    memset(k->returns.data, 0, k->returns.count * sizeof k->returns.data[0]);
    int earliest = k->code.code.data[s->pc].earliest;
    for (int i = 0; i < s->facts && k->hasty; i++)
        may_return(k, s->fact[i].form, earliest);
    for (size_t i = 0; i < k->code.slots.count; i++)
        if (s->slot[i] >= 0)
            mark_held(k, s->slot[i]);
    for (int i = s->facts - 1; i >= 0; i--)
        if (!may_return(k, s->fact[i].form, earliest))
            fact_remove(s, i);
}

/* --- accesses and copies --- */

/* Gives up a path. Exact: findings on it are lost, so the check may not have found all. */
static void give_up_path(struct sync_check *k, const char *why)
{
    if (k->exact)
        k->doubts = true;
    else
        k->gave_up = why;
}

void sync_state_touch(struct sync_check *k, struct sync_state *s, int access)
{
    int at = s->done;
    while (at > 0 && s->access[at - 1] > access)
        at--;
    if (at > 0 && s->access[at - 1] == access)
        return;
    if (s->done == MAX_DONE) {
        give_up_path(k, "too many accesses between two barriers");
        return;
    }
    memmove(&s->access[at + 1], &s->access[at], sizeof s->access[0] * (size_t)(s->done - at));
    s->access[at] = access;
    s->done++;
}

void sync_state_launch(struct sync_check *k, struct sync_state *s, int access)
{
    if (s->flights == MAX_FLIGHTS) {
        give_up_path(k, "too many copies under way");
        return;
    }
    s->flight[s->flights++] = (struct flight){access, UNCOMMITTED, NEVER_LEFT};
}

static int compare_flights(const struct flight *a, const struct flight *b)
{
    if (a->age != b->age)
        return a->age > b->age ? -1 : 1;
    if (a->access != b->access)
        return a->access < b->access ? -1 : 1;
    return a->left - b->left;
}

/* Sorts copies, the oldest first; copies of one group get a canonical order, and equal ones are
 * kept once. */
static void sort_flights(struct sync_state *s)
{
    int count = 0;
    for (int i = 0; i < s->flights; i++) {
        struct flight f = s->flight[i];
        int at = count;
        while (at > 0 && compare_flights(&s->flight[at - 1], &f) > 0)
            at--;
        if (at > 0 && compare_flights(&s->flight[at - 1], &f) == 0)
            continue;
        memmove(&s->flight[at + 1], &s->flight[at], sizeof f * (size_t)(count - at));
        s->flight[at] = f;
        count++;
    }
    s->flights = count;
}

void sync_state_commit(const struct sync_check *k, struct sync_state *s)
{
    for (int i = 0; i < s->flights; i++)
        if (s->flight[i].age < k->code.deepest)
            s->flight[i].age++;
}

void sync_state_wait(struct sync_check *k, struct sync_state *s, int64_t groups)
{
    int left = 0;
    for (int i = 0; i < s->flights; i++) {
        struct flight f = s->flight[i];
        bool stays = groups > 0 && f.age < groups;
        if (stays) {
            f.left = f.age;
            s->flight[left++] = f;
            continue;
        }
        struct sync_access landed = *(const struct sync_access *)k->accesses.item.data[f.access];
        landed.waited = 1;
        sync_state_touch(k, s, sync_intern(&k->accesses, &landed, sizeof landed, NULL));
    }
    s->flights = left;
}

void sync_state_land(const struct sync_check *k, struct sync_state *s, int tile)
{
    int left = 0;
    for (int i = 0; i < s->flights; i++) {
        const struct sync_access *a = k->accesses.item.data[s->flight[i].access];
        if (a->tile != tile)
            s->flight[left++] = s->flight[i];
    }
    s->flights = left;
}

/* --- new values for old names --- */

enum { FAR_ROUNDS = 6 };

static int access_renew(struct sync_check *k, int access, int site, bool known, int64_t shift)
{
    struct sync_access a = *(const struct sync_access *)k->accesses.item.data[access];
    bool changed = false;
    for (int i = 0; i < a.rank; i++) {
        int start = sync_value_renew(k, a.start[i], site, known, shift);
        changed = changed || start != a.start[i];
        a.start[i] = start;
    }
    if (a.stored >= 0) {
        int stored = sync_value_renew(k, a.stored, site, known, shift);
        changed = changed || stored != a.stored;
        a.stored = stored == k->top ? -1 : stored;
    }
    return changed ? sync_intern(&k->accesses, &a, sizeof a, NULL) : access;
}

/* Settles bounds that move in every round. One bound grows weaker: it is removed when it says
 * little. The other grows stronger than any condition needs: it stays at a limit. */
static void fact_settle(struct fact *f, int64_t change)
{
    int64_t far = sync_mul_saturated(FAR_ROUNDS, change < 0 ? -change : change);
    if (change < 0) {
        f->low = f->low < 0 ? FACT_NONE : f->low;
        f->high = f->high < -far ? -far : f->high;
    } else {
        f->high = f->high > 0 ? FACT_MANY : f->high;
        f->low = f->low > far ? far : f->low;
    }
}

static void facts_renew(struct sync_check *k, struct sync_state *s, int site, bool known,
                        int64_t shift)
{
    for (int i = s->facts - 1; i >= 0; i--) {
        struct fact *f = &s->fact[i];
        if (!(sync_value_at(k, f->form)->sites >> (site & 63) & 1))
            continue;
        int moved = sync_value_renew(k, f->form, site, known, shift);
        if (moved == k->top) {
            fact_remove(s, i);
            continue;
        }
        int64_t change = -sync_value_at(k, moved)->c; /* form = moved, which is form' - change */
        f->low = sync_add_saturated(f->low, change);
        f->high = sync_add_saturated(f->high, change);
        fact_settle(f, change);
        bool counter = sync_value_at(k, f->form)->terms == 1;
        if (f->residue >= 0 && counter && f->residue + change >= 0 && k->code.modulus)
            f->residue = (int)((f->residue + change) % k->code.modulus);
        else
            f->residue = -1;
    }
}

void sync_state_renew(struct sync_check *k, struct sync_state *s, int site, bool known,
                      int64_t shift)
{
    if (known && shift == 0)
        return;
    for (size_t i = 0; i < k->code.slots.count; i++)
        if (s->slot[i] >= 0)
            s->slot[i] = sync_value_renew(k, s->slot[i], site, known, shift);
    facts_renew(k, s, site, known, shift);
    int done = s->done, old[MAX_DONE];
    memcpy(old, s->access, sizeof old[0] * (size_t)done);
    s->done = 0;
    for (int i = 0; i < done; i++)
        sync_state_touch(k, s, access_renew(k, old[i], site, known, shift));
    for (int i = 0; i < s->flights; i++)
        s->flight[i].access = access_renew(k, s->flight[i].access, site, known, shift);
}

/* --- widening --- */

/* Limits of rounds that are kept apart: ROUNDS_UNKNOWN if the end of the loop is not known,
 * ROUNDS_KNOWN if numbers decide it. */
enum { ROUNDS_UNKNOWN = 2, ROUNDS_KNOWN = 72, INDEX_LIMIT = 32, MANY_LANES = 600 };

/* Adds facts about a counter that now is c: its remainder, and its distance from forms that have
 * bounds. */
static void relate_counter(struct sync_check *k, struct sync_state *s, int wide, int64_t c)
{
    struct fact old[MAX_FACTS];
    int count = s->facts;
    memcpy(old, s->fact, sizeof old[0] * (size_t)count);
    for (int i = 0; i < count; i++) {
        int64_t scale;
        int difference = sync_value_add(k, old[i].form, wide, -1);
        if (sync_value_at(k, old[i].form)->sites || difference == k->top)
            continue;
        int64_t low = sync_sub_saturated(old[i].low, c), high = sync_sub_saturated(old[i].high, c);
        int form = sync_value_form(k, difference, &scale);
        if (scale == 1)
            sync_fact_add(k, s, form, low < 0 ? FACT_NONE : low, high);
        else if (scale == -1)
            sync_fact_add(k, s, form, high == FACT_MANY ? FACT_NONE : sync_sub_saturated(0, high),
                          low < 0 ? FACT_MANY : -low);
    }
    struct fact *f = fact_room(s, wide);
    if (!f)
        return;
    f->low = f->high = c;
    if (c >= 0 && k->code.modulus)
        f->residue = (int)(c % k->code.modulus);
}

/* Replaces the slot's value by "its value at the head of the loop". */
static void widen_to_counter(struct sync_check *k, struct sync_state *s, int slot)
{
    struct atom a = {
        .kind = ATOM_WIDE, .dtype = DT_I64, .site = -1 - slot, .low = FACT_NONE, .high = FACT_MANY};
    int wide = sync_value_atom(k, &a);
    struct sync_value old = *sync_value_at(k, s->slot[slot]);
    bool moved = old.kind == VALUE_SUM && old.terms == 1 && old.factor[0] == 1 &&
                 old.atom[0] == sync_value_at(k, wide)->atom[0] && old.c < INT32_MAX &&
                 old.c > -INT32_MAX;
    sync_state_renew(k, s, a.site, moved, old.c);
    s->slot[slot] = wide;
    if (!moved && old.kind == VALUE_SUM && !old.terms)
        relate_counter(k, s, wide, old.c);
}

static void widen_slot(struct sync_check *k, struct sync_state *s, int slot)
{
    if (s->slot[slot] < 0)
        return;
    const struct sym *sym = k->code.slots.data[slot].sym;
    if (sym && sym->storage == ST_REG) {
        s->slot[slot] = k->top;
        return;
    }
    const struct sync_value *v = sync_value_at(k, s->slot[slot]);
    bool indexes = k->code.slots.data[slot].indexes;
    bool near = v->c < INDEX_LIMIT || v->c < k->code.modulus;
    switch (v->kind) {
    case VALUE_TOP: break;
    case VALUE_SUM:
        if (v->terms || !indexes || !near || v->c < -INDEX_LIMIT)
            widen_to_counter(k, s, slot);
        break;
    case VALUE_LANES:
        if (!indexes || v->terms || k->lanes.item.count > MANY_LANES)
            s->slot[slot] = k->top;
        break;
    case VALUE_MODULAR: s->slot[slot] = sync_value_modular(k, v->c % v->step, v->step); break;
    }
}

static size_t pack(struct sync_check *k, struct sync_state *s, int pc);

/* Skips rounds that differ only in a counter: if one of them has led from a state back to
 * itself, the others do too. The last round still runs. */
static void skip_rounds(struct sync_check *k, struct sync_state *s, int number)
{
    const struct sync_loop *loop = &k->code.loops.data[number];
    int64_t now, left;
    int counter = s->slot[loop->counter], before = s->visits[number];
    if (counter < 0 || !sync_value_number(k, counter, &now) || now >= loop->bound)
        return;
    s->slot[loop->counter] = -1;
    s->visits[number] = 0;
    int head = 1 + sync_intern(&k->heads, k->blob, pack(k, s, s->pc), NULL);
    left = (loop->bound - 1 - now) / loop->step;
    if (head == before && left > 0) {
        counter = sync_value_int(k, now + left * loop->step);
        k->doubts = true; /* other paths through the rounds are left out */
    }
    s->slot[loop->counter] = counter;
    s->visits[number] = head;
}

bool sync_state_head(struct sync_check *k, struct sync_state *s, int number, bool ends)
{
    const struct sync_loop *loop = &k->code.loops.data[number];
    if (k->exact) {
        if (k->hasty && ends && loop->counter >= 0)
            skip_rounds(k, s, number);
        return !ends;
    }
    if (s->visits[number] <= (ends && !k->hasty ? ROUNDS_KNOWN : ROUNDS_UNKNOWN)) {
        s->visits[number]++;
        return !ends;
    }
    for (size_t i = 0; i < loop->slots.count; i++)
        widen_slot(k, s, loop->slots.data[i]);
    facts_forget_far(k, s);
    facts_forget_past(k, s);
    return true;
}

/* --- parking --- */

void sync_state_begin(struct sync_check *k, struct sync_state *s)
{
    *s = (struct sync_state){0};
    for (size_t i = 0; i < k->code.slots.count; i++)
        s->slot[i] = -1;
    s->slot[0] = k->one; /* the mask of all threads */
}

static int32_t *put(int32_t *to, const void *from, size_t count, size_t size)
{
    memcpy(to, from, count * size);
    return to + count * size / sizeof *to;
}

void sync_state_copy(const struct sync_check *k, struct sync_state *to,
                     const struct sync_state *from)
{
    to->pc = from->pc;
    to->unsure = from->unsure;
    to->fresh = from->fresh;
    to->facts = from->facts;
    to->done = from->done;
    to->flights = from->flights;
    memcpy(to->slot, from->slot, k->code.slots.count * sizeof to->slot[0]);
    memcpy(to->visits, from->visits, k->code.loops.count * sizeof to->visits[0]);
    memcpy(to->fact, from->fact, (size_t)from->facts * sizeof to->fact[0]);
    memcpy(to->access, from->access, (size_t)from->done * sizeof to->access[0]);
    memcpy(to->flight, from->flight, (size_t)from->flights * sizeof to->flight[0]);
}

/* Packs s into k->blob; returns the bytes. */
static size_t pack(struct sync_check *k, struct sync_state *s, int pc)
{
    facts_prune(k, s, k->code.code.data[pc].live);
    sort_flights(s);
    size_t slots = k->code.slots.count, loops = k->code.loops.count;
    int32_t head[6] = {pc, s->unsure, s->fresh, s->facts, s->done, s->flights};
    int32_t *to = k->blob;
    to = put(to, head, 6, sizeof head[0]);
    to = put(to, s->slot, slots, sizeof s->slot[0]);
    to = put(to, s->visits, loops, sizeof s->visits[0]);
    to = put(to, s->access, (size_t)s->done, sizeof s->access[0]);
    to = put(to, s->flight, (size_t)s->flights, sizeof s->flight[0]);
    to = put(to, s->fact, (size_t)s->facts, sizeof s->fact[0]);
    return (size_t)(to - k->blob) * sizeof *to;
}

void sync_state_park(struct sync_check *k, struct sync_state *s, int pc)
{
    bool is_new;
    size_t size = pack(k, s, pc);
    sync_intern(&k->states, k->blob, size, &is_new);
    k->stored += is_new ? size : 0;
    if (k->stored > k->store_limit)
        k->gave_up = "too many states";
}

static const int32_t *take(const int32_t *from, void *to, size_t count, size_t size)
{
    memcpy(to, from, count * size);
    return from + count * size / sizeof *from;
}

void sync_state_load(const struct sync_check *k, int number, struct sync_state *s)
{
    int32_t head[6];
    const int32_t *from = k->states.item.data[number];
    from = take(from, head, 6, sizeof head[0]);
    s->pc = head[0];
    s->unsure = head[1];
    s->fresh = head[2];
    s->facts = head[3];
    s->done = head[4];
    s->flights = head[5];
    from = take(from, s->slot, k->code.slots.count, sizeof s->slot[0]);
    from = take(from, s->visits, k->code.loops.count, sizeof s->visits[0]);
    from = take(from, s->access, (size_t)s->done, sizeof s->access[0]);
    from = take(from, s->flight, (size_t)s->flights, sizeof s->flight[0]);
    take(from, s->fact, (size_t)s->facts, sizeof s->fact[0]);
}

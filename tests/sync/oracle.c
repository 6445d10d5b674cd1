#include "oracle.h"

#include <stdlib.h>
#include <string.h>

/* --- traces --- */

enum { MAX_STEPS = 120, MAX_COPIES = 14 };
enum step_kind { STEP_ACCESS, STEP_COPY, STEP_COMMIT, STEP_WAIT, STEP_SYNC, STEP_LEAVE };

struct box {
    int tile, stage, first, end;
};
struct step {
    enum step_kind kind;
    bool reads, writes, atomic;
    struct box read, write;
    int c; /* WAIT: groups that may stay. COPY: its number in the trace. LEAVE: the tile */
    int line;
};
struct trace {
    int steps, copies;
    struct step step[MAX_STEPS];
};

struct unrolling {
    const struct program *p;
    int input[INPUTS];
    int stage[STAGE_VARIABLES], loop[LOOPS];
    struct trace *trace;
    bool planned;
    bool overflow, breaks, continues, returns;
};

static struct box place(const struct unrolling *u, const struct part *part)
{
    int stages = u->p->stages[part->tile], at = part->c;
    if (part->form == AT_STAGE)
        at = u->stage[part->variable];
    else if (part->form == AT_STAGE_UP)
        at = (u->stage[part->variable] + part->c) % stages;
    else if (part->form == AT_LOOP)
        at = (u->loop[part->variable] / u->p->step + part->c) % stages;
    else if (part->form == AT_INPUT)
        at = u->input[IN_X];
    int first = part->first;
    if (part->first_form == FIRST_LOOP)
        first = u->loop[part->first_loop] / u->p->step * part->rows % ROWS;
    else if (part->first_form == FIRST_INPUT)
        first = u->input[IN_X] * 2;
    if (at >= stages) /* beyond the tile: touches nothing */
        return (struct box){.tile = part->tile, .stage = at};
    return (struct box){part->tile, at, first, first + part->rows};
}

static int bound_of(const struct unrolling *u, int loop)
{
    int input = u->p->bound[loop];
    return input < 0 ? u->p->constant[loop] * u->p->step : u->input[input];
}

static bool holds(const struct unrolling *u, const struct node *n)
{
    switch (n->test) {
    case TEST_NOT_ZERO: return u->input[n->input] != 0;
    case TEST_ONE: return u->input[n->input] == 1;
    case TEST_ABOVE_ONE: return u->input[n->input] > 1;
    case TEST_FIRST: return u->loop[n->variable] == 0;
    case TEST_MORE: return u->loop[n->variable] + n->c * u->p->step < bound_of(u, n->variable);
    case TEST_SIZE: return u->input[n->input] > n->c * u->p->step;
    case TEST_BOTH: return u->input[n->input] != 0 && u->loop[n->variable] > 0;
    case TEST_ROUND: return u->loop[n->variable] / u->p->step % n->modulus == n->c;
    case TEST_STAGE: return u->stage[n->stage] == n->c;
    case TEST_LATE: return u->loop[n->variable] >= n->c * u->p->step;
    case TEST_FLAGS: return u->input[IN_F0] == u->input[IN_F1];
    }
    return false;
}

static void add_step(struct unrolling *u, struct step s)
{
    if (u->trace->steps == MAX_STEPS) {
        u->overflow = true;
        return;
    }
    u->trace->step[u->trace->steps++] = s;
}

static void add_copy(struct unrolling *u, const struct node *n)
{
    if (u->trace->copies == MAX_COPIES) {
        u->overflow = true;
        return;
    }
    add_step(u, (struct step){.kind = STEP_COPY,
                              .writes = true,
                              .write = place(u, &n->to),
                              .c = u->trace->copies++,
                              .line = n->line});
}

/* Every thread reads the element when it gets there: a step of its own. */
static void add_element(struct unrolling *u, const struct node *n)
{
    struct step s = {
        .kind = STEP_ACCESS, .line = n->line, .reads = true, .read = place(u, &n->from)};
    s.read.end = s.read.end ? s.read.first + 1 : 0;
    if (n->spelling != ELEMENT_TERNARY || u->input[IN_F0] != 0)
        add_step(u, s);
    struct step to = {
        .kind = STEP_ACCESS, .line = n->line, .writes = true, .write = place(u, &n->to)};
    to.atomic = n->spelling == ELEMENT_ADD;
    if (to.write.end && (n->spelling == ELEMENT_STORE || n->spelling == ELEMENT_ADD))
        to.write.end = to.write.first + 1;
    if (n->spelling < ELEMENT_COPY)
        add_step(u, to);
    else if (n->spelling == ELEMENT_COPY)
        add_copy(u, n);
    else if (n->spelling == ELEMENT_LOCK)
        add_step(u, (struct step){.kind = STEP_SYNC});
}

static void unroll(struct unrolling *u, int first);

/* Evaluates the condition of a loop. */
static bool go_on(struct unrolling *u, const struct node *n, bool holds)
{
    if (n->asks) {
        struct step s = {.kind = STEP_ACCESS, .line = n->condition_line, .reads = true};
        s.read = place(u, &n->from);
        s.read.end = s.read.first + 1;
        add_step(u, s);
    }
    return holds;
}

static void unroll_for(struct unrolling *u, const struct node *n)
{
    int *p = &u->loop[n->variable], bound = bound_of(u, n->variable);
    bool first = n->spelling == LOOP_DO;
    for (*p = 0; (first || go_on(u, n, *p < bound)) && !u->overflow && !u->returns;
         *p += u->p->step) {
        unroll(u, n->body);
        first = u->continues = false;
        if (u->breaks || u->returns)
            break;
    }
    u->breaks = false;
}

static void unroll_node(struct unrolling *u, const struct node *n)
{
    struct step s = {.kind = STEP_ACCESS, .line = n->line};
    switch (n->kind) {
    case NODE_READ:
    case NODE_WRITE:
    case NODE_MOVE:
    case NODE_ATOMIC:
        s.atomic = n->kind == NODE_ATOMIC;
        s.reads = n->kind == NODE_READ || n->kind == NODE_MOVE;
        s.writes = n->kind != NODE_READ;
        if (s.reads)
            s.read = place(u, &n->from);
        if (s.writes)
            s.write = place(u, &n->to);
        add_step(u, s);
        break;
    case NODE_COPY: add_copy(u, n); break;
    case NODE_ELEMENT: add_element(u, n); break;
    case NODE_COMMIT: add_step(u, (struct step){.kind = STEP_COMMIT}); break;
    case NODE_WAIT: add_step(u, (struct step){.kind = STEP_WAIT, .c = n->c}); break;
    case NODE_SYNC: add_step(u, (struct step){.kind = STEP_SYNC}); break;
    case NODE_STAGE: u->stage[n->variable] = (u->stage[n->variable] + n->c) % n->modulus; break;
    case NODE_FOR: unroll_for(u, n); break;
    case NODE_IF: unroll(u, holds(u, n) ? n->body : n->otherwise); break;
    case NODE_SCOPE:
        if (u->planned && u->p->barrier[n->c])
            add_step(u, (struct step){.kind = STEP_SYNC});
        unroll(u, n->body);
        add_step(u, (struct step){.kind = STEP_LEAVE, .c = n->c});
        break;
    case NODE_FREE: add_step(u, (struct step){.kind = STEP_LEAVE, .c = n->c}); break;
    case NODE_BREAK: u->breaks = true; break;
    case NODE_CONTINUE: u->continues = true; break;
    case NODE_RETURN: u->returns = true; break;
    }
}

static void unroll(struct unrolling *u, int first)
{
    for (int i = first; i >= 0; i = u->p->node[i].next) {
        if (u->overflow || u->breaks || u->continues || u->returns)
            return;
        unroll_node(u, &u->p->node[i]);
    }
}

/* --- interleavings --- */

static bool overlap(const struct box *a, const struct box *b)
{
    return a->tile == b->tile && a->stage == b->stage && a->first < b->end && b->first < a->end;
}

static bool on_same_bytes(const struct program *p, const struct box *a, const struct box *b)
{
    return a->tile != b->tile && p->offset[a->tile] < p->offset[b->tile] + p->bytes[b->tile] &&
           p->offset[b->tile] < p->offset[a->tile] + p->bytes[a->tile];
}

/* Returns true for a conflict of tiles that share bytes. */
static bool planned_conflict(const struct program *p, const struct step *a, const struct step *b)
{
    return (a->writes && b->writes && on_same_bytes(p, &a->write, &b->write)) ||
           (a->writes && b->reads && on_same_bytes(p, &a->write, &b->read)) ||
           (a->reads && b->writes && on_same_bytes(p, &a->read, &b->write));
}

static bool conflict(const struct step *a, const struct step *b)
{
    if (a->atomic && b->atomic)
        return false;
    return (a->writes && b->writes && overlap(&a->write, &b->write)) ||
           (a->writes && b->reads && overlap(&a->write, &b->read)) ||
           (a->reads && b->writes && overlap(&a->read, &b->write));
}

/* The state of two threads: the position of each, and the copies that each began and that have
 * not landed. */
struct moment {
    uint8_t at[2];
    uint16_t under_way[2];
};

enum { TABLE = 1 << 15 };
struct walk {
    const struct trace *t;
    const struct program *planned; /* NULL: tiles do not share bytes */
    int copy_step[MAX_COPIES];
    uint16_t awaited[MAX_STEPS]; /* by a WAIT: copies that must have landed before it ends */
    struct moment queue[TABLE / 2];
    int count;
    uint64_t table[TABLE]; /* moment + 1; cleared through `used` */
    int used[TABLE / 2];
    struct oracle_answer *out;
};

bool oracle_has_pair(const struct oracle_answer *a, int line, int other)
{
    int low = line < other ? line : other, high = line < other ? other : line;
    for (int i = 0; i < a->pairs; i++)
        if (a->pair[i][0] == low && a->pair[i][1] == high)
            return true;
    return false;
}

static void wrong(struct oracle_answer *out, int line, int other)
{
    out->wrong = true;
    if (oracle_has_pair(out, line, other) || out->pairs == MAX_PAIRS)
        return;
    out->pair[out->pairs][0] = line < other ? line : other;
    out->pair[out->pairs++][1] = line < other ? other : line;
}

/* Both threads run the same program, so moments that differ only by an exchange of the threads
 * are one. */
static void visit(struct walk *w, struct moment m)
{
    if (m.at[0] < m.at[1] || (m.at[0] == m.at[1] && m.under_way[0] < m.under_way[1]))
        m = (struct moment){{m.at[1], m.at[0]}, {m.under_way[1], m.under_way[0]}};
    uint64_t key = 1 + ((uint64_t)m.at[0] | (uint64_t)m.at[1] << 8 |
                        (uint64_t)m.under_way[0] << 16 | (uint64_t)m.under_way[1] << 32);
    uint64_t h = key * 0x9e3779b97f4a7c15u >> 40 & (TABLE - 1);
    for (; w->table[h]; h = (h + 1) & (TABLE - 1))
        if (w->table[h] == key)
            return;
    if (w->count == TABLE / 2) {
        w->out->too_large = true;
        return;
    }
    w->table[h] = key;
    w->used[w->count] = (int)h;
    w->queue[w->count++] = m;
}

/* Returns the copies that must have landed before the wait at position `at` ends. */
static uint16_t awaited(const struct trace *t, int at)
{
    int committed = 0;
    for (int i = 0; i < at; i++)
        committed += t->step[i].kind == STEP_COMMIT;
    uint16_t mask = 0;
    int groups = 0;
    for (int i = 0; i < at; i++) {
        groups += t->step[i].kind == STEP_COMMIT;
        bool in_group =
            groups < committed; /* a commit follows before the wait: group number `groups` */
        if (t->step[i].kind == STEP_COPY &&
            (t->step[at].c == 0 || (in_group && groups < committed - t->step[at].c)))
            mask = (uint16_t)(mask | 1u << t->step[i].c);
    }
    return mask;
}

/* Returns true if a thread at this position leaves the kernel, or the tile's scope. */
static bool leaves(const struct trace *t, int at, int tile)
{
    return at == t->steps || (t->step[at].kind == STEP_LEAVE && t->step[at].c == tile);
}

static bool conflicts(const struct walk *w, const struct step *a, const struct step *b)
{
    return w->planned ? planned_conflict(w->planned, a, b) : conflict(a, b);
}

/* Finds accesses that can happen together at this moment. */
static void look(struct walk *w, const struct moment *m)
{
    const struct trace *t = w->t;
    const struct step *next[2] = {NULL};
    for (int i = 0; i < 2; i++)
        if (m->at[i] < t->steps && t->step[m->at[i]].kind == STEP_ACCESS)
            next[i] = &t->step[m->at[i]];
    if (next[0] && next[1] && next[0] != next[1] && conflicts(w, next[0], next[1]))
        wrong(w->out, next[0]->line, next[1]->line);
    uint16_t any = (uint16_t)(m->under_way[0] | m->under_way[1]);
    for (int c = 0; c < t->copies; c++) {
        if (!(any >> c & 1))
            continue;
        const struct step *copy = &t->step[w->copy_step[c]];
        for (int i = 0; i < 2; i++)
            if (next[i] && conflicts(w, copy, next[i]))
                wrong(w->out, copy->line, next[i]->line);
        for (int d = 0; d < c; d++)
            if ((any >> d & 1) && conflicts(w, copy, &t->step[w->copy_step[d]]))
                wrong(w->out, copy->line, t->step[w->copy_step[d]].line);
        for (int i = 0; i < 2; i++)
            if (!w->planned && copy->write.end && (m->under_way[i] >> c & 1) &&
                leaves(t, m->at[i], copy->write.tile))
                wrong(w->out, copy->line, 0);
    }
}

static void advance(struct walk *w, const struct moment *m, int thread)
{
    const struct trace *t = w->t;
    struct moment after = *m;
    if (m->at[thread] == t->steps)
        return;
    const struct step *s = &t->step[m->at[thread]];
    after.at[thread]++;
    if (s->kind == STEP_SYNC) {
        if (m->at[0] != m->at[1] || thread == 1)
            return;
        after.at[1]++;
    }
    if (s->kind == STEP_WAIT && (m->under_way[thread] & w->awaited[m->at[thread]]))
        return;
    if (s->kind == STEP_COPY)
        after.under_way[thread] = (uint16_t)(after.under_way[thread] | 1u << s->c);
    visit(w, after);
}

static void walk_all(struct walk *w)
{
    visit(w, (struct moment){0});
    for (int i = 0; i < w->count; i++) {
        struct moment m = w->queue[i];
        look(w, &m);
        for (int thread = 0; thread < 2; thread++) {
            advance(w, &m, thread);
            for (int c = 0; c < w->t->copies; c++) {
                struct moment after = m;
                after.under_way[thread] = (uint16_t)(m.under_way[thread] & ~(1u << c));
                if (after.under_way[thread] != m.under_way[thread])
                    visit(w, after);
            }
        }
    }
    for (int i = 0; i < w->count; i++)
        w->table[w->used[i]] = 0;
    w->count = 0;
}

/* --- inputs --- */

static uint64_t trace_hash(const struct trace *t)
{
    uint64_t h = 0xcbf29ce484222325u;
    const unsigned char *p = (const unsigned char *)t->step;
    for (size_t i = 0; i < sizeof t->step[0] * (size_t)t->steps; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

enum { MAX_SEEN = 4096 };
struct asking {
    struct trace trace;
    struct walk walk;
    uint64_t seen[MAX_SEEN];
    int seen_count;
};

static void ask_inputs(struct asking *a, const struct program *p, const int *input,
                       struct oracle_answer *out)
{
    memset(&a->trace, 0, sizeof a->trace);
    struct unrolling u = {.p = p, .trace = &a->trace, .planned = a->walk.planned};
    memcpy(u.input, input, sizeof u.input);
    unroll(&u, p->first);
    if (u.overflow) {
        out->too_large = true;
        return;
    }
    uint64_t h = trace_hash(&a->trace);
    for (int i = 0; i < a->seen_count; i++)
        if (a->seen[i] == h)
            return;
    if (a->seen_count < MAX_SEEN)
        a->seen[a->seen_count++] = h;
    a->walk.t = &a->trace;
    a->walk.out = out;
    for (int i = 0; i < a->trace.steps; i++) {
        if (a->trace.step[i].kind == STEP_COPY)
            a->walk.copy_step[a->trace.step[i].c] = i;
        a->walk.awaited[i] = a->trace.step[i].kind == STEP_WAIT ? awaited(&a->trace, i) : 0;
    }
    walk_all(&a->walk);
}

static void ask(const struct program *p, int trips, bool planned, struct oracle_answer *out)
{
    int values[INPUTS] = {trips + 1, trips + 1, 3, 3, 5}, input[INPUTS], total = 1;
    struct asking *a = calloc(1, sizeof *a);
    *out = (struct oracle_answer){0};
    if (!a)
        abort();
    a->walk.planned = planned ? p : NULL;
    for (int i = 0; i < INPUTS; i++)
        total *= p->uses[i] ? values[i] : 1;
    for (int n = 0; n < total; n++) {
        for (int i = 0, rest = n; i < INPUTS; i++) {
            int count = p->uses[i] ? values[i] : 1;
            input[i] = rest % count * (i <= IN_N1 ? p->step : 1);
            rest /= count;
        }
        ask_inputs(a, p, input, out);
    }
    free(a);
}

void oracle_ask(const struct program *p, int trips, struct oracle_answer *out)
{
    ask(p, trips, false, out);
}

void oracle_ask_planned(const struct program *p, int trips, struct oracle_answer *out)
{
    ask(p, trips, true, out);
}

/* Random small tile programs: compares the static synchronisation check with the oracle.
 *
 *     random_programs [COUNT [SEED [-v]]]
 *
 * Each program is printed as a kernel, compiled by `lang`, checked, and unrolled for the oracle.
 * The test fails if a race is missed, if there is a false alarm, if a report names lines that do
 * not race, or if more than 1% remain undecided. Then the kernel is planned: tiles that share
 * bytes must not be in use at the same time. */
#include "chance.h"
#include "oracle.h"

#include "lang/lang.h"
#include "tile/passes.h"
#include "synccheck/synccheck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- making --- */

struct maker {
    struct program *p;
    struct chance *r;
    int sync_percent, wait_percent;
    int loops[LOOPS], loops_open, loops_made; /* around the present place */
    int left;                                 /* nodes to spend */
    bool in_for;
    bool slices, plain_stages;
    int scope;       /* its tile; 0: not in a scope */
    bool only_local; /* the other tiles are freed */
};

static int new_node(struct maker *m, enum node_kind kind)
{
    int i = m->p->nodes++;
    m->p->node[i] =
        (struct node){.kind = kind, .body = -1, .otherwise = -1, .next = -1, .input = -1};
    m->left--;
    return i;
}

static void make_first(struct maker *m, struct part *part)
{
    if (m->loops_open && percent(m->r, 25)) {
        part->first_form = FIRST_LOOP;
        part->first_loop = m->loops[below(m->r, m->loops_open)];
    } else if (percent(m->r, 10)) {
        part->first_form = FIRST_INPUT;
        part->rows = 2;
        m->p->uses[IN_X] = true;
    }
}

static struct part make_part(struct maker *m)
{
    struct part part = {.tile = below(m->r, m->p->tiles), .rows = ROWS};
    if (m->scope && (m->only_local || percent(m->r, 60))) {
        part.tile = m->scope;
        return part;
    }
    int stages = m->p->stages[part.tile];
    part.c = below(m->r, stages);
    part.variable = below(m->r, STAGE_VARIABLES);
    if (stages > 1 && !m->plain_stages) {
        int form = below(m->r, 100);
        part.form = form < 20 ? AT_CONSTANT : form < 50 ? AT_STAGE : AT_STAGE_UP;
        if (form >= 80 && m->loops_open) {
            part.form = AT_LOOP;
            part.variable = m->loops[below(m->r, m->loops_open)];
        } else if (form >= 97) {
            part.form = AT_INPUT;
            m->p->uses[IN_X] = true;
        }
    }
    if (m->slices && percent(m->r, 50)) {
        part.rows = percent(m->r, 50) ? ROWS / 2 : ROWS / 4;
        part.first = below(m->r, ROWS / part.rows) * part.rows;
        make_first(m, &part);
        part.gathered = part.rows == ROWS / 2 && part.first == 0 &&
                        part.first_form == FIRST_CONSTANT && percent(m->r, 50);
    }
    return part;
}

static int make_list(struct maker *m, int depth);

static int make_for(struct maker *m, int depth)
{
    int loop = m->loops_made++, i = new_node(m, NODE_FOR);
    m->p->node[i].variable = loop;
    m->p->bound[loop] = percent(m->r, 75) ? IN_N0 + below(m->r, 2) : -1;
    m->p->constant[loop] = 1 + below(m->r, 3);
    if (m->p->bound[loop] >= 0)
        m->p->uses[m->p->bound[loop]] = true;
    m->p->node[i].spelling = percent(m->r, 70)   ? LOOP_FOR
                             : percent(m->r, 60) ? LOOP_WHILE
                                                 : LOOP_DO;
    m->p->node[i].asks = percent(m->r, 30);
    if (m->p->node[i].asks) {
        struct part from = make_part(m);
        from.gathered = false;
        m->p->node[i].from = from;
    }
    m->loops[m->loops_open++] = loop;
    bool around = m->in_for;
    m->in_for = m->p->node[i].spelling == LOOP_FOR;
    int body = make_list(m, depth + 1);
    m->in_for = around;
    m->loops_open--;
    m->p->node[i].body = body;
    return i;
}

static int make_if(struct maker *m, int depth)
{
    int i = new_node(m, NODE_IF);
    struct node *n = &m->p->node[i];
    n->variable = m->loops_open ? m->loops[m->loops_open - 1] : 0;
    n->input = IN_F0 + below(m->r, 2);
    if (m->loops_open && percent(m->r, 50)) {
        int form = below(m->r, 12);
        n->test = form < 3    ? TEST_FIRST
                  : form < 6  ? TEST_MORE
                  : form < 7  ? TEST_BOTH
                  : form < 9  ? TEST_ROUND
                  : form < 10 ? TEST_STAGE
                              : TEST_LATE;
        n->modulus = 2 + below(m->r, 3);
        n->stage = below(m->r, STAGE_VARIABLES);
        n->c = n->test >= TEST_ROUND ? below(m->r, n->modulus) : percent(m->r, 75) ? 1 : 2;
        m->p->uses[n->input] |= n->test == TEST_BOTH;
    } else if (percent(m->r, 25)) {
        n->test = TEST_SIZE;
        n->input = IN_N0 + below(m->r, 2);
        n->c = below(m->r, 3);
        m->p->uses[n->input] = true;
    } else if (percent(m->r, 10)) {
        n->test = TEST_FLAGS;
        m->p->uses[IN_F0] = m->p->uses[IN_F1] = true;
    } else {
        n->test = (enum test_form)below(m->r, 3);
        m->p->uses[n->input] = true;
    }
    int body = make_list(m, depth + 1);
    m->p->node[i].body = body;
    if (percent(m->r, 35) && m->left > 0) {
        int otherwise = make_list(m, depth + 1);
        m->p->node[i].otherwise = otherwise;
    }
    return i;
}

static int make_stage(struct maker *m)
{
    int i = new_node(m, NODE_STAGE);
    m->p->node[i].variable = below(m->r, STAGE_VARIABLES);
    m->p->node[i].modulus = m->p->stages[below(m->r, m->p->tiles)];
    m->p->node[i].c = 1 + (percent(m->r, 15) ? below(m->r, 2) : 0);
    m->p->node[i].spelling = percent(m->r, 70) ? 0 : 1;
    return i;
}

static int make_scope(struct maker *m, int depth)
{
    int i = new_node(m, NODE_SCOPE);
    m->scope = m->p->node[i].c = LOCAL_TILE + m->p->scopes++;
    int body = make_list(m, depth + 1);
    m->scope = 0;
    m->p->node[i].body = body;
    return i;
}

static int make_jump(struct maker *m)
{
    if (m->loops_open && percent(m->r, 75))
        return new_node(m, m->in_for && percent(m->r, 40) ? NODE_CONTINUE : NODE_BREAK);
    return new_node(m, NODE_RETURN);
}

static int make_node(struct maker *m, int depth)
{
    int kind = below(m->r, 100), i;
    if (kind < 12 && depth < 2 && m->loops_made < LOOPS && m->left > 2)
        return make_for(m, depth);
    if (kind < 20 && depth < 3 && m->left > 1)
        return make_if(m, depth);
    if (kind < 28)
        return make_stage(m);
    if (kind < 31 && depth > 1 && !m->scope)
        return make_jump(m);
    if (kind < 35 && !m->scope && LOCAL_TILE + m->p->scopes < MAX_TILES - 1 && depth < 3 &&
        m->left > 1)
        return make_scope(m, depth);
    if (kind < 44) {
        i = new_node(m, NODE_COMMIT);
    } else if (kind < 44 + m->wait_percent) {
        i = new_node(m, NODE_WAIT);
        m->p->node[i].c = percent(m->r, 60) ? 0 : 1 + below(m->r, 2);
    } else {
        static const enum node_kind access[] = {NODE_READ, NODE_READ, NODE_WRITE,  NODE_MOVE,
                                                NODE_COPY, NODE_COPY, NODE_ATOMIC, NODE_ELEMENT};
        i = new_node(m, access[below(m->r, 8)]);
        struct part from = make_part(m), to = make_part(m);
        if (m->p->node[i].kind == NODE_MOVE && from.rows != to.rows) {
            to.rows = from.rows; /* a move keeps the shape */
            to.first = 0;
            to.first_form = FIRST_CONSTANT;
        }
        if (m->p->node[i].kind == NODE_ELEMENT) {
            m->p->node[i].spelling = below(m->r, ELEMENT_FORMS);
            m->p->uses[IN_F0] |= m->p->node[i].spelling == ELEMENT_TERNARY;
        }
        bool whole_rows = m->p->node[i].kind == NODE_READ || m->p->node[i].kind == NODE_WRITE;
        from.gathered = from.gathered && whole_rows;
        to.gathered = to.gathered && whole_rows;
        m->p->node[i].from = from;
        m->p->node[i].to = to;
    }
    return i;
}

/* lock, unlock and arrive are barriers too. */
static int make_sync(struct maker *m)
{
    int i = new_node(m, NODE_SYNC);
    m->p->node[i].spelling = percent(m->r, 5) ? 1 + below(m->r, 4) : 0;
    return i;
}

/* Links `i` after *last. */
static void link_node(struct maker *m, int *first, int *last, int i)
{
    if (*last >= 0)
        m->p->node[*last].next = i;
    else
        *first = i;
    *last = i;
}

static int make_list(struct maker *m, int depth)
{
    int first = -1, last = -1, count = 1 + below(m->r, depth ? 4 : 7);
    for (int i = 0; i < count && (m->left > 0 || i == 0) && m->p->nodes < MAX_NODES - 8; i++) {
        int node = make_node(m, depth);
        enum node_kind kind = m->p->node[node].kind;
        link_node(m, &first, &last, node);
        if (kind == NODE_BREAK || kind == NODE_CONTINUE || kind == NODE_RETURN)
            break;
        if (kind == NODE_COPY && percent(m->r, 50))
            link_node(m, &first, &last, new_node(m, NODE_COMMIT));
        if (kind == NODE_WAIT ? percent(m->r, 85) : percent(m->r, m->sync_percent))
            link_node(m, &first, &last, make_sync(m));
    }
    return first;
}

/* Frees the scope's tiles; others live on. */
static void make_frees(struct maker *m, int *first, int *last)
{
    for (int t = 0; t < m->p->tiles; t++) {
        int i = new_node(m, NODE_FREE);
        m->p->node[i].c = t;
        link_node(m, first, last, i);
    }
    m->only_local = true;
    m->left = 4;
    link_node(m, first, last, make_scope(m, 2));
}

/* Anything at all. */
static void make_wild(struct maker *m)
{
    m->sync_percent = 25 + below(m->r, 76);
    m->wait_percent = 10 + below(m->r, 25);
    m->left = 4 + below(m->r, 11);
    int first = make_list(m, 0), last = first;
    while (last >= 0 && m->p->node[last].next >= 0)
        last = m->p->node[last].next;
    if (percent(m->r, 60)) {
        link_node(m, &first, &last, new_node(m, NODE_WAIT));
        if (percent(m->r, 50))
            link_node(m, &first, &last, make_sync(m));
    }
    if (percent(m->r, 20) && m->p->nodes < MAX_NODES - 12)
        make_frees(m, &first, &last);
    m->p->first = first;
}

/* Makes a loop at the end of the scope whose condition reads the scope's tile, with a barrier in
 * each iteration. */
static void make_last_loop(struct maker *m, int scope)
{
    int last = m->p->node[scope].body, tile = m->p->node[scope].c, loop, end;
    m->scope = tile;
    loop = make_for(m, 1);
    m->scope = 0;
    m->p->node[loop].asks = true;
    m->p->node[loop].from = (struct part){.tile = tile, .rows = ROWS};
    for (end = m->p->node[loop].body; m->p->node[end].next >= 0;)
        end = m->p->node[end].next;
    int sync = new_node(m, NODE_SYNC);
    m->p->node[end].next = sync;
    while (m->p->node[last].next >= 0)
        last = m->p->node[last].next;
    m->p->node[last].next = loop;
}

/* Makes scopes one after the other, so that their tiles may share bytes. */
static void make_scopes(struct maker *m)
{
    int first = -1, last = -1, count = 2 + below(m->r, 2);
    m->sync_percent = 40 + below(m->r, 61);
    m->wait_percent = 10;
    m->left = 12;
    for (int i = 0; i < count; i++) {
        int scope = make_scope(m, 0), begin = new_node(m, NODE_WRITE);
        struct part whole = {.tile = m->p->node[scope].c, .rows = ROWS};
        m->p->node[begin].to = whole;
        m->p->node[begin].next = m->p->node[scope].body;
        m->p->node[scope].body = begin;
        if (percent(m->r, 50) && m->loops_made < LOOPS)
            make_last_loop(m, scope);
        link_node(m, &first, &last, scope);
    }
    m->p->first = first;
}

static struct part stage_part(int tile, int variable, int c)
{
    return (struct part){.tile = tile,
                         .form = c ? AT_STAGE_UP : AT_STAGE,
                         .variable = variable,
                         .c = c,
                         .rows = ROWS};
}

static int add_copy(struct maker *m, int *first, int *last, struct part to)
{
    int i = new_node(m, NODE_COPY);
    m->p->node[i].to = to;
    link_node(m, first, last, i);
    return i;
}

static void add_kind(struct maker *m, int *first, int *last, enum node_kind kind, int c)
{
    int i = new_node(m, kind);
    m->p->node[i].c = c;
    link_node(m, first, last, i);
}

/* Makes the body of a ring of S stages: wait, barrier, next copy, use, next stage. */
static int make_ring_body(struct maker *m, int stages, int ahead, bool loop_index)
{
    int first = -1, last = -1;
    struct part now = stage_part(0, 0, 0), next = stage_part(0, 0, ahead % stages);
    if (loop_index) {
        now = (struct part){.form = AT_LOOP, .rows = ROWS};
        next = (struct part){.form = AT_LOOP, .c = ahead, .rows = ROWS};
    }
    bool guarded = percent(m->r, 25);
    add_kind(m, &first, &last, NODE_WAIT, ahead - 1);
    add_kind(m, &first, &last, NODE_SYNC, 0);
    if (guarded) {
        int test = new_node(m, NODE_IF), in = -1, in_last = -1;
        m->p->node[test].test = TEST_MORE;
        link_node(m, &first, &last, test);
        add_copy(m, &in, &in_last, next);
        m->p->node[test].body = in;
    } else {
        add_copy(m, &first, &last, next);
    }
    add_kind(m, &first, &last, NODE_COMMIT, 0);
    int use = new_node(m, NODE_READ);
    m->p->node[use].from = now;
    link_node(m, &first, &last, use);
    if (percent(m->r, 30))
        add_kind(m, &first, &last, NODE_SYNC, 0);
    if (!loop_index || percent(m->r, 20)) {
        int step = new_node(m, NODE_STAGE);
        m->p->node[step].c = 1;
        m->p->node[step].modulus = stages;
        link_node(m, &first, &last, step);
    }
    return first;
}

/* Makes a pipeline as programmers write it by hand, before mutation. */
static void make_ring(struct maker *m)
{
    int stages = 2 + below(m->r, 4), ahead = stages - 1, first = -1, last = -1;
    m->p->stages[0] = stages;
    for (int s = 0; s < ahead; s++) {
        add_copy(m, &first, &last, (struct part){.c = s, .rows = ROWS});
        add_kind(m, &first, &last, NODE_COMMIT, 0);
    }
    int loop = new_node(m, NODE_FOR);
    m->loops_made = 1;
    m->p->bound[0] = percent(m->r, 80) ? IN_N0 : -1;
    m->p->constant[0] = 1 + below(m->r, 4);
    m->p->uses[IN_N0] = m->p->bound[0] >= 0;
    link_node(m, &first, &last, loop);
    int body = make_ring_body(m, stages, ahead, percent(m->r, 35));
    m->p->node[loop].body = body;
    add_kind(m, &first, &last, NODE_WAIT, 0);
    m->p->first = first;
}

/* Makes a loop of load, barrier, use, barrier. */
static void make_plain_loop(struct maker *m)
{
    int first = -1, last = -1, in = -1, in_last = -1, loop = new_node(m, NODE_FOR);
    bool copies = percent(m->r, 50);
    m->p->bound[0] = percent(m->r, 80) ? IN_N0 : -1;
    m->p->constant[0] = 1 + below(m->r, 3);
    m->p->uses[IN_N0] = m->p->bound[0] >= 0;
    m->loops_made = 1;
    for (int t = 0; t < m->p->tiles; t++) {
        int i = new_node(m, copies ? NODE_COPY : NODE_WRITE);
        m->p->node[i].to = (struct part){.tile = t, .rows = ROWS};
        link_node(m, &in, &in_last, i);
    }
    if (copies)
        add_kind(m, &in, &in_last, NODE_WAIT, 0);
    add_kind(m, &in, &in_last, NODE_SYNC, 0);
    for (int t = 0; t < m->p->tiles; t++) {
        int i = new_node(m, NODE_READ);
        m->p->node[i].from = (struct part){.tile = t, .rows = ROWS};
        link_node(m, &in, &in_last, i);
    }
    add_kind(m, &in, &in_last, NODE_SYNC, 0);
    m->p->node[loop].body = in;
    link_node(m, &first, &last, loop);
    m->p->first = first;
}

/* Removes a node from its list: links to it go to the node after it. */
static void unlink_node(struct program *p, int gone)
{
    int next = p->node[gone].next;
    if (p->first == gone)
        p->first = next;
    for (int i = 0; i < p->nodes; i++) {
        struct node *n = &p->node[i];
        n->next = n->next == gone ? next : n->next;
        n->body = n->body == gone ? next : n->body;
        n->otherwise = n->otherwise == gone ? next : n->otherwise;
    }
}

static void mutate(struct maker *m)
{
    struct program *p = m->p;
    int i = below(m->r, p->nodes);
    struct node *n = &p->node[i];
    switch (n->kind) {
    case NODE_SYNC:
    case NODE_COMMIT: unlink_node(p, i); break;
    case NODE_WAIT:
        if (percent(m->r, 50))
            unlink_node(p, i);
        else
            n->c = percent(m->r, 50) && n->c ? n->c - 1 : n->c + 1;
        break;
    case NODE_COPY: n->to.c = (n->to.c + 1) % p->stages[n->to.tile]; break;
    case NODE_READ:
        if (n->from.form == AT_STAGE)
            n->from.form = AT_STAGE_UP;
        n->from.c = (n->from.c + 1) % p->stages[n->from.tile];
        break;
    case NODE_STAGE: n->c++; break;
    default: break;
    }
}

static void make_program(struct program *p, struct chance *r)
{
    struct maker m = {.p = p, .r = r, .left = 20};
    *p = (struct program){.first = -1, .step = percent(r, 50) ? 1 : 4, .tiles = 1 + below(r, 2)};
    for (int t = 0; t < MAX_TILES; t++)
        p->stages[t] = 1 + below(r, percent(r, 75) ? 3 : 5);
    for (int t = LOCAL_TILE; t < MAX_TILES; t++)
        p->stages[t] = 1;
    p->counts_up = percent(r, 10);
    p->loaded_flag = percent(r, 30);
    m.slices = percent(r, 30);
    int form = below(r, 100);
    if (form < 25)
        make_ring(&m);
    else if (form < 35)
        make_plain_loop(&m);
    else if (form < 43)
        make_scopes(&m);
    else
        make_wild(&m);
    for (int i = form < 35 ? below(r, 3) : 0; i > 0; i--)
        mutate(&m);
}

/* --- printing --- */

struct printer {
    char text[16384];
    size_t length;
    int line;
    struct program *p;
};

static void print(struct printer *o, int indent, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = snprintf(o->text + o->length, sizeof o->text - o->length, "%*s", indent * 4, "");
    o->length += (size_t)n;
    n = vsnprintf(o->text + o->length, sizeof o->text - o->length, format, args);
    o->length += (size_t)n;
    va_end(args);
    if (o->length > sizeof o->text - 512)
        abort();
    o->text[o->length++] = '\n';
    o->text[o->length] = '\0';
    o->line++;
}

static const char *part_text(const struct program *p, const struct part *part, char *out)
{
    char at[64];
    int stages = p->stages[part->tile];
    switch (part->form) {
    case AT_CONSTANT: snprintf(at, sizeof at, "%d", part->c); break;
    case AT_STAGE: snprintf(at, sizeof at, "s%d", part->variable); break;
    case AT_STAGE_UP:
        snprintf(at, sizeof at, "(s%d + %d) %% %d", part->variable, part->c, stages);
        break;
    case AT_LOOP:
        if (p->step == 1)
            snprintf(at, sizeof at, "(p%d + %d) %% %d", part->variable, part->c, stages);
        else
            snprintf(at, sizeof at, "(p%d / %d + %d) %% %d", part->variable, p->step, part->c,
                     stages);
        break;
    case AT_INPUT: snprintf(at, sizeof at, "x"); break;
    }
    if (part->rows == ROWS)
        snprintf(out, 128, "t%d[%s]", part->tile, at);
    else if (part->gathered)
        snprintf(out, 128, "t%d[%s][rows[:]]", part->tile, at);
    else if (part->first_form == FIRST_LOOP)
        snprintf(out, 128, "t%d[%s][p%d / %d * %d %% %d +: %d]", part->tile, at, part->first_loop,
                 p->step, part->rows, ROWS, part->rows);
    else if (part->first_form == FIRST_INPUT)
        snprintf(out, 128, "t%d[%s][x * 2 +: %d]", part->tile, at, part->rows);
    else
        snprintf(out, 128, "t%d[%s][%d +: %d]", part->tile, at, part->first, part->rows);
    return out;
}

static const char *bound_text(const struct program *p, int loop, char *out)
{
    if (p->bound[loop] >= 0)
        snprintf(out, 32, "n%d", p->bound[loop]);
    else
        snprintf(out, 32, "%d", p->constant[loop] * p->step);
    return out;
}

static void print_list(struct printer *o, int first, int indent);

static void print_test(struct printer *o, const struct node *n, int indent)
{
    char bound[32];
    static const char *const flag_test[] = {"%s != 0", "%s == 1", "%s > 1"};
    char test[96];
    const char *flag = n->input == IN_F0 ? "f0" : o->p->loaded_flag ? "F[0]" : "f1";
    const char *bigger = bound_text(o->p, n->variable, bound);
    switch (n->test) {
    case TEST_FIRST: snprintf(test, sizeof test, "p%d == 0", n->variable); break;
    case TEST_MORE:
        snprintf(test, sizeof test, "p%d + %d < %s", n->variable, n->c * o->p->step, bigger);
        break;
    case TEST_SIZE: snprintf(test, sizeof test, "n%d > %d", n->input, n->c * o->p->step); break;
    case TEST_BOTH: snprintf(test, sizeof test, "%s != 0 && p%d > 0", flag, n->variable); break;
    case TEST_ROUND:
        snprintf(test, sizeof test, "p%d / %d %% %d == %d", n->variable, o->p->step, n->modulus,
                 n->c);
        break;
    case TEST_LATE: snprintf(test, sizeof test, "p%d >= %d", n->variable, n->c * o->p->step); break;
    case TEST_STAGE: snprintf(test, sizeof test, "s%d == %d", n->stage, n->c); break;
    case TEST_FLAGS:
        snprintf(test, sizeof test, "f0 == %s", o->p->loaded_flag ? "F[0]" : "f1");
        break;
    default: snprintf(test, sizeof test, flag_test[n->test], flag); break;
    }
    print(o, indent, "if (%s) {", test);
    print_list(o, n->body, indent + 1);
    if (n->otherwise >= 0) {
        print(o, indent, "} else {");
        print_list(o, n->otherwise, indent + 1);
    }
    print(o, indent, "}");
}

/* Returns the first element of a part. */
static const char *element_text(const struct program *p, const struct part *part, char *out)
{
    char row[128];
    part_text(p, part, row);
    if (part->rows == ROWS)
        snprintf(out, 192, "%s[0][0]", row);
    else /* t[stage][first +: rows] -> t[stage][first][0] */
        snprintf(out, 192, "%.*s][0]", (int)(strstr(row, " +:") - row), row);
    return out;
}

/* Returns the text that a loop's condition compares with its bound. */
static const char *counter_text(const struct program *p, const struct node *n, char *out)
{
    char element[192];
    if (n->asks)
        snprintf(out, 256, "p%d + (i32) %s * 0", n->variable, element_text(p, &n->from, element));
    else
        snprintf(out, 256, "p%d", n->variable);
    return out;
}

static void print_loop(struct printer *o, struct node *n, int indent)
{
    char text[32], counter[256];
    int v = n->variable, step = o->p->step;
    const char *bound = bound_text(o->p, v, text), *type = o->p->counts_up ? "u32" : "i32";
    counter_text(o->p, n, counter);
    n->condition_line = n->line;
    if (n->spelling == LOOP_FOR) {
        print(o, indent, "for (%s p%d = 0; %s < %s; p%d += %d) {", type, v, counter, bound, v,
              step);
        print_list(o, n->body, indent + 1);
        print(o, indent, "}");
        return;
    }
    print(o, indent, "{");
    print(o, indent + 1, "%s p%d = 0;", type, v);
    n->condition_line = o->line + 1;
    if (n->spelling == LOOP_WHILE)
        print(o, indent + 1, "while (%s < %s) {", counter, bound);
    else
        print(o, indent + 1, "do {");
    print_list(o, n->body, indent + 2);
    print(o, indent + 2, "p%d += %d;", v, step);
    if (n->spelling == LOOP_DO)
        n->condition_line = o->line + 1;
    if (n->spelling == LOOP_WHILE)
        print(o, indent + 1, "}");
    else
        print(o, indent + 1, "} while (%s < %s);", counter, bound);
    print(o, indent, "}");
}

static void print_stage(struct printer *o, const struct node *n, int indent)
{
    int v = n->variable;
    if (n->spelling == 0 || n->c != 1)
        print(o, indent, "s%d = (s%d + %d) %% %d;", v, v, n->c, n->modulus);
    else
        print(o, indent, "s%d = s%d + 1 >= %d ? (s%d + 1) - %d * ((s%d + 1) / %d) : s%d + 1;", v, v,
              n->modulus, v, n->modulus, v, n->modulus, v);
}

static void print_access(struct printer *o, const struct node *n, int indent)
{
    char from[128], to[128];
    part_text(o->p, &n->from, from);
    part_text(o->p, &n->to, to);
    switch (n->kind) {
    case NODE_READ: print(o, indent, "C[0 +: %d][0 +: 8] = %s;", n->from.rows, from); break;
    case NODE_WRITE: print(o, indent, "%s = A[0 +: %d][0 +: 8];", to, n->to.rows); break;
    case NODE_MOVE: print(o, indent, "%s = %s + 1;", to, from); break;
    case NODE_ATOMIC: print(o, indent, "atomic_add(%s, 1);", to); break;
    default: print(o, indent, "async %s = A[0 +: %d][0 +: 8];", to, n->to.rows); break;
    }
}

static void print_element(struct printer *o, const struct node *n, int indent)
{
    char e[192], to[128], one[192];
    int rows = n->to.rows;
    element_text(o->p, &n->from, e);
    element_text(o->p, &n->to, one);
    part_text(o->p, &n->to, to);
    switch ((enum element_form)n->spelling) {
    case ELEMENT_SUM: print(o, indent, "%s = A[0 +: %d][0 +: 8] + %s;", to, rows, e); break;
    case ELEMENT_INDEX: print(o, indent, "%s = A[(i32) %s +: %d][0 +: 8];", to, e, rows); break;
    case ELEMENT_ELSE: print(o, indent, "%s = A[1 +: %d][0 +: 8] else %s;", to, rows, e); break;
    case ELEMENT_TERNARY:
        print(o, indent, "%s = A[0 +: %d][0 +: 8] + (f0 != 0 ? %s : 0.0);", to, rows, e);
        break;
    case ELEMENT_CALL: print(o, indent, "%s = A[0 +: %d][0 +: 8] + twice(%s);", to, rows, e); break;
    case ELEMENT_STORE: print(o, indent, "%s = %s + 1;", one, e); break;
    case ELEMENT_ADD: print(o, indent, "atomic_add(%s, %s);", one, e); break;
    case ELEMENT_COPY:
        print(o, indent, "async %s = A[(i32) %s +: %d][0 +: 8];", to, e, rows);
        break;
    case ELEMENT_PLACE: print(o, indent, "C[(i32) %s +: 8][0 +: 8] = 0;", e); break;
    case ELEMENT_PRINT: print(o, indent, "print(\"element\", %s);", e); break;
    case ELEMENT_ATOMIC: print(o, indent, "atomic_add(C[0][0], %s);", e); break;
    case ELEMENT_LOCK: print(o, indent, "lock(turn[0], (i32) %s);", e); break;
    case ELEMENT_FORMS: break;
    }
}

static void print_node(struct printer *o, struct node *n, int indent)
{
    n->line = o->line + 1;
    switch (n->kind) {
    case NODE_COMMIT: print(o, indent, "async_commit();"); break;
    case NODE_WAIT: print(o, indent, "async_wait(%d);", n->c); break;
    case NODE_SYNC:
        print(o, indent, "%s;",
              (const char *const[]){"sync()", "lock(turn[0], 0)", "unlock(turn[0], 0)",
                                    "arrive(turn[0], 0)",
                                    "{ i32 old = arrive(turn[0], 0); }"}[n->spelling]);
        break;
    case NODE_FREE: print(o, indent, "free(t%d);", n->c); break;
    case NODE_STAGE: print_stage(o, n, indent); break;
    case NODE_FOR: print_loop(o, n, indent); break;
    case NODE_IF: print_test(o, n, indent); break;
    case NODE_SCOPE:
        print(o, indent, "{");
        print(o, indent + 1, "shared f32 t%d[1][8][8];", n->c);
        print_list(o, n->body, indent + 1);
        print(o, indent, "}");
        break;
    case NODE_BREAK: print(o, indent, "break;"); break;
    case NODE_CONTINUE: print(o, indent, "continue;"); break;
    case NODE_ELEMENT: print_element(o, n, indent); break;
    case NODE_RETURN: print(o, indent, "return;"); break;
    default: print_access(o, n, indent); break;
    }
}

static void print_list(struct printer *o, int first, int indent)
{
    for (int i = first; i >= 0; i = o->p->node[i].next)
        print_node(o, &o->p->node[i], indent);
}

static void print_program(struct printer *o, struct program *p)
{
    o->p = p;
    o->length = 0;
    o->line = 0;
    const char *size = p->counts_up ? "u32" : "i32";
    print(o, 0, "fn f32 twice(f32 x) { return x * 2; }");
    print(o, 0,
          "kernel random(%s n0, %s n1, i32 f0, i32 f1, i32 x, const f32 *a, f32 *c, const i32 *f)",
          size, size);
    print(o, 0, "    grid(1) warps(2)");
    print(o, 0, "{");
    print(o, 1, "global f32 A[8][8] = a, C[8][8] = c;");
    print(o, 1, "global i32 F[1] = f;");
    print(o, 1, "global i32 turn[1] = 0;");
    print(o, 1, "reg i32 rows[%d] = iota();", ROWS / 2);
    for (int t = 0; t < p->tiles; t++)
        print(o, 1, "shared f32 t%d[%d][8][8];", t, p->stages[t]);
    print(o, 1, "i32 s0 = 0, s1 = 0;");
    print_list(o, p->first, 1);
    print(o, 0, "}");
}

/* --- judging --- */

struct judged {
    enum sync_verdict verdict;
    const char *why;
    bool bad_lines;
};

static int line_at(struct loc at)
{
    int line = 0, column = 0;
    loc_line_column(at, &line, &column);
    return line;
}

/* Returns true if every error is about a pair of lines that the oracle found. */
static bool lines_are_right(const struct diag *d, const struct oracle_answer *truth)
{
    for (const struct diagnostic *e = d->first; e; e = e->next) {
        int line = line_at(e->loc), other = e->notes ? line_at(e->notes->loc) : line;
        bool ends = strstr(e->message, "when the kernel ends") ||
                    strstr(e->message, "when its scope ends") ||
                    strstr(e->message, "when it is freed");
        bool itself = other != line && oracle_has_pair(truth, line, line);
        if (!oracle_has_pair(truth, line, ends ? 0 : other) && !itself)
            return false;
    }
    return true;
}

struct tally {
    int count, clean, race, undecided, missed, false_alarms, bad_lines, deeper, too_large;
    int overlaid, badly_planned;
};

static void show(const struct printer *text, const struct diag *d, struct arena *a,
                 const char *what)
{
    struct text messages;
    text_init(&messages, a);
    diag_render(&messages, d, false);
    printf("--- %s\n%s%s", what, text->text, messages.data);
}

/* Reads, from the planned kernel, the places of tiles and the declarations that got a barrier. */
static void read_plan(struct program *p, const struct stmt *s)
{
    const struct stmt *before = NULL;
    for (; s; before = s, s = s->next) {
        read_plan(p, s->body);
        read_plan(p, s->otherwise);
        if (s->kind != STMT_DECL || s->sym->storage != ST_SHARED)
            continue;
        int tile = atoi(s->sym->name + 1);
        p->offset[tile] = s->sym->offset;
        p->bytes[tile] = type_elements(&s->sym->type) * (int64_t)dtype_size(s->sym->type.dtype);
        p->barrier[tile] = before && before->uncredited;
    }
}

/* Checks that tiles that share bytes are never in use at the same time. */
static const char *judge_plan(struct program *p, struct pass_context *c, int trips, struct tally *n)
{
    struct oracle_answer answer;
    struct diag d;
    bool shares = false;
    diag_init(&d, c->kernel->arena);
    struct pass_context context = {.kernel = c->kernel, .diag = &d};
    pass_plan(&context);
    memset(p->bytes, 0, sizeof p->bytes);
    read_plan(p, c->kernel->body);
    for (int i = 0; i < MAX_TILES; i++)
        for (int j = 0; j < i; j++)
            shares = shares ||
                     (p->bytes[i] && p->bytes[j] && p->offset[i] < p->offset[j] + p->bytes[j] &&
                      p->offset[j] < p->offset[i] + p->bytes[i]);
    if (!shares)
        return NULL;
    n->overlaid++;
    oracle_ask_planned(p, trips, &answer);
    if (!answer.wrong)
        return NULL;
    n->badly_planned++;
    struct text text;
    text_init(&text, c->kernel->arena);
    kernel_print(&text, c->kernel);
    printf("lines %d and %d meet in\n%s", answer.pair[0][0], answer.pair[0][1], text.data);
    return "PLANNED ON BYTES IN USE";
}

static bool judge(struct program *p, struct printer *text, struct tally *n, bool verbose)
{
    jmp_buf out_of_memory;
    struct arena a;
    struct diag d;
    struct oracle_answer truth;
    arena_init(&a, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        abort();
    struct source source = {"random.tile", text->text, text->length};
    diag_init(&d, &a);
    struct module *module = lang_parse(&a, &d, &source);
    struct lang_choice choice = {0};
    struct kernel *kernel = module && !d.errors ? lang_check(&a, &d, module, 0, &choice) : NULL;
    struct pass_context context = {.kernel = kernel, .diag = &d};
    if (kernel)
        pass_variance(&context);
    if (!kernel || d.errors) {
        show(text, &d, &a, "does not compile");
        arena_free(&a);
        return false;
    }
    const char *why = NULL;
    enum sync_verdict verdict = synccheck_kernel(&context, &why);
    int loops = p->uses[IN_N0] + p->uses[IN_N1], trips = loops > 1 ? 3 : 5;
    oracle_ask(p, trips, &truth);
    bool right = lines_are_right(&d, &truth);
    for (int more = 3; verdict == SYNC_RACE && (!truth.wrong || !right) && more < 20; more += 7) {
        n->deeper += more == 3; /* the race may need more iterations of a loop */
        oracle_ask(p, trips + more, &truth);
        right = lines_are_right(&d, &truth);
    }
    n->clean += verdict == SYNC_CLEAN;
    n->race += verdict == SYNC_RACE;
    n->undecided += verdict == SYNC_UNDECIDED;
    n->too_large += truth.too_large;
    const char *what = NULL;
    if (verdict == SYNC_CLEAN && truth.wrong) {
        n->missed++;
        what = "MISSED";
    } else if (verdict == SYNC_RACE && !truth.wrong && !truth.too_large) {
        n->false_alarms++;
        what = "FALSE ALARM";
    } else if (verdict == SYNC_RACE && !right && !truth.too_large) {
        n->bad_lines++;
        what = "WRONG LINES";
    } else if (verdict == SYNC_UNDECIDED && verbose) {
        what = truth.wrong ? "undecided, wrong" : "undecided, right";
    }
    const char *badly = judge_plan(p, &context, trips, n);
    what = badly ? badly : what;
    if (what) {
        show(text, &d, &a, what);
        for (int i = 0; i < truth.pairs; i++)
            printf("oracle: lines %d and %d\n", truth.pair[i][0], truth.pair[i][1]);
        if (why)
            printf("why: %s\n", why);
    }
    arena_free(&a);
    return true;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    bool verbose = argc > 3;
    struct tally n = {0};
    static struct program p;
    static struct printer text;
    for (int i = 0; i < count; i++) {
        struct chance r = {seed * 1000003u + (uint64_t)i};
        make_program(&p, &r);
        print_program(&text, &p);
        if (!judge(&p, &text, &n, verbose))
            return 1;
        n.count++;
        if (n.missed + n.false_alarms + n.bad_lines + n.badly_planned > 5)
            break;
    }
    printf("%d programs, seed %llu: %d clean, %d with a race, %d undecided (%.2f%%); %d missed, %d "
           "false "
           "alarms, %d with wrong lines\n",
           n.count, (unsigned long long)seed, n.clean, n.race, n.undecided,
           100.0 * n.undecided / n.count, n.missed, n.false_alarms, n.bad_lines);
    printf("%d with tiles on the same bytes, %d of them badly\n", n.overlaid, n.badly_planned);
    if (n.too_large)
        printf("%d were too large for the oracle in part\n", n.too_large);
    return n.missed || n.false_alarms || n.bad_lines || n.badly_planned ||
           n.undecided * 100 > n.count;
}

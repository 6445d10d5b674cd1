/* Random small kernels at thread level: compares the static synchronisation check with running
 * every thread.
 *
 *     random_threads [COUNT [SEED [-v]]]
 *
 * A program is a tree of statements that each thread runs by itself, for every value of the one
 * input; its accesses go into a log, by epoch. Two accesses race if they are of the same epoch
 * and element and of different threads, one of them writes, not both are atomic, and they do not
 * both write the one uniform value that programs store. Accesses that all threads make together
 * (copies of whole tiles) belong to an unknown thread. The test fails if a race is missed or
 * there is a false alarm, or if more than 20% remain undecided (at thread level the check
 * decides programs with known numbers). */
#include "chance.h"

#include "lang/lang.h"
#include "tile/passes.h"
#include "synccheck/synccheck.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- programs --- */

enum { ROWS = 4, COLUMNS = 8, MAX_NODES = 40, MAX_LOOPS = 3 };

/* x * tx + y * ty + factor * loop + own * v + d, modulo the extent. */
struct subscript {
    int x, y, loop, factor, own, d;
};

enum kind {
    READ,
    WRITE,
    UPDATE, /* s[to] = s[from] + … */
    ATOMIC,
    BLOCK_WRITE, /* rows of the tile, by all threads */
    BLOCK_READ,
    SET, /* v = (v + c) % COLUMNS, a scalar of each thread */
    SYNC,
    IF,      /* test, body, otherwise */
    FOR,     /* loop from 0 to count, or to n if count is 0 */
    STRIDED, /* loop from tx to count in steps of the block's width: varying */
    SHRINK   /* for (half = count; half > 0; half /= 2) */
};
enum test { X_BELOW, X_IS, Y_IS, ODD, N_ABOVE, X_AND_N, X_BELOW_LOOP };
struct node {
    enum kind kind;
    struct subscript from[2], to[2];
    bool uniform; /* WRITE: the same value in every thread */
    int loop, count, c;
    enum test test;
    int body, otherwise, next, line;
};
struct program {
    struct node node[MAX_NODES];
    int nodes, first, loops;
    int x, y; /* threads */
};

/* --- making --- */

struct maker {
    struct program *p;
    struct chance *r;
    int open[MAX_LOOPS], open_count;
    int left, sync_percent;
    bool varying; /* under a varying condition or loop */
};

static struct subscript make_subscript(struct maker *m, int axis)
{
    struct subscript s = {.loop = -1};
    int form = below(m->r, 10);
    s.x = axis == 1 && form < 7 ? 1 : form == 9;
    s.y = axis == 0 && form < 7 ? 1 : 0;
    if (form == 8)
        s.x = 2;
    if (m->open_count && percent(m->r, 35)) {
        s.loop = m->open[below(m->r, m->open_count)];
        s.factor = 1 + below(m->r, 2);
        s.x = percent(m->r, 50) ? 0 : s.x;
    }
    s.own = percent(m->r, 15);
    s.d = percent(m->r, 30) ? below(m->r, 4) : 0;
    return s;
}

static int new_node(struct maker *m, enum kind kind)
{
    int i = m->p->nodes++;
    m->p->node[i] = (struct node){.kind = kind, .body = -1, .otherwise = -1, .next = -1};
    m->left--;
    return i;
}

static int make_list(struct maker *m, int depth);

static int make_loop(struct maker *m, int depth)
{
    static const enum kind kinds[] = {FOR, FOR, STRIDED, SHRINK};
    int i = new_node(m, kinds[below(m->r, 4)]), loop = m->p->loops++;
    bool varying = m->varying;
    m->p->node[i].loop = loop;
    m->p->node[i].count = m->p->node[i].kind == FOR ? below(m->r, 4) : 4 + 4 * below(m->r, 2);
    m->open[m->open_count++] = loop;
    m->varying = m->varying || m->p->node[i].kind == STRIDED;
    int body = make_list(m, depth + 1);
    m->open_count--;
    m->varying = varying;
    m->p->node[i].body = body;
    return i;
}

static int make_if(struct maker *m, int depth)
{
    int i = new_node(m, IF), form = below(m->r, m->open_count ? 7 : 6);
    bool varying = m->varying;
    m->p->node[i].test = (enum test)form;
    m->p->node[i].c = 1 + below(m->r, 3);
    m->p->node[i].loop = m->open_count ? m->open[m->open_count - 1] : -1;
    m->varying = m->varying || form != N_ABOVE;
    int body = make_list(m, depth + 1), otherwise = -1;
    if (percent(m->r, 25) && m->left > 0)
        otherwise = make_list(m, depth + 1);
    m->p->node[i].body = body;
    m->p->node[i].otherwise = otherwise;
    m->varying = varying;
    return i;
}

static int make_node(struct maker *m, int depth)
{
    int form = below(m->r, 100);
    if (form < 14 && depth < 2 && m->p->loops < MAX_LOOPS && m->left > 1)
        return make_loop(m, depth);
    if (form < 30 && depth < 3 && m->left > 1)
        return make_if(m, depth);
    static const enum kind kinds[] = {READ,   READ,   READ, WRITE,       WRITE,     WRITE,
                                      UPDATE, ATOMIC, SET,  BLOCK_WRITE, BLOCK_READ};
    int i = new_node(m, kinds[below(m->r, m->varying ? 9 : 11)]);
    struct node *n = &m->p->node[i];
    for (int axis = 0; axis < 2; axis++) {
        n->from[axis] = make_subscript(m, axis);
        n->to[axis] =
            n->kind == UPDATE && percent(m->r, 70) ? n->from[axis] : make_subscript(m, axis);
    }
    n->uniform = percent(m->r, 20);
    n->c = below(m->r, ROWS);
    return i;
}

static int make_list(struct maker *m, int depth)
{
    int first = -1, last = -1, count = 1 + below(m->r, depth ? 3 : 6);
    for (int i = 0; i < count && (m->left > 0 || i == 0) && m->p->nodes < MAX_NODES - 8; i++) {
        int made[2] = {make_node(m, depth), -1};
        if (!m->varying && percent(m->r, m->sync_percent))
            made[1] = new_node(m, SYNC);
        for (int j = 0; j < 2 && made[j] >= 0; j++) {
            if (last >= 0)
                m->p->node[last].next = made[j];
            else
                first = made[j];
            last = made[j];
        }
    }
    return first;
}

static void make_program(struct program *p, struct chance *r)
{
    struct maker m = {.p = p, .r = r, .left = 3 + below(r, 8), .sync_percent = 30 + below(r, 71)};
    *p = (struct program){.x = percent(r, 50) ? 4 : 8,
                          .y = percent(r, 60) ? 1 : 2 + 2 * below(r, 2)};
    p->first = make_list(&m, 0);
}

/* --- running --- */

struct touch {
    int epoch, element, thread; /* -1: some thread */
    bool writes, atomic, uniform;
    int node;
    uint64_t instance; /* number of the statement's execution */
};
enum { MAX_TOUCHES = 60000 };
struct run {
    const struct program *p;
    int n, thread, epoch, own;
    int loop[MAX_LOOPS], round[MAX_LOOPS];
    struct touch *log;
    int count;
};

static int position(struct run *u, const struct subscript *s, int axis)
{
    int extent = axis == 0 ? ROWS : COLUMNS;
    int v = s->x * (u->thread % u->p->x) + s->y * (u->thread / u->p->x) + s->own * u->own + s->d;
    v += s->loop >= 0 ? s->factor * u->loop[s->loop] : 0;
    return v % extent;
}

static void touch(struct run *u, int node, const struct subscript *at, bool writes, bool atomic,
                  bool uniform)
{
    struct touch t = {.epoch = u->epoch,
                      .thread = u->thread,
                      .writes = writes,
                      .atomic = atomic,
                      .uniform = uniform,
                      .node = node};
    t.element = position(u, &at[0], 0) * COLUMNS;
    t.element += position(u, &at[1], 1);
    for (int i = 0; i < MAX_LOOPS; i++)
        t.instance = t.instance * 64 + (uint64_t)u->round[i];
    if (u->count == MAX_TOUCHES)
        abort();
    u->log[u->count++] = t;
}

static void touch_block(struct run *u, int node, bool writes)
{
    if (u->thread != 0)
        return;
    u->thread = -1;
    for (int column = 0; column < COLUMNS; column++) {
        struct subscript at[2] = {{.loop = -1, .d = u->p->node[node].c}, {.loop = -1, .d = column}};
        u->thread = 0;
        touch(u, node, at, writes, false, false);
        u->log[u->count - 1].thread = -1;
    }
}

static bool holds(const struct run *u, const struct node *n)
{
    int x = u->thread % u->p->x, y = u->thread / u->p->x;
    switch (n->test) {
    case X_BELOW: return x < n->c;
    case X_IS: return x == n->c;
    case Y_IS: return y == n->c - 1;
    case ODD: return (x & 1) == 1;
    case N_ABOVE: return u->n > n->c;
    case X_AND_N: return x + n->c < u->n;
    case X_BELOW_LOOP: return x < u->loop[n->loop];
    }
    return false;
}

static void run_list(struct run *u, int first);

static void run_loop(struct run *u, const struct node *n)
{
    int *at = &u->loop[n->loop], *round = &u->round[n->loop];
    *round = 0;
    if (n->kind == FOR)
        for (*at = 0; *at < (n->count ? n->count : u->n); ++*at, ++*round)
            run_list(u, n->body);
    else if (n->kind == STRIDED)
        for (*at = u->thread % u->p->x; *at < n->count; *at += u->p->x, ++*round)
            run_list(u, n->body);
    else
        for (*at = n->count; *at > 0; *at /= 2, ++*round)
            run_list(u, n->body);
    *round = 0;
}

static void run_node(struct run *u, int i)
{
    const struct node *n = &u->p->node[i];
    switch (n->kind) {
    case READ: touch(u, i, n->from, false, false, false); break;
    case WRITE: touch(u, i, n->to, true, false, n->uniform); break;
    case UPDATE:
        touch(u, i, n->from, false, false, false);
        touch(u, i, n->to, true, false, false);
        break;
    case ATOMIC: touch(u, i, n->to, true, true, false); break;
    case BLOCK_WRITE: touch_block(u, i, true); break;
    case BLOCK_READ: touch_block(u, i, false); break;
    case SET: u->own = (u->own + n->c) % COLUMNS; break;
    case SYNC: u->epoch++; break;
    case IF: run_list(u, holds(u, n) ? n->body : n->otherwise); break;
    case FOR:
    case STRIDED:
    case SHRINK: run_loop(u, n); break;
    }
}

static void run_list(struct run *u, int first)
{
    for (int i = first; i >= 0; i = u->p->node[i].next)
        run_node(u, i);
}

static bool races(const struct touch *a, const struct touch *b)
{
    if (a->epoch != b->epoch || a->element != b->element || (!a->writes && !b->writes))
        return false;
    bool same = a->node == b->node && a->instance == b->instance;
    if (a->atomic && b->atomic)
        return false;
    if (a->thread < 0 || b->thread < 0)
        return !same;
    return a->thread != b->thread && !(a->uniform && b->uniform);
}

static int by_place(const void *a, const void *b)
{
    const struct touch *x = a, *y = b;
    return x->epoch != y->epoch ? x->epoch - y->epoch : x->element - y->element;
}

/* Returns true if some n up to the limit makes it race. */
static bool oracle(const struct program *p, int limit, struct touch *log)
{
    for (int n = 0; n <= limit; n++) {
        struct run u = {.p = p, .n = n, .log = log};
        for (int t = 0; t < p->x * p->y; t++) {
            u.thread = t;
            u.epoch = 0;
            u.own = t % p->x;
            memset(u.round, 0, sizeof u.round);
            run_list(&u, p->first);
        }
        qsort(log, (size_t)u.count, sizeof *log, by_place);
        for (int i = 0; i < u.count; i++)
            for (int j = i + 1; j < u.count && by_place(&log[i], &log[j]) == 0; j++)
                if (races(&log[i], &log[j]))
                    return true;
    }
    return false;
}

/* --- printing --- */

struct printer {
    char text[16384];
    size_t length;
    const struct program *p;
};

static void print(struct printer *o, int indent, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    o->length +=
        (size_t)snprintf(o->text + o->length, sizeof o->text - o->length, "%*s", indent * 4, "");
    o->length += (size_t)vsnprintf(o->text + o->length, sizeof o->text - o->length, format, args);
    va_end(args);
    if (o->length > sizeof o->text - 512)
        abort();
    o->text[o->length++] = '\n';
    o->text[o->length] = '\0';
}

static void subscript_text(const struct subscript *s, int axis, char *out, size_t size)
{
    char sum[96];
    int n = snprintf(sum, sizeof sum, "%d * tx + %d * ty + %d", s->x, s->y, s->d);
    if (s->loop >= 0)
        n += snprintf(sum + n, sizeof sum - (size_t)n, " + %d * q%d", s->factor, s->loop);
    if (s->own)
        snprintf(sum + n, sizeof sum - (size_t)n, " + v");
    snprintf(out, size, "(%s) %% %d", sum, axis == 0 ? ROWS : COLUMNS);
}

static const char *element_text(const struct subscript *at, char *out, size_t size)
{
    char row[128], column[128];
    subscript_text(&at[0], 0, row, sizeof row);
    subscript_text(&at[1], 1, column, sizeof column);
    snprintf(out, size, "s[%s][%s]", row, column);
    return out;
}

static void print_list(struct printer *o, int first, int indent);

static void print_if(struct printer *o, const struct node *n, int indent)
{
    char test[64];
    switch (n->test) {
    case X_BELOW: snprintf(test, sizeof test, "tx < %d", n->c); break;
    case X_IS: snprintf(test, sizeof test, "tx == %d", n->c); break;
    case Y_IS: snprintf(test, sizeof test, "ty == %d", n->c - 1); break;
    case ODD: snprintf(test, sizeof test, "(tx & 1) == 1"); break;
    case N_ABOVE: snprintf(test, sizeof test, "n > %d", n->c); break;
    case X_AND_N: snprintf(test, sizeof test, "tx + %d < n", n->c); break;
    case X_BELOW_LOOP: snprintf(test, sizeof test, "tx < q%d", n->loop); break;
    }
    print(o, indent, "if (%s) {", test);
    print_list(o, n->body, indent + 1);
    if (n->otherwise >= 0) {
        print(o, indent, "} else {");
        print_list(o, n->otherwise, indent + 1);
    }
    print(o, indent, "}");
}

static void print_loop(struct printer *o, const struct node *n, int indent)
{
    int q = n->loop;
    if (n->kind == FOR && n->count)
        print(o, indent, "for (i32 q%d = 0; q%d < %d; q%d++) {", q, q, n->count, q);
    else if (n->kind == FOR)
        print(o, indent, "for (i32 q%d = 0; q%d < n; q%d++) {", q, q, q);
    else if (n->kind == STRIDED)
        print(o, indent, "for (i32 q%d = tx; q%d < %d; q%d += %d) {", q, q, n->count, q, o->p->x);
    else
        print(o, indent, "for (i32 q%d = %d; q%d > 0; q%d /= 2) {", q, n->count, q, q);
    print_list(o, n->body, indent + 1);
    print(o, indent, "}");
}

static void print_node(struct printer *o, const struct node *n, int indent)
{
    char from[300], to[300];
    element_text(n->from, from, sizeof from);
    element_text(n->to, to, sizeof to);
    switch (n->kind) {
    case READ: print(o, indent, "sum += %s;", from); break;
    case WRITE: print(o, indent, "%s = %s;", to, n->uniform ? "x" : "x + tx + 16 * ty"); break;
    case UPDATE: print(o, indent, "%s = %s + 1;", to, from); break;
    case ATOMIC: print(o, indent, "atomic_add(%s, 1);", to); break;
    case BLOCK_WRITE: print(o, indent, "s[%d] = A[0][0 +: %d];", n->c, COLUMNS); break;
    case BLOCK_READ: print(o, indent, "C[0][0 +: %d] = s[%d];", COLUMNS, n->c); break;
    case SET: print(o, indent, "v = (v + %d) %% %d;", n->c, COLUMNS); break;
    case SYNC: print(o, indent, "sync();"); break;
    case IF: print_if(o, n, indent); break;
    case FOR:
    case STRIDED:
    case SHRINK: print_loop(o, n, indent); break;
    }
}

static void print_list(struct printer *o, int first, int indent)
{
    for (int i = first; i >= 0; i = o->p->node[i].next)
        print_node(o, &o->p->node[i], indent);
}

static void print_program(struct printer *o, const struct program *p)
{
    o->p = p;
    o->length = 0;
    print(o, 0, "kernel random(i32 n, f32 x, const f32 *a, f32 *c) grid(1) threads(%d, %d)", p->x,
          p->y);
    print(o, 0, "{");
    print(o, 1, "global f32 A[8][64] = a, C[8][64] = c;");
    print(o, 1, "shared f32 s[%d][%d];", ROWS, COLUMNS);
    print(o, 1, "i32 tx = thread.x, ty = thread.y;");
    print(o, 1, "i32 v = tx;");
    print(o, 1, "f32 sum = 0;");
    print_list(o, p->first, 1);
    print(o, 1, "C[ty][tx] = sum;");
    print(o, 0, "}");
}

/* --- judging --- */

struct tally {
    int count, clean, race, undecided, missed, false_alarms;
};

static bool judge(const struct program *p, const struct printer *text, struct touch *log,
                  struct tally *n, bool verbose)
{
    jmp_buf out_of_memory;
    struct arena a;
    struct diag d;
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
    bool compiles = kernel && !d.errors;
    const char *why = NULL, *what = compiles ? NULL : "does not compile";
    if (compiles) {
        enum sync_verdict verdict = synccheck_kernel(&context, &why);
        bool wrong = oracle(p, 5, log);
        if (verdict == SYNC_RACE && !wrong)
            wrong = oracle(p, 20, log);
        n->clean += verdict == SYNC_CLEAN;
        n->race += verdict == SYNC_RACE;
        n->undecided += verdict == SYNC_UNDECIDED;
        if (verdict == SYNC_CLEAN && wrong) {
            n->missed++;
            what = "MISSED";
        } else if (verdict == SYNC_RACE && !wrong) {
            n->false_alarms++;
            what = "FALSE ALARM";
        } else if (verdict == SYNC_UNDECIDED && verbose) {
            what = wrong ? "undecided, wrong" : "undecided, right";
        }
    }
    if (what) {
        struct text messages;
        text_init(&messages, &a);
        diag_render(&messages, &d, false);
        printf("--- %s %s\n%s%s", what, why ? why : "", text->text,
               messages.data ? messages.data : "");
    }
    arena_free(&a);
    return compiles;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tally n = {0};
    static struct program p;
    static struct printer text;
    struct touch *log = calloc(MAX_TOUCHES, sizeof *log);
    if (!log)
        return 1;
    for (int i = 0; i < count && n.missed + n.false_alarms < 6; i++) {
        struct chance r = {seed * 1000003u + (uint64_t)i};
        make_program(&p, &r);
        print_program(&text, &p);
        if (!judge(&p, &text, log, &n, argc > 3))
            break;
        n.count++;
    }
    free(log);
    printf("%d programs, seed %llu: %d clean, %d with a race, %d undecided (%.2f%%); %d missed, %d "
           "false "
           "alarms\n",
           n.count, (unsigned long long)seed, n.clean, n.race, n.undecided,
           100.0 * n.undecided / (n.count ? n.count : 1), n.missed, n.false_alarms);
    return n.count < count || n.missed || n.false_alarms || n.undecided * 5 > n.count;
}

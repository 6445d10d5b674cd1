/* Random small programs of roles: compares the static synchronisation check with the oracle.
 *
 *     random_roles [COUNT [SEED [-v]]]
 *
 * Most programs are a ring of stages between a producer and consumers, with a few changes. Each
 * is printed as a kernel, compiled by `lang` and checked; the oracle walks all orders for each
 * number of rounds that the check tries. The test fails if a fault is missed, if there is a
 * false alarm, or if a program is undecided. */
#include "chance.h"
#include "roles_oracle.h"

#include "lang/lang.h"
#include "tile/passes.h"
#include "synccheck/synccheck.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- making --- */

enum { FULL, EMPTY, OTHER };

static struct role_item *add_item(struct ring_role *r, enum item_kind kind, enum item_part part)
{
    int at = r->items;
    if (at == MOST_ITEMS)
        return &r->item[MOST_ITEMS - 1];
    while (at > 0 && r->item[at - 1].part > part)
        at--;
    memmove(&r->item[at + 1], &r->item[at], sizeof *r->item * (size_t)(r->items - at));
    r->items++;
    r->item[at] = (struct role_item){.kind = kind, .part = part};
    return &r->item[at];
}

static void make_producer(struct ring_program *p, struct ring_role *r, struct chance *c)
{
    int copies = 1 + below(c, 2);
    r->one_thread = percent(c, 70);
    r->groups = 1;
    add_item(r, ITEM_WAIT, IN_LOOP)->barrier = EMPTY;
    struct role_item *expect = add_item(r, ITEM_EXPECT, IN_LOOP);
    expect->barrier = FULL;
    expect->number = copies;
    for (int i = 0; i < copies; i++) {
        struct role_item *copy = add_item(r, ITEM_COPY, IN_LOOP);
        copy->barrier = FULL;
        copy->tile = copies == 1 ? below(c, RING_TILES) : i;
    }
    p->arrivals[FULL] = 1;
}

static void make_consumer(struct ring_program *p, struct ring_role *r, struct chance *c)
{
    r->groups = 1 + percent(c, 30);
    p->arrivals[EMPTY] += r->groups;
    add_item(r, ITEM_WAIT, IN_LOOP)->barrier = FULL;
    int use = below(c, 4);
    if (use < 2) {
        add_item(r, ITEM_READ, IN_LOOP)->tile = below(c, RING_TILES);
    } else if (use == 2) {
        add_item(r, ITEM_DOT, IN_LOOP);
        add_item(r, ITEM_DOT_WAIT, IN_LOOP);
    } else {
        int tile = below(c, RING_TILES);
        add_item(r, ITEM_READ, IN_LOOP)->tile = tile;
        add_item(r, ITEM_SYNC, IN_LOOP);
        add_item(r, ITEM_WRITE, IN_LOOP)->tile = tile;
    }
    add_item(r, ITEM_ARRIVE, IN_LOOP)->barrier = EMPTY;
    if (percent(c, 25)) {
        add_item(r, ITEM_WAIT, AFTER_LOOP)->barrier = OTHER;
        int tile = below(c, RING_TILES);
        add_item(r, ITEM_WRITE, AFTER_LOOP)->tile = tile;
        add_item(r, ITEM_SYNC, AFTER_LOOP);
        add_item(r, ITEM_STORE, AFTER_LOOP)->tile = tile;
        add_item(r, ITEM_STORE_WAIT, AFTER_LOOP);
        r->item[r->items - 5].kind = percent(c, 50) ? ITEM_SYNC : ITEM_READ;
    }
}

static struct role_item random_item(struct ring_role *r, struct chance *c)
{
    static const enum item_kind of_thread[] = {ITEM_COPY, ITEM_EXPECT, ITEM_ARRIVE,
                                               ITEM_WAIT, ITEM_STORE,  ITEM_STORE_WAIT};
    struct role_item item = {.kind = r->one_thread ? of_thread[below(c, 6)]
                                                   : (enum item_kind)below(c, ITEM_KINDS),
                             .part = (enum item_part)below(c, 3),
                             .tile = below(c, RING_TILES),
                             .barrier = below(c, RING_BARRIERS),
                             .tile_stage = below(c, RING_STAGES),
                             .barrier_stage = below(c, RING_STAGES)};
    item.number = item.kind == ITEM_EXPECT ? below(c, 3) : percent(c, 30);
    item.by_hand = item.kind == ITEM_WAIT && percent(c, 20);
    item.single = !r->one_thread && (item.by_hand || item.kind == ITEM_ARRIVE) && percent(c, 30);
    return item;
}

static void change_item(struct ring_role *r, struct chance *c)
{
    struct role_item *item = &r->item[below(c, r->items)];
    bool may_be_single = !r->one_thread && (item->by_hand || item->kind == ITEM_ARRIVE);
    switch (below(c, 6)) {
    case 5: item->single = may_be_single && !item->single; break;
    case 0: item->barrier = below(c, RING_BARRIERS); break;
    case 1: item->tile = below(c, RING_TILES); break;
    case 2: item->barrier_stage ^= 1; break;
    case 3: item->tile_stage ^= 1; break;
    default: item->number = item->number ? item->number - 1 : 1; break;
    }
}

/* Swaps an item with the next one of its part. */
static void swap_items(struct ring_role *r, int at)
{
    if (at + 1 >= r->items || r->item[at].part != r->item[at + 1].part)
        return;
    struct role_item item = r->item[at];
    r->item[at] = r->item[at + 1];
    r->item[at + 1] = item;
}

static void change(struct ring_program *p, struct chance *c)
{
    struct ring_role *r = &p->role[below(c, p->roles)];
    int at = r->items ? below(c, r->items) : 0, barrier = below(c, RING_BARRIERS);
    switch (r->items ? below(c, 8) : 5) {
    case 0:
        memmove(&r->item[at], &r->item[at + 1], sizeof *r->item * (size_t)(r->items - at - 1));
        r->items--;
        break;
    case 1: {
        struct role_item again = r->item[at];
        *add_item(r, again.kind, again.part) = again;
        break;
    }
    case 2: swap_items(r, at); break;
    case 3:
    case 4: change_item(r, c); break;
    case 5: {
        struct role_item item = random_item(r, c);
        *add_item(r, item.kind, item.part) = item;
        break;
    }
    case 6: p->ready[barrier] = !p->ready[barrier]; break;
    default: p->arrivals[barrier] = 1 + below(c, 3); break;
    }
}

/* Makes a program of a few random items. */
static void make_anything(struct ring_program *p, struct chance *c)
{
    for (int i = 0; i < p->roles; i++) {
        struct ring_role *r = &p->role[i];
        r->one_thread = percent(c, 40);
        r->groups = r->one_thread ? 1 : 1 + percent(c, 20);
        for (int j = 1 + below(c, 4); j > 0; j--) {
            struct role_item item = random_item(r, c);
            *add_item(r, item.kind, item.part) = item;
        }
    }
    for (int i = 0; i < RING_BARRIERS; i++) {
        p->arrivals[i] = 1 + percent(c, 30);
        p->ready[i] = percent(c, 30);
    }
}

static void wait_by_hand(struct ring_program *p)
{
    for (int i = 0; i < p->roles; i++)
        for (int j = 0; j < p->role[i].items; j++)
            p->role[i].item[j].by_hand = p->role[i].item[j].kind == ITEM_WAIT;
}

/* Adds statements before the roles. No products: their sums belong to roles. */
static void make_befores(struct ring_program *p, struct chance *c)
{
    struct ring_role block = {.groups = 1};
    for (int count = 1 + below(c, 3); count > 0; count--) {
        struct role_item item = random_item(&block, c);
        item.part = BEFORE_LOOP;
        if (item.kind != ITEM_DOT && item.kind != ITEM_DOT_WAIT)
            p->before[p->befores++] = item;
    }
    if (percent(c, 60))
        p->before[p->befores++] = (struct role_item){.kind = ITEM_SYNC};
}

static void make_program(struct ring_program *p, struct chance *c)
{
    *p = (struct ring_program){.roles = 2 + percent(c, 15), .stages = 1 + percent(c, 40)};
    for (int i = 0; i < RING_BARRIERS; i++)
        p->arrivals[i] = 0;
    if (percent(c, 20))
        make_befores(p, c);
    if (percent(c, 25)) {
        make_anything(p, c);
        return;
    }
    make_producer(p, &p->role[0], c);
    for (int i = 1; i < p->roles; i++)
        make_consumer(p, &p->role[i], c);
    p->arrivals[OTHER] = 1;
    p->ready[EMPTY] = true;
    if (percent(c, 20))
        wait_by_hand(p);
    for (int changes = below(c, 4); changes > 0; changes--)
        change(p, c);
}

/* --- printing --- */

struct printer {
    char text[16384];
    int length;
};

static void put(struct printer *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->length += vsnprintf(t->text + t->length, sizeof t->text - (size_t)t->length, format, args);
    va_end(args);
}

static void put_stage(struct printer *t, const struct ring_program *p, const struct role_item *i,
                      int add)
{
    if (i->part == IN_LOOP)
        put(t, "[(p + %d) %% %d]", add, p->stages);
    else
        put(t, "[%d]", add % p->stages);
}

static void put_tile(struct printer *t, const struct ring_program *p, const struct role_item *i,
                     int tile)
{
    put(t, "t%d", tile);
    put_stage(t, p, i, i->tile_stage);
}

static void put_barrier(struct printer *t, const struct ring_program *p, const struct role_item *i)
{
    put(t, "b%d", i->barrier);
    put_stage(t, p, i, i->barrier_stage);
}

static void put_item(struct printer *t, const struct ring_program *p, const struct role_item *i)
{
    static const char *const begin[] = {[ITEM_READ] = "x = ",
                                        [ITEM_WRITE] = "",
                                        [ITEM_DOT] = "dot_async(acc, ",
                                        [ITEM_STORE] = "async C[0 +: 64][0 +: 64] = ",
                                        [ITEM_COPY] = "async(",
                                        [ITEM_EXPECT] = "expect(",
                                        [ITEM_ARRIVE] = "arrive(",
                                        [ITEM_WAIT] = "wait(",
                                        [ITEM_SYNC] = "sync()",
                                        [ITEM_DOT_WAIT] = "dot_wait(",
                                        [ITEM_STORE_WAIT] = "store_wait("};
    put(t, "        %s%s", i->single ? "one_thread { " : "", begin[i->kind]);
    switch (i->kind) {
    case ITEM_READ:
    case ITEM_STORE: put_tile(t, p, i, i->tile); break;
    case ITEM_WRITE:
        put_tile(t, p, i, i->tile);
        put(t, " = x");
        break;
    case ITEM_DOT:
        put_tile(t, p, i, 0);
        put(t, ", ");
        put_tile(t, p, i, 1);
        put(t, ")");
        break;
    case ITEM_COPY:
        put_barrier(t, p, i);
        put(t, ") ");
        put_tile(t, p, i, i->tile);
        put(t, " = A[0 +: 64][0 +: 64]");
        break;
    case ITEM_EXPECT:
        put_barrier(t, p, i);
        put(t, ", %d)", i->number * STAGE_BYTES);
        break;
    case ITEM_ARRIVE:
    case ITEM_WAIT:
        put_barrier(t, p, i);
        if (i->by_hand && i->part == IN_LOOP)
            put(t, ", (p / %d + %d) %% 2", p->stages, i->number);
        else if (i->by_hand)
            put(t, ", %d", i->number);
        put(t, ")");
        break;
    case ITEM_DOT_WAIT:
    case ITEM_STORE_WAIT: put(t, "%d)", i->number); break;
    default: break;
    }
    put(t, i->single ? "; }\n" : ";\n");
}

static void put_part(struct printer *t, const struct ring_program *p, const struct ring_role *r,
                     enum item_part part)
{
    for (int i = 0; i < r->items; i++)
        if (r->item[i].part == part)
            put_item(t, p, &r->item[i]);
}

static void put_role(struct printer *t, const struct ring_program *p, int number, int first)
{
    const struct ring_role *r = &p->role[number];
    put(t, "    warps(%d +: %d) {\n", first, 4 * r->groups);
    if (r->one_thread)
        put(t, "    one_thread {\n");
    else
        put(t, "    reg f16 x[64][64] = 0;\n    reg f32 acc[64][64] = 0;\n");
    put_part(t, p, r, BEFORE_LOOP);
    put(t, "    for (i32 p = 0; p < n; p++) {\n");
    put_part(t, p, r, IN_LOOP);
    put(t, "    }\n");
    put_part(t, p, r, AFTER_LOOP);
    put(t, r->one_thread ? "    }\n    }\n" : "    }\n");
}

static void print_program(struct printer *t, const struct ring_program *p)
{
    int warps = 0;
    t->length = 0;
    for (int i = 0; i < p->roles; i++)
        warps += 4 * p->role[i].groups;
    put(t, "kernel f(i32 n, const f16 *a, f16 *c) grid(1) warps(%d) target(sm_90a)\n{\n", warps);
    put(t, "    global f16 A[64][64] = a, C[64][64] = c;\n");
    put(t, "    shared f16 t0[%d][64][64], t1[%d][64][64];\n", p->stages, p->stages);
    for (int i = 0; i < RING_BARRIERS; i++)
        put(t, "    mbarrier b%d[%d](%d)%s;\n", i, p->stages, p->arrivals[i],
            p->ready[i] ? " ready" : "");
    if (p->befores)
        put(t, "    reg f16 x[64][64] = 0;\n");
    for (int i = 0; i < p->befores; i++)
        put_item(t, p, &p->before[i]);
    warps = 0;
    for (int i = 0; i < p->roles; i++) {
        put_role(t, p, i, warps);
        warps += 4 * p->role[i].groups;
    }
    put(t, "}\n");
}

/* --- judging --- */

struct tally {
    int count, clean, wrong, missed, false_alarms, undecided, too_large;
};

/* Returns a fault for one of the numbers of rounds that the check tries. */
static const char *fault_of(const struct ring_program *p, int *rounds, bool *too_large)
{
    const int tried[] = {0, 1, p->stages - 1, p->stages, p->stages + 1, 2 * p->stages + 1};
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        *rounds = tried[i];
        const char *fault = ring_fault(p, tried[i], too_large);
        if (fault)
            return fault;
    }
    return NULL;
}

static bool judge(const struct ring_program *p, struct printer *text, struct tally *n, bool verbose)
{
    jmp_buf out_of_memory;
    struct arena a;
    struct diag d;
    arena_init(&a, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        abort();
    struct source source = {"random.tile", text->text, (size_t)text->length};
    diag_init(&d, &a);
    struct module *module = lang_parse(&a, &d, &source);
    struct lang_choice choice = {0};
    struct kernel *kernel = module && !d.errors ? lang_check(&a, &d, module, 0, &choice) : NULL;
    struct pass_context context = {.kernel = kernel, .diag = &d};
    const char *why = NULL;
    bool compiles = kernel && !d.errors, too_large = false;
    if (compiles)
        pass_variance(&context);
    enum sync_verdict verdict = compiles ? synccheck_kernel(&context, &why) : SYNC_UNDECIDED;
    int rounds = 0;
    const char *fault = fault_of(p, &rounds, &too_large);
    bool missed = verdict == SYNC_CLEAN && fault;
    bool alarm = verdict == SYNC_RACE && !fault && !too_large;
    n->clean += verdict == SYNC_CLEAN;
    n->wrong += verdict == SYNC_RACE;
    n->undecided += verdict == SYNC_UNDECIDED;
    n->missed += missed;
    n->false_alarms += alarm;
    n->too_large += too_large;
    if (missed || alarm || verdict == SYNC_UNDECIDED || verbose) {
        struct text out;
        text_init(&out, &a);
        diag_render(&out, &d, false);
        printf("%s: oracle: %s (%d rounds)\n%s%s%s\n",
               missed  ? "MISSED"
               : alarm ? "FALSE ALARM"
                       : "",
               fault ? fault : "nothing", rounds, text->text, out.data, why ? why : "");
    }
    arena_free(&a);
    return compiles;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tally n = {0};
    static struct ring_program p;
    static struct printer text;
    for (int i = 0; i < count; i++) {
        struct chance c = {seed * 1000003u + (uint64_t)i};
        make_program(&p, &c);
        print_program(&text, &p);
        if (!judge(&p, &text, &n, argc > 3))
            return 1;
        n.count++;
        if (n.missed + n.false_alarms > 5)
            break;
    }
    printf("%d programs, seed %llu: %d clean, %d wrong, %d undecided; %d missed, %d false alarms\n",
           n.count, (unsigned long long)seed, n.clean, n.wrong, n.undecided, n.missed,
           n.false_alarms);
    if (n.too_large)
        printf("%d were too large for the oracle\n", n.too_large);
    return n.missed || n.false_alarms || n.undecided;
}

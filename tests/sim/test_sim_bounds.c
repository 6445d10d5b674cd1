/* Every memory, every family of instructions, addresses inside and far outside: accesses outside
 * are found, accesses inside are not reported, and the simulator itself touches only its own
 * memory. The caller's array ends at a page that cannot be accessed, and the machine's own
 * memory has guards, which are checked when it is given back. TW_TEST_LONG=1 tries all
 * combinations. */
#include "bounds_kernels.h"

#include "tilewright.h"
#include "tilewright_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t random_state = 7;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % below);
}

/* --- memory with guards --- */

enum { GUARD = 64, GUARD_BYTE = 0xa7 };

static void must_stand(const uint8_t *guard)
{
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != GUARD_BYTE)
            fail_msg("the simulator wrote outside its own memory");
}

/* The block's size, with a guard before and after it. */
static void *guarded(void *user, void *ptr, size_t old_size, size_t size)
{
    uint8_t *old = ptr;
    (void)user;
    if (old) {
        must_stand(old - GUARD);
        must_stand(old + old_size);
    }
    if (!size) {
        free(old ? old - GUARD : NULL);
        return NULL;
    }
    uint8_t *block = malloc(size + 2 * GUARD);
    if (!block)
        return NULL;
    memset(block, GUARD_BYTE, GUARD);
    memset(block + GUARD + size, GUARD_BYTE, GUARD);
    if (old) {
        memcpy(block + GUARD, old, old_size < size ? old_size : size);
        free(old - GUARD);
    }
    return block + GUARD;
}

/* Returns BOUNDS_OBJECT bytes that end where accessible memory ends. */
static uint8_t *object_at_the_edge(void)
{
    enum { PAGES = 1 << 16 };
    void *pages;
    assert_int_equal(posix_memalign(&pages, PAGES, 2 * PAGES), 0);
    assert_int_equal(mprotect((uint8_t *)pages + PAGES, PAGES, PROT_NONE), 0);
    return (uint8_t *)pages + PAGES - BOUNDS_OBJECT;
}

/* --- where --- */

#define TWO_TO(n) (INT64_C(1) << (n))

/* Distances from the object's start; `widths` times the `bytes` of the access are added. */
static const struct distance {
    int64_t from;
    int widths;
} distances[] = {{INT64_MIN, 0},
                 {-TWO_TO(62), 0},
                 {-TWO_TO(36), 0},
                 {-TWO_TO(35), 0},
                 {-TWO_TO(33), 0},
                 {-TWO_TO(32), 0},
                 {16 - TWO_TO(32), 0},
                 {-TWO_TO(31), 0},
                 {-TWO_TO(31), -1},
                 {-1048576, 0},
                 {-BOUNDS_OBJECT, 0},
                 {-BOUNDS_HEAD, -1},
                 {0, -1},
                 {-1, 0},
                 {0, 0},
                 {1, 0},
                 {0, 1},
                 {1024, 0},
                 {BOUNDS_OBJECT, -2},
                 {BOUNDS_OBJECT, -1},
                 {BOUNDS_OBJECT + 1, -1},
                 {BOUNDS_OBJECT, 0},
                 {BOUNDS_OBJECT, 1},
                 {BOUNDS_OBJECT + 64, 0},
                 {65536, 0},
                 {1048576, 0},
                 {TWO_TO(31), -1},
                 {TWO_TO(31), 0},
                 {TWO_TO(32), -1},
                 {TWO_TO(32), 0},
                 {TWO_TO(32) + 16, 0},
                 {TWO_TO(33), 0},
                 {TWO_TO(35), 0},
                 {TWO_TO(36), -1},
                 {TWO_TO(36), 0},
                 {TWO_TO(46), 0},
                 {TWO_TO(62), 0},
                 {INT64_MAX - 15, 0}};
enum { DISTANCES = sizeof distances / sizeof *distances };

/* The pattern of the lanes' addresses. */
enum lanes { SAME, ROW, APART, ONE_OUT, ONE_LANE, GUARDED, DIVERGED, LANES };

struct run {
    const struct bounds_space *space;
    const struct bounds_family *family;
    enum bounds_way way;
    int64_t immediate, offset[32];
    uint32_t guard, branch;
};

static void place_lanes(struct run *r, int64_t distance, enum lanes lanes)
{
    const int bytes = r->family->bytes, places = BOUNDS_OBJECT / bytes;
    const uint32_t last = 31 - (uint32_t)__builtin_clz(r->family->lanes);
    const uint32_t one = draw(last + 1);
    r->guard = r->branch = UINT32_MAX;
    if (lanes == ONE_LANE)
        r->guard = UINT32_C(1) << one;
    if (lanes == GUARDED)
        r->guard = draw(UINT32_MAX) | UINT32_C(1) << one;
    if (lanes == DIVERGED)
        r->branch = draw(UINT32_MAX) | UINT32_C(1) << one;
    for (uint32_t i = 0; i < 32; i++) {
        int64_t inside = (int64_t)draw((uint32_t)places) * bytes, back = (int64_t)last - i;
        bool out = i == one || (lanes != ONE_OUT && lanes != GUARDED && lanes != DIVERGED);
        uint64_t step = lanes == ROW ? (uint64_t)bytes : lanes == APART ? 3 * (uint64_t)bytes : 0;
        r->offset[i] = out ? (int64_t)((uint64_t)distance - (uint64_t)back * step) : inside;
    }
}

/* --- expected findings --- */

enum verdict { INSIDE, OUTSIDE, EITHER };

static enum verdict verdict_of_lane(const struct run *r, uint32_t lane)
{
    const struct bounds_space *s = r->space;
    const int64_t bytes = r->family->bytes;
    const bool symbol = r->way == BOUNDS_IMMEDIATE;
    uint64_t at = (uint64_t)s->origin + (uint64_t)r->offset[lane];
    bool wraps =
        r->way == BOUNDS_SHORT_REGISTER ||
        (symbol && (s->total > BOUNDS_OBJECT + BOUNDS_HEAD || strcmp(s->name, "local") == 0));
    if (wraps) /* addresses of 32 bits */
        at = (uint32_t)at;
    if (at & ((uint64_t)r->family->alignment - 1))
        return OUTSIDE;
    int64_t number = (int64_t)at >> 36;
    if (s->global && number && number > -64 && number < 64 && (at & (TWO_TO(36) - 1)) < 65536)
        return EITHER; /* another allocation may be there */
    if (r->family->flags & BOUNDS_WRITES && s->read_only)
        return OUTSIDE;
    return at <= (uint64_t)s->total && (uint64_t)bytes <= (uint64_t)s->total - at ? INSIDE
                                                                                  : OUTSIDE;
}

static enum verdict verdict_of(const struct run *r)
{
    const struct bounds_family *f = r->family;
    enum verdict v = INSIDE;
    uint32_t active = r->guard & r->branch & f->lanes;
    if (f->flags & BOUNDS_NO_ACCESS)
        return INSIDE;
    for (; active; active &= active - 1) {
        enum verdict one = verdict_of_lane(r, (uint32_t)__builtin_ctz(active));
        if (one == OUTSIDE)
            return OUTSIDE;
        v = one == EITHER ? EITHER : v;
    }
    return v;
}

/* --- running --- */

struct machine {
    tw_context *ctx;
    tw_ptx *ptx;
    const char *text;
    uint8_t *data, parameter[BOUNDS_OBJECT];
    uint64_t table[32];
    long cases, verdicts[3], refused, programs;
};

static bool is_of_bounds(const char *kind)
{
    return strcmp(kind, "out-of-bounds") == 0 || strcmp(kind, "misaligned") == 0 ||
           strcmp(kind, "read-only") == 0;
}

static bool found_by(struct machine *m, const struct run *r, unsigned watch)
{
    tw_sim_result result = tw_sim_result_init();
    uint32_t guard = r->guard, branch = r->branch;
    const tw_ptx_argument arguments[] = {
        {.data = m->table, .bytes = sizeof m->table, .is_array = true},
        {.data = m->data, .bytes = BOUNDS_OBJECT, .is_array = true},
        {.data = &guard, .bytes = sizeof guard},
        {.data = &branch, .bytes = sizeof branch},
        {.data = m->parameter, .bytes = sizeof m->parameter}};
    const tw_ptx_launch launch = {.size = sizeof launch,
                                  .kernel = "k",
                                  .block = {32, 1, 1},
                                  .shared_bytes =
                                      strcmp(r->space->name, "dynamic") == 0 ? BOUNDS_OBJECT : 0,
                                  .arguments = arguments,
                                  .argument_count = 5};
    const tw_sim_options options = {.size = sizeof options,
                                    .watch = watch,
                                    .seed = draw(4) ? 0 : draw(1000),
                                    .late = draw(2),
                                    .step_limit = 10000};
    for (int i = 0; i < 32; i++)
        m->table[i] = (uint64_t)r->offset[i] - (uint64_t)r->immediate;
    tw_status status = tw_ptx_simulate(m->ptx, &launch, &options, &result);
    bool found = false;
    if (status != TW_OK && status != TW_FAULT)
        fail_msg("%s: %s\n%s", tw_status_text(status), tw_context_messages(m->ctx), m->text);
    for (int i = 0; i < result.finding_count; i++)
        found |= is_of_bounds(result.findings[i].kind);
    return found;
}

static void run_one(struct machine *m, const struct run *r)
{
    static const char *const names[] = {"inside", "outside", "either"};
    enum verdict v = verdict_of(r);
    for (int watched = 0; watched < 2; watched++) {
        bool found = found_by(m, r, watched ? TW_WATCH_ALL : 0);
        m->cases++;
        m->verdicts[v]++;
        if (v != EITHER && found != (v == OUTSIDE))
            fail_msg("%s memory, `%s`, %s, offset of lane 0 %" PRId64 ", immediate %" PRId64
                     ", lanes 0x%x: it is %s, and %s\n%s\n%s",
                     r->space->name, r->family->text, watched ? "watched" : "not watched",
                     r->offset[0], r->immediate, r->guard & r->branch, names[v],
                     found ? "was found" : "was not found", tw_context_messages(m->ctx), m->text);
    }
}

/* --- the product --- */

static bool load(struct machine *m, const struct run *r, struct text *text)
{
    text->length = 0;
    if (!bounds_kernel(text, r->space, r->family, r->way, r->immediate))
        return false;
    tw_ptx_free(m->ptx);
    m->ptx = NULL;
    m->text = text->data;
    m->programs++;
    tw_status status = tw_ptx_from_text(m->ctx, "bounds.ptx", text->data, text->length, &m->ptx);
    if (status == TW_OK)
        return true;
    /* an address that is always misaligned may be refused at once */
    bool misplaced = r->immediate % r->family->alignment != 0;
    if (r->way != BOUNDS_IMMEDIATE || (verdict_of(r) != OUTSIDE && !misplaced))
        fail_msg("%s\n%s", tw_context_messages(m->ctx), text->data);
    m->refused++;
    return false;
}

static bool may_be(const struct bounds_family *f, enum bounds_way way, enum lanes lanes)
{
    bool part = lanes == ONE_LANE || lanes == GUARDED || lanes == DIVERGED;
    if (f->flags & BOUNDS_UNIFORM || way == BOUNDS_IMMEDIATE)
        return lanes == SAME || (lanes == ONE_LANE && !(f->flags & BOUNDS_WHOLE));
    return !(part && f->flags & BOUNDS_WHOLE);
}

/* Runs every `one_of`-th case. */
static void go_through(struct machine *m, struct run *r, struct text *text, uint32_t one_of)
{
    bool loaded = false;
    for (int d = 0; d < DISTANCES; d++)
        for (enum lanes lanes = SAME; lanes < LANES; lanes++) {
            int64_t distance =
                (int64_t)((uint64_t)distances[d].from +
                          (uint64_t)((int64_t)distances[d].widths * r->family->bytes));
            if (draw(one_of) || !may_be(r->family, r->way, lanes))
                continue;
            if (r->way == BOUNDS_IMMEDIATE && (distance >= TWO_TO(47) || distance < -TWO_TO(47)))
                continue; /* the parser refuses it */
            place_lanes(r, distance, lanes);
            if (r->way == BOUNDS_IMMEDIATE)
                r->immediate = distance;
            if (!loaded || r->way == BOUNDS_IMMEDIATE)
                loaded = load(m, r, text);
            if (loaded)
                run_one(m, r);
        }
}

static void every_memory_is_bounded(void **state)
{
    (void)state;
    static const int64_t immediates[] = {16, -32, INT32_MAX - 15, INT32_MIN};
    const uint32_t one_of = getenv("TW_TEST_LONG") ? 1 : 50;
    const tw_config config = {.size = sizeof config, .resize = guarded};
    struct machine m = {.data = object_at_the_edge()};
    struct arena a;
    jmp_buf failed;
    struct text text;
    arena_init(&a, &allocator_libc, &failed);
    if (setjmp(failed))
        fail_msg("no memory");
    text_init(&text, &a);
    assert_int_equal(tw_context_new(&config, &m.ctx), TW_OK);
    for (size_t s = 0; s < bounds_space_count; s++)
        for (size_t f = 0; f < bounds_family_count; f++)
            for (enum bounds_way way = 0; way < BOUNDS_WAYS; way++) {
                struct run r = {&bounds_spaces[s], &bounds_families[f], way, 0, {0}, 0, 0};
                if (way == BOUNDS_BOTH)
                    r.immediate = immediates[draw(4)];
                go_through(&m, &r, &text, one_of);
            }
    print_message("%ld cases: %ld inside, %ld outside, %ld that may be either; %ld programs, %ld "
                  "refused\n",
                  m.cases, m.verdicts[INSIDE], m.verdicts[OUTSIDE], m.verdicts[EITHER], m.programs,
                  m.refused);
    assert_true(m.verdicts[INSIDE] > 500 && m.verdicts[OUTSIDE] > 1500);
    tw_ptx_free(m.ptx);
    tw_context_free(m.ctx);
    arena_free(&a);
    mprotect(m.data + BOUNDS_OBJECT, 1 << 16, PROT_READ | PROT_WRITE);
    free(m.data + BOUNDS_OBJECT - (1 << 16));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Counters as assembled: the accesses that may be merged, and the merged ones; loops; bounds
 * from machine code that is made up here (tests/emit/test_machine_code.c has that of ptxas). */
#include "ptx/flow.h"
#include "sim/sim_assembled.h"
#include "warp_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- loops --- */

/* Checks the loops of a graph: edges as pairs, and the loop expected for each node. */
static void check_loops(uint32_t nodes, const uint32_t (*edges)[2], size_t count,
                        const uint16_t *expected)
{
    struct arena arena;
    jmp_buf no_memory;
    uint32_t first[16] = {0}, to[32], next = 0;
    arena_init(&arena, &allocator_libc, &no_memory);
    for (uint32_t i = 0; i < nodes; i++) {
        first[i] = next;
        for (size_t e = 0; e < count; e++)
            if (edges[e][0] == i)
                to[next++] = edges[e][1];
    }
    first[nodes] = next;
    const uint16_t *loops = flow_loops(&arena, &(struct flow){nodes, first, to});
    for (uint32_t i = 0; i < nodes; i++)
        assert_int_equal(loops[i], expected[i]);
    arena_free(&arena);
}

static void loops_in_loops(void **state)
{
    (void)state;
    static const uint32_t straight[][2] = {{0, 1}, {1, 2}};
    check_loops(3, straight, 2, (const uint16_t[]){0, 0, 0});
    static const uint32_t itself[][2] = {{0, 1}, {1, 1}, {1, 2}};
    check_loops(3, itself, 3, (const uint16_t[]){0, 1, 0});
    /* 1 … 4 with 2, 3 inside; an edge from 3 out of both */
    static const uint32_t nested[][2] = {{0, 1}, {1, 2}, {2, 3}, {3, 2},
                                         {3, 4}, {3, 5}, {4, 1}, {4, 5}};
    check_loops(6, nested, 8, (const uint16_t[]){0, 1, 2, 2, 1, 0});
    /* `continue`: two edges back to one head are one loop */
    static const uint32_t twice[][2] = {{0, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 1}, {3, 4}};
    check_loops(5, twice, 6, (const uint16_t[]){0, 1, 1, 1, 0});
    /* entered at two places */
    static const uint32_t tangle[][2] = {{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}};
    check_loops(4, tangle, 5, (const uint16_t[]){0, 1, 1, 0});
    /* an unreachable loop; one that is the start */
    static const uint32_t lost[][2] = {{0, 0}, {0, 1}, {2, 3}, {3, 2}};
    check_loops(4, lost, 4, (const uint16_t[]){1, 0, 1, 1});
}

/* --- accesses that may be merged --- */

static const char head[] =
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    ".shared .align 16 .b8 s[8192];\n.shared .align 16 .b8 z[64];\n"
    ".reg .b32 %t, %a, %b, %c, %i, %r<8>;\n.reg .b64 %x, %o, %d<4>;\n.reg .b16 %h<4>;\n"
    ".reg .pred %p, %q;\n"
    "mov.u32 %t, %tid.x;\nld.param.u64 %x, [in];\nld.param.u64 %o, [out];\n"
    "shl.b32 %a, %t, 4;\nmov.u32 %b, s;\nadd.s32 %a, %a, %b;\nmov.u32 %c, z;\n"
    "setp.lt.u32 %p, %t, 32;\nsetp.lt.u32 %q, %t, 8;\n";

/* A kernel's accesses as written, and merged. */
static const struct {
    const char *what, *body;
    int written, merged; /* warp instructions on shared memory, of one warp */
} merges[] = {
    {"neighbours", "ld.shared.b32 %r0, [%a];\nld.shared.b32 %r1, [%a+4];\n", 2, 1},
    {"four, in any order",
     "ld.shared.b32 %r0, [%a+8];\nld.shared.b32 %r1, [%a];\nld.shared.b32 %r2, [%a+12];\n"
     "ld.shared.b32 %r3, [%a+4];\n",
     4, 1},
    {"stores", "st.shared.b32 [%a], %t;\nst.shared.b32 [%a+4], %t;\n", 2, 1},
    {"halves", "ld.shared.b16 %h0, [%a];\nld.shared.b16 %h1, [%a+2];\n", 2, 1},
    {"pairs of pairs", "ld.shared.v2.b32 {%r0, %r1}, [%a];\nld.shared.v2.b32 {%r2, %r3}, [%a+8];\n",
     2, 1},
    {"the same twice", "ld.shared.b32 %r0, [%a];\nld.shared.b32 %r1, [%a];\n", 2, 1},
    {"three: a pair and one",
     "ld.shared.b32 %r0, [%a];\nld.shared.b32 %r1, [%a+4];\nld.shared.b32 %r2, [%a+8];\n", 3, 2},
    {"not aligned", "ld.shared.b32 %r0, [%a+4];\nld.shared.b32 %r1, [%a+8];\n", 2, 2},
    {"with a hole", "ld.shared.b32 %r0, [%a];\nld.shared.b32 %r1, [%a+8];\n", 2, 2},
    {"a load and a store", "ld.shared.b32 %r0, [%a];\nst.shared.b32 [%a+4], %t;\n", 2, 2},
    {"as wide as can be",
     "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%a];\nld.shared.v4.b32 {%r4, %r5, %r6, %r7}, "
     "[%a+16];\n",
     2, 2},
    {"by another register",
     "add.s32 %i, %a, 4;\nld.shared.b32 %r0, [%a];\nld.shared.b32 %r1, [%i];\n", 2, 1},
    {"by a copy, back from above",
     "add.s32 %i, %a, 8;\nmov.b32 %r7, %i;\nsub.s32 %r6, %r7, 4;\nld.shared.b32 %r0, [%a];\n"
     "ld.shared.b32 %r1, [%r6];\n",
     2, 1},
    {"of a variable", "ld.shared.b32 %r0, [s+8];\nld.shared.b32 %r1, [s+12];\n", 2, 1},
    {"addresses that differ in more",
     "shl.b32 %i, %t, 5;\nadd.s32 %i, %i, %b;\nadd.s32 %i, %i, 4;\nld.shared.b32 %r0, [%a];\n"
     "ld.shared.b32 %r1, [%i];\n",
     2, 2},
    {"the register is written between",
     "ld.shared.b32 %r0, [%a];\nadd.s32 %a, %a, 512;\nld.shared.b32 %r1, [%a+4];\n", 2, 2},
    {"a barrier between", "ld.shared.b32 %r0, [%a];\nbar.sync 0;\nld.shared.b32 %r1, [%a+4];\n", 2,
     2},
    {"a fence between",
     "ld.shared.b32 %r0, [%a];\nfence.acq_rel.cta;\nld.shared.b32 %r1, [%a+4];\n", 2, 2},
    {"an atomic operation between",
     "ld.shared.b32 %r0, [%a];\natom.shared.add.u32 %r2, [%c], 1;\nld.shared.b32 %r1, [%a+4];\n", 2,
     2},
    {"a store between, who knows where",
     "shl.b32 %i, %t, 3;\nadd.s32 %i, %i, %b;\nld.shared.b32 %r0, [%a];\nst.shared.b32 [%i], %t;\n"
     "ld.shared.b32 %r1, [%a+4];\n",
     3, 3},
    {"a store between, to another variable",
     "ld.shared.b32 %r0, [%a];\nst.shared.b32 [%c], %t;\nld.shared.b32 %r1, [%a+4];\n", 3, 2},
    {"a store between, elsewhere by the same register",
     "ld.shared.b32 %r0, [%a];\nst.shared.b32 [%a+8], %t;\nld.shared.b32 %r1, [%a+4];\n", 3, 2},
    {"a store between, to global memory",
     "ld.shared.b32 %r0, [%a];\nst.global.b32 [%o], %t;\nld.shared.b32 %r1, [%a+4];\n", 2, 1},
    {"a load between stores",
     "shl.b32 %i, %t, 3;\nadd.s32 %i, %i, %b;\nst.shared.b32 [%a], %t;\nld.shared.b32 %r0, [%i];\n"
     "st.shared.b32 [%a+4], %t;\n",
     3, 3},
    {"volatile", "ld.volatile.shared.b32 %r0, [%a];\nld.volatile.shared.b32 %r1, [%a+4];\n", 2, 2},
    {"ordered", "ld.relaxed.cta.shared.b32 %r0, [%a];\nld.relaxed.cta.shared.b32 %r1, [%a+4];\n", 2,
     2},
    {"one guard", "@%p ld.shared.b32 %r0, [%a];\n@%p ld.shared.b32 %r1, [%a+4];\n", 2, 1},
    {"two guards", "@%p ld.shared.b32 %r0, [%a];\n@%q ld.shared.b32 %r1, [%a+4];\n", 2, 2},
    {"one of them guarded", "ld.shared.b32 %r0, [%a];\n@%p ld.shared.b32 %r1, [%a+4];\n", 2, 2},
    {"in two blocks",
     "ld.shared.b32 %r0, [%a];\n@%p bra over;\nover:\nld.shared.b32 %r1, [%a+4];\n", 2, 2},
    {"a label for debuggers", "ld.shared.b32 %r0, [%a];\nhere:\nld.shared.b32 %r1, [%a+4];\n", 2,
     1},
    {"vectors apart",
     "ld.shared.v2.b32 {%r0, %r1}, [%a];\nld.shared.b32 %r2, [%r0];\n"
     "ld.shared.b32 %r3, [%r1+4];\n",
     3, 3},
};

static int64_t accesses(const struct sim_counts *n)
{
    return n->shared_loads + n->shared_stores;
}

static void open_body(struct sim_case *c, const char *body)
{
    static char text[4096];
    snprintf(text, sizeof text, "%s%s ret;\n}\n", head, body);
    sim_case_open(c, text);
}

static struct sim_assembled run(struct sim_case *c, const struct sass *sass)
{
    static uint32_t in[1024], out[1024];
    const struct warp_array arrays[] = {{in, sizeof in}, {out, sizeof out}};
    struct sim_assembled found;
    struct sim_counters *counters = sim_counters_new(&c->arena);
    sim_counters_merge(counters);
    sim_observe(c->sim, sim_counters_observer(counters));
    assert_int_equal(warp_launch(c, SIM_LANES, arrays, 2), SIM_DONE);
    sim_assembled_find(&c->arena, counters, c->module, sass, &found);
    return found;
}

static void what_merges(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++) {
        struct sim_case c;
        open_body(&c, merges[i].body);
        struct sim_assembled found = run(&c, NULL);
        int64_t low = accesses(&found.total.low), high = accesses(&found.total.high);
        if (low != merges[i].merged || high != merges[i].written)
            fail_msg("%s: %d to %d accesses, not %d to %d", merges[i].what, (int)low, (int)high,
                     merges[i].merged, merges[i].written);
        assert_int_equal(found.exact, low == high);
        assert_null(found.assembler);
        assert_int_equal(found.line_count, found.exact ? 0 : 1);
        sim_case_close(&c);
    }
}

/* --- merged accesses --- */

static int64_t wavefronts;
static int pieces;

static void count_piece(void *user, const struct sim_access *piece)
{
    (void)user;
    wavefronts += sim_wavefronts(piece);
    pieces++;
}

/* Makes parts of an access of 8 or 16 bytes. */
static void random_merge(struct sim_merge *m, struct sim_merged *list, int width)
{
    *m = (struct sim_merge){.kind = ACCESS_LOAD, .list = list};
    int bytes = warp_draw(2) && width == 16 ? 8 : 4;
    for (int at = 0; at < width; at += bytes)
        list[m->count++] = (struct sim_merged){NULL, at, bytes};
}

static void random_addresses(struct sim_access *a, uint32_t width)
{
    uint32_t stride = warp_draw(20), span = 1u << warp_draw(10), way = warp_draw(4);
    a->mask = warp_draw(2) ? UINT32_MAX : warp_draw(2) ? warp_bits() | 1 : 1u << warp_draw(32);
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        uint32_t lane = way == 0 ? i : way == 1 ? i / 2 : i & ~2u;
        a->address[i] = (uint64_t)width * (way < 3 ? lane * stride : warp_draw(span));
    }
}

/* The bounds rely on this: merged accesses take at most as many wavefronts as single ones, and a
 * single one takes at most as many as the merged one. */
static void merged_takes_no_more(void **state)
{
    (void)state;
    struct arena arena;
    jmp_buf no_memory;
    arena_init(&arena, &allocator_libc, &no_memory);
    for (int n = 0; n < 20000; n++) {
        int width = warp_draw(2) ? 8 : 16, alone = 0;
        struct sim_merged list[4];
        struct sim_merge m;
        struct sim_pieces *room = arena_alloc(&arena, 4096);
        struct sim_access a = {.space = SIM_SHARED, .kind = warp_draw(2) ? SIM_READ : SIM_WRITE};
        random_merge(&m, list, width);
        m.pieces = room;
        random_addresses(&a, (uint32_t)width);
        a.bytes = list[0].bytes;
        wavefronts = pieces = 0;
        sim_merge_pieces(&arena, &m, &a, count_piece, NULL);
        assert_int_equal(pieces, 1);
        for (size_t i = 0; i < m.count; i++) {
            struct sim_access part = a;
            for (int lane = 0; lane < SIM_LANES; lane++)
                part.address[lane] += (uint64_t)list[i].distance;
            alone += sim_wavefronts(&part);
            assert_true(sim_wavefronts(&part) <= wavefronts);
        }
        assert_true(wavefronts <= alone);
        arena_free(&arena);
    }
}

/* At addresses that are not aligned for the whole access, it is made in pieces; lanes of
 * different alignment allow only smaller ones. */
static void pieces_are_aligned(void **state)
{
    (void)state;
    static const struct {
        uint64_t start, stride;
        int count;
    } cases[] = {{0, 32, 2},  {16, 32, 2}, {4, 32, 4}, {8, 32, 3},
                 {12, 32, 4}, {0, 24, 4},  {0, 20, 8}};
    struct sim_merged list[8];
    struct arena arena;
    jmp_buf no_memory;
    arena_init(&arena, &allocator_libc, &no_memory);
    for (int i = 0; i < 8; i++)
        list[i] = (struct sim_merged){NULL, 4 * i, 4};
    struct sim_merge m = {ACCESS_LOAD, list, 8, arena_alloc(&arena, 4096)};
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct sim_access a = {.space = SIM_SHARED, .kind = SIM_READ, .mask = UINT32_MAX};
        for (uint64_t lane = 0; lane < SIM_LANES; lane++)
            a.address[lane] = cases[n].start + lane * cases[n].stride;
        pieces = 0;
        sim_merge_pieces(&arena, &m, &a, count_piece, NULL);
        assert_int_equal(pieces, cases[n].count);
    }
    arena_free(&arena);
}

/* --- with machine code --- */

/* Returns the line of a text in the program. */
static uint32_t line_of(const struct sim_case *c, const char *text)
{
    const char *at = strstr(c->source.text, text);
    uint32_t line = 1;
    assert_non_null(at);
    for (const char *p = c->source.text; p < at; p++)
        line += *p == '\n';
    return line;
}

#define LOAD(n) ACCESS_LOAD, ACCESS_SHARED, n
#define TWO "ld.shared.b32 %r0, [%a];\nld.shared.b32 %r1, [%a+4];\n"
#define LOOP                                                                                       \
    "mov.b32 %i, 4;\nagain:\nld.shared.b32 %r0, [%a];\nsub.s32 %i, %i, 1;\n"                       \
    "setp.ne.s32 %q, %i, 0;\n@%q bra again;\n"
#define LOOP_OF_TWO                                                                                \
    "mov.b32 %i, 4;\nagain:\nld.shared.b32 %r0, [%a];\nld.shared.b32 %r1, [%a+4];\n"               \
    "sub.s32 %i, %i, 1;\nsetp.ne.s32 %q, %i, 0;\n@%q bra again;\n"
/* Code of a compiler, the accesses that an assembler made of it, each with its line, and the
 * resulting bounds. */
static const struct {
    const char *what, *body;
    struct {
        const char *line; /* a part of the line's text */
        uint8_t kind, space;
        uint16_t bytes, loops; /* loops: the number around it */
    } made[8];
    int64_t low, high; /* of shared memory: loads and stores at least, loads at most */
    const char *why;   /* NULL: exact */
} assembled[] = {
    {"as written", TWO, {{"[%a];", LOAD(4), 0}, {"[%a+4];", LOAD(4), 0}}, 2, 2, NULL},
    {"merged", TWO, {{"[%a];", LOAD(8), 0}}, 1, 2, "merged"},
    {"one left out", TWO, {{"[%a];", LOAD(4), 0}}, 0, 2, "left out"},
    {"another space",
     TWO,
     {{"[%a];", ACCESS_LOAD, ACCESS_GLOBAL, 4, 0}, {"[%a+4];", LOAD(4), 0}},
     0,
     2,
     "added by the assembler"},
    {"in a loop", LOOP, {{"[%a];", LOAD(4), 1}}, 4, 4, NULL},
    {"unrolled",
     LOOP,
     {{"[%a];", LOAD(4), 1}, {"[%a];", LOAD(4), 1}, {"[%a];", LOAD(4), 0}},
     4,
     4,
     NULL},
    {"unrolled and merged", LOOP, {{"[%a];", LOAD(16), 1}, {"[%a];", LOAD(4), 1}}, 1, 4, "merged"},
    {"written out",
     LOOP,
     {{"[%a];", LOAD(4), 0}, {"[%a];", LOAD(4), 0}, {"[%a];", LOAD(4), 0}, {"[%a];", LOAD(4), 0}},
     4,
     4,
     NULL},
    {"written out and merged", LOOP, {{"[%a];", LOAD(16), 0}}, 1, 4, "merged"},
    {"written out, one left out",
     LOOP,
     {{"[%a];", LOAD(8), 0}, {"[%a];", LOAD(4), 0}},
     0,
     4,
     "moved out of a loop"},
    {"written out, two that may be merged",
     LOOP_OF_TWO,
     {{"[%a];", LOAD(16), 0}, {"[%a];", LOAD(16), 0}},
     2,
     8,
     "merged"},
    {"written out, two of which some are left out",
     LOOP_OF_TWO,
     {{"[%a];", LOAD(16), 0}, {"[%a+4];", LOAD(8), 0}},
     0,
     8,
     "moved out of a loop"},
    {"out of the loop", LOOP, {{"[%a];", LOAD(4), 0}}, 0, 4, "moved out of a loop"},
    {"into a loop",
     TWO,
     {{"[%a];", LOAD(4), 1}, {"[%a+4];", LOAD(4), 0}},
     0,
     SIM_UNBOUNDED,
     "repeated more"},
    {"split",
     "ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%a];\n",
     {{"[%a];", LOAD(8), 0}, {"[%a];", LOAD(8), 0}},
     1,
     2,
     "split"},
    {"a generic address that is none",
     "cvt.u64.u32 %d0, %a;\ncvta.shared.u64 %d1, %d0;\nld.b32 %r0, [%d1];\n",
     {{"[%d1];", LOAD(4), 0}},
     1,
     1,
     NULL},
    {"an atomic operation by trying",
     "atom.shared.add.f32 %r0, [%c], %r1;\n",
     {{"[%c]", LOAD(4), 1}, {"[%c]", ACCESS_ATOMIC, ACCESS_SHARED, 0, 1}},
     0,
     SIM_UNBOUNDED,
     "added by the assembler"},
    {"registers put away",
     TWO,
     {{"[%a];", LOAD(4), 0},
      {"[%a+4];", LOAD(4), 0},
      {"shl.b32 %a", ACCESS_STORE, ACCESS_LOCAL, 4, 0}},
     2,
     2,
     "added by the assembler"},
};

static int by_line(const void *left, const void *right)
{
    const struct coded_access *a = left, *b = right;
    return (a->line > b->line) - (a->line < b->line);
}

static void with_machine_code(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof assembled / sizeof *assembled; i++) {
        struct sim_case c;
        struct coded_access list[8];
        struct sass sass = {.target = 90, .assembler = "1.2.3", .list = list};
        open_body(&c, assembled[i].body);
        for (; assembled[i].made[sass.count].line; sass.count++)
            list[sass.count] =
                (struct coded_access){.line = line_of(&c, assembled[i].made[sass.count].line),
                                      .kind = assembled[i].made[sass.count].kind,
                                      .space = assembled[i].made[sass.count].space,
                                      .bytes = assembled[i].made[sass.count].bytes,
                                      .loops = assembled[i].made[sass.count].loops};
        qsort(list, sass.count, sizeof *list, by_line);
        struct sim_assembled found = run(&c, &sass);
        int64_t low = accesses(&found.total.low), high = found.total.high.shared_loads;
        const char *why = found.line_count ? found.lines[0].why : NULL;
        if (low != assembled[i].low || high != assembled[i].high ||
            found.exact != !assembled[i].why || (why && strcmp(why, assembled[i].why) != 0))
            fail_msg("%s: %lld to %lld, %s", assembled[i].what, (long long)low, (long long)high,
                     why ? why : "exact");
        assert_string_equal(found.assembler, "ptxas 1.2.3 for sm_90");
        sim_case_close(&c);
    }
}

static void texts(void **state)
{
    (void)state;
    struct sim_case c;
    struct text out;
    open_body(&c, TWO "st.shared.v2.b32 [%a], {%r0, %r1};\n");
    struct sim_assembled found = run(&c, NULL);
    text_init(&out, &c.arena);
    sim_assembled_text(&out, &found);
    assert_non_null(strstr(out.data, "as assembled (by what may be merged; no ptxas is here): "
                                     "shared_loads 1 to 2, shared_wavefronts 8 to 12, "
                                     "bank_conflicts 4 to 8; test.ptx:"));
    assert_ptr_equal(strchr(out.data, '\n'), out.data + out.length - 1);
    text_init(&out, &c.arena);
    sim_assembled_json(&out, &found);
    assert_ptr_equal(strstr(out.data,
                            "{\"assembler\": null, \"exact\": false, \"shared_loads\": [1, 2], "
                            "\"shared_stores\": [1, 1], "),
                     out.data);
    assert_non_null(strstr(out.data, "\"why\": \"may be merged\", \"shared_loads\": [1, 2], "
                                     "\"shared_wavefronts\": [4, 8], "
                                     "\"bank_conflicts\": [2, 6]}]}"));
    sim_case_close(&c);
    open_body(&c, "");
    found = run(&c, NULL);
    text_init(&out, &c.arena);
    sim_assembled_text(&out, &found);
    assert_int_equal(out.length, 0);
    sim_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_in_loops),       cmocka_unit_test(what_merges),
        cmocka_unit_test(merged_takes_no_more), cmocka_unit_test(pieces_are_aligned),
        cmocka_unit_test(with_machine_code),    cmocka_unit_test(texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

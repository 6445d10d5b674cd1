/* Counters: every reading of h200-counters.csv and of h200-copies.csv; random accesses compared
 * with the rules written out; sums by line and kind. */
#include "sim/sim_counters.h"
#include "sim/sim_groups.h"
#include "warp_program.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TW_TEST_ROOT
#define TW_TEST_ROOT "."
#endif

/* --- readings --- */

struct reading {
    char access[16], pattern[32];
    int active, wavefronts, ideal, sectors, requests;
    int offset[SIM_LANES];
};

static bool read_line(char *line, struct reading *r)
{
    char *field = strtok(line, ",");
    for (int i = 0; field; i++, field = strtok(NULL, ",\n")) {
        int n = atoi(field);
        switch (i) {
        case 0: snprintf(r->access, sizeof r->access, "%s", field); break;
        case 1: snprintf(r->pattern, sizeof r->pattern, "%s", field); break;
        case 2: r->active = n; break;
        case 3: break; /* machine instructions of the whole program */
        case 4: r->wavefronts = n; break;
        case 5: r->ideal = n; break;
        case 6: r->sectors = n; break;
        case 7: r->requests = n; break;
        default: r->offset[i - 8] = n; break;
        }
        if (i == 7 + SIM_LANES)
            return true;
    }
    return false;
}

static void lanes_of(const struct reading *r, struct sim_access *a)
{
    for (int i = 0; i < SIM_LANES; i++)
        if (r->offset[i] >= 0) {
            a->mask |= 1u << i;
            a->address[i] = (uint64_t)r->offset[i];
        }
}

/* Gives the access of a reading's instruction on its shared side, and on its global side. */
static bool shared_side(const struct reading *r, struct sim_access *a)
{
    const char *s = r->access;
    *a = (struct sim_access){.space = SIM_SHARED, .kind = SIM_READ};
    lanes_of(r, a);
    if (s[0] == 'g')
        return false;
    if (strncmp(s, "ldm", 3) == 0 || strncmp(s, "stm", 3) == 0) {
        a->kind = s[0] == 's' ? SIM_WRITE : SIM_READ;
        a->matrix = s[0] == 's' ? SIM_STMATRIX : SIM_LDMATRIX;
        a->matrices = s[3] - '0';
        a->bytes = 16;
        a->mask &= a->matrices == 4 ? UINT32_MAX : (1u << 8 * a->matrices) - 1;
    } else if (strncmp(s, "cpa", 3) == 0) {
        a->kind = SIM_WRITE;
        a->group = 1;
        a->bytes = atoi(s + 3);
        a->past_l1 = a->bytes == 16;
    } else {
        a->kind = s[1] == 's' ? SIM_WRITE : SIM_READ;
        a->bytes = atoi(s + 3) / 8;
    }
    return true;
}

static bool global_side(const struct reading *r, struct sim_access *a)
{
    const char *s = r->access;
    *a = (struct sim_access){.space = SIM_GLOBAL, .kind = s[1] == 's' ? SIM_WRITE : SIM_READ};
    lanes_of(r, a);
    a->bytes = s[0] == 'c' ? atoi(s + 3) : atoi(s + 3) / 8;
    a->group = s[0] == 'c';
    a->past_l1 = a->group && a->bytes == 16;
    return s[0] == 'g' || s[0] == 'c';
}

/* Checks that sim_serve returns the right number of wavefronts, and that each of them serves
 * some lane. */
static void check_served(const struct sim_access *a, uint8_t wavefront[SIM_LANES])
{
    uint32_t used = 0;
    int count = sim_serve(a, wavefront);
    assert_int_equal(count, sim_wavefronts(a));
    for (int i = 0; i < SIM_LANES; i++) {
        bool active = a->mask >> i & 1;
        if (!active || !a->group) /* a later lane's copy may replace it */
            assert_int_equal(wavefront[i] != SIM_NOT_SERVED, active);
        if (wavefront[i] != SIM_NOT_SERVED)
            used |= 1u << wavefront[i];
    }
    assert_true(used == (uint32_t)((1ull << count) - 1));
}

static void every_reading(void **state)
{
    (void)state;
    FILE *f = fopen(TW_TEST_ROOT "/tests/sim/h200-counters.csv", "r");
    assert_non_null(f);
    char line[2048];
    int rows = 0;
    assert_non_null(fgets(line, sizeof line, f)); /* the heading */
    while (fgets(line, sizeof line, f)) {
        struct reading r;
        struct sim_access a;
        assert_true(read_line(line, &r));
        int wavefronts = 0, ideal = 0, sectors = 0, requests = 0;
        if (shared_side(&r, &a)) {
            uint8_t served[SIM_LANES];
            check_served(&a, served);
            wavefronts = sim_wavefronts(&a);
            ideal = sim_wavefronts_ideal(&a);
        }
        if (global_side(&r, &a)) {
            sectors = sim_sectors(&a);
            requests = 1;
        }
        if (wavefronts != r.wavefronts || ideal != r.ideal || sectors != r.sectors ||
            requests != r.requests)
            print_error("%s %s: %d %d %d %d, read %d %d %d %d\n", r.access, r.pattern, wavefronts,
                        ideal, sectors, requests, r.wavefronts, r.ideal, r.sectors, r.requests);
        assert_int_equal(wavefronts, r.wavefronts);
        assert_int_equal(ideal, r.ideal);
        assert_int_equal(sectors, r.sectors);
        assert_int_equal(requests, r.requests);
        rows++;
    }
    fclose(f);
    assert_int_equal(rows, 546);
}

/* --- readings of copies --- */

enum { COPY_COUNTS = 4, COPY_FIELDS = COPY_COUNTS + 2 * SIM_LANES };

/* access (the instruction and its bytes: cpa.ca, but cpa16 .cg and cpaa16 .ca), pattern,
 * wavefronts, the least number, sectors, requests, offsets in global and in shared memory; -1:
 * the lane is off */
static void copy_of(const char *access, const int field[COPY_FIELDS], struct sim_access *read,
                    struct sim_access *write)
{
    bool wide = strcmp(access, "cpa16") == 0;
    *read = (struct sim_access){.space = SIM_GLOBAL,
                                .kind = SIM_READ,
                                .group = 1,
                                .past_l1 = wide,
                                .bytes = atoi(access + strcspn(access, "0123456789"))};
    for (int i = 0; i < SIM_LANES; i++)
        read->mask |= field[COPY_COUNTS + SIM_LANES + i] >= 0 ? 1u << i : 0;
    *write = *read;
    write->space = SIM_SHARED;
    write->kind = SIM_WRITE;
    for (int i = 0; i < SIM_LANES; i++)
        if (read->mask >> i & 1) {
            read->address[i] = (uint64_t)field[COPY_COUNTS + i];
            write->address[i] = (uint64_t)field[COPY_COUNTS + SIM_LANES + i];
        }
    read->across = write->address;
    write->across = read->address;
}

static void every_copy(void **state)
{
    (void)state;
    FILE *f = fopen(TW_TEST_ROOT "/tests/sim/h200-copies.csv", "r");
    assert_non_null(f);
    char line[2048];
    int rows = 0;
    assert_non_null(fgets(line, sizeof line, f)); /* the heading */
    while (fgets(line, sizeof line, f)) {
        int field[COPY_FIELDS], count = 0;
        struct sim_access read, write;
        char *access = strtok(line, ","), *pattern = strtok(NULL, ","), *text;
        while (count < COPY_FIELDS && (text = strtok(NULL, ",")))
            field[count++] = atoi(text);
        assert_int_equal(count, COPY_FIELDS);
        uint8_t served[SIM_LANES];
        copy_of(access, field, &read, &write);
        check_served(&write, served);
        const int ours[] = {sim_wavefronts(&write), sim_wavefronts_ideal(&write),
                            sim_sectors(&read), 1};
        for (int i = 0; i < COPY_COUNTS; i++) {
            if (ours[i] != field[i])
                print_error("%s %s: count %d: %d, read %d\n", access, pattern, i, ours[i],
                            field[i]);
            assert_int_equal(ours[i], field[i]);
        }
        rows++;
    }
    fclose(f);
    assert_int_equal(rows, 308);
}

/* --- the rules, word by word and lane by lane --- */

static uint64_t seed = 1;
static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

/* Returns the greatest number of distinct words in one bank among lanes first to last. */
static int plain_phase(const struct sim_access *a, int first, int last, int bytes)
{
    int most = 0;
    for (uint64_t bank = 0; bank < 32; bank++) {
        uint64_t words[32 * 4];
        int count = 0;
        for (int i = first; i < last; i++)
            for (uint64_t w = a->address[i] / 4; w <= (a->address[i] + (uint64_t)bytes - 1) / 4;
                 w++) {
                bool had = false;
                for (int j = 0; j < count; j++)
                    had |= words[j] == w;
                if ((a->mask >> i & 1) && w % 32 == bank && !had)
                    words[count++] = w;
            }
        most = most > count ? most : count;
    }
    return most;
}

static bool plain_pairs(const struct sim_access *a, int apart)
{
    for (int i = 0; i < SIM_LANES; i++)
        if (a->address[i] != a->address[i ^ apart])
            return false;
    return a->mask == UINT32_MAX && a->kind == SIM_READ && a->bytes > 4;
}

static int plain_wavefronts(const struct sim_access *a)
{
    int lanes = a->bytes <= 4 ? 32 : a->bytes == 8 ? 16 : 8, sum = 0;
    if (plain_pairs(a, 1) || plain_pairs(a, 2))
        lanes *= 2;
    for (int first = 0; first < SIM_LANES; first += lanes)
        sum += plain_phase(a, first, first + lanes, a->bytes);
    return sum;
}

/* Checks that a bank gives one word in a wavefront. */
static void check_apart(const struct sim_access *a)
{
    uint8_t served[SIM_LANES];
    check_served(a, served);
    for (int i = 0; i < SIM_LANES; i++)
        for (int j = 0; j < i; j++)
            for (uint64_t w = 0; w < 16 && served[i] == served[j] && a->mask >> i & 1; w++) {
                uint64_t p = a->address[i] / 4 + w / 4, q = a->address[j] / 4 + w % 4;
                uint64_t words = ((uint64_t)a->bytes + 3) / 4;
                assert_true(w / 4 >= words || w % 4 >= words || p == q || p % 32 != q % 32);
            }
}

static int plain_sectors(const struct sim_access *a)
{
    int count = 0;
    for (int i = 0; i < SIM_LANES; i++) {
        bool had = !(a->mask >> i & 1);
        for (int j = 0; j < i; j++)
            had |= (a->mask >> j & 1) && a->address[i] / 32 == a->address[j] / 32;
        count += !had;
    }
    return count;
}

/* Makes addresses in patterns of real kernels, and in none. */
static void random_access(struct sim_access *a)
{
    static const int widths[] = {1, 2, 4, 8, 16};
    uint64_t width = (uint64_t)widths[draw(5)];
    uint32_t stride = draw(40), span = 1u << draw(12), way = draw(4);
    *a = (struct sim_access){.kind = draw(2) ? SIM_READ : SIM_WRITE, .bytes = (int)width};
    a->mask = draw(2) ? UINT32_MAX : draw(3) ? draw(UINT32_MAX) : 1u << draw(32);
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        uint32_t lane = way == 0 ? i : way == 1 ? i / 2 : way == 2 ? i & ~2u : 0;
        a->address[i] = width * (way < 3 ? lane * stride : draw(span));
    }
    if (draw(4) == 0)
        a->address[draw(32)] += width;
    if (draw(50) == 0)
        a->address[draw(32)] += (uint64_t)draw(100) << 36;
}

static void random_accesses(void **state)
{
    (void)state;
    for (int n = 0; n < 20000; n++) {
        struct sim_access a;
        random_access(&a);
        assert_int_equal(sim_sectors(&a), plain_sectors(&a));
        for (int i = 0; i < SIM_LANES; i++)
            a.address[i] &= UINT32_MAX;
        assert_int_equal(sim_wavefronts(&a), plain_wavefronts(&a));
        check_apart(&a);
    }
}

static void no_lane_active(void **state)
{
    (void)state;
    struct sim_access a = {.kind = SIM_READ, .bytes = 16};
    assert_int_equal(sim_wavefronts(&a), 0);
    assert_int_equal(sim_wavefronts_ideal(&a), 0);
    assert_int_equal(sim_sectors(&a), 0);
}

/* --- sums --- */

static const char program[] = ".version 8.0\n"
                              ".target sm_80\n"
                              ".address_size 64\n"
                              ".file 1 \"here/k.tile\"\n"
                              ".visible .entry k()\n"
                              "{\n"
                              "    .reg .b32 %r<3>;\n"
                              "    .reg .f32 %f<3>;\n"
                              "    .reg .b64 %rd<2>;\n"
                              "    mov.u32 %r1, 0;\n"
                              "    mov.u64 %rd1, 0;\n"
                              "    .loc 1 7 3\n"
                              "    ld.shared.f32 %f1, [%r1];\n"
                              "    fma.rn.f32 %f2, %f1, %f1, %f1;\n"
                              "    .loc 1 9 1\n"
                              "    st.global.f32 [%rd1], %f2;\n"
                              "    .loc 1 7 8\n"
                              "    add.s32 %r2, %r1, %r1;\n"
                              "    .loc 1 0 0\n" /* invented by the compiler, of the line before */
                              "    ret;\n"
                              "}\n";

/* Sends an observer each instruction of the program and its accesses. */
static void feed(const struct sim_observer *o, const struct ptx_function *f)
{
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        if (s->kind != PTX_AT_INSTRUCTION)
            continue;
        struct sim_access a = {.at = {.ins = s->instruction, .function = f, .where = s->where},
                               .mask = UINT32_MAX,
                               .bytes = 4};
        o->executed(o->user, &a.at, 2, SIM_LANES + 1); /* a whole warp, and one lane */
        for (uint64_t lane = 0; lane < SIM_LANES; lane++)
            a.address[lane] = 8 * lane;
        if (s->instruction->op == PTX_LD) {
            a.space = SIM_SHARED;
            a.kind = SIM_READ;
            assert_true(o->access(o->user, &a));
        } else if (s->instruction->op == PTX_ST) {
            a.space = SIM_GLOBAL;
            a.kind = SIM_WRITE;
            assert_true(o->access(o->user, &a));
        }
    }
}

static void by_line_and_kind(void **state)
{
    (void)state;
    jmp_buf no_memory;
    struct arena arena;
    struct diag diag;
    struct text out;
    arena_init(&arena, &allocator_libc, &no_memory);
    if (setjmp(no_memory))
        fail();
    const struct source source = {"k.ptx", program, sizeof program - 1};
    diag_init(&diag, &arena);
    struct ptx_module *module = ptx_parse(&arena, &source, &diag);
    assert_non_null(module);
    struct sim_counters *c = sim_counters_new(&arena);
    feed(sim_counters_observer(c), ptx_find_function(module, "k"));
    struct sim_counts total;
    sim_counters_total(c, &total);
    assert_int_equal(total.warp_instructions, 14);
    assert_int_equal(total.thread_instructions, 7 * 33);
    assert_int_equal(total.shared_wavefronts, 2);
    assert_int_equal(total.bank_conflicts, 1);
    assert_int_equal(total.global_sectors, 8);
    struct sim_line_counts *lines;
    assert_int_equal(sim_counters_lines(c, module, &arena, &lines), 4);
    assert_string_equal(lines[0].file, "here/k.tile");
    assert_int_equal(lines[0].line, 7);
    assert_int_equal(lines[0].counts.warp_instructions, 8); /* the ret too */
    assert_int_equal(lines[1].line, 9);
    assert_int_equal(lines[1].counts.global_requests, 1);
    assert_string_equal(lines[2].file, "k.ptx"); /* before the first .loc */
    assert_int_equal(lines[2].line, 10);
    text_init(&out, &arena);
    sim_counters_json(&out, c, module, NULL);
    assert_non_null(strstr(out.data, "{\"warp_instructions\": 14, \"thread_instructions\": 231, "));
    assert_non_null(strstr(out.data, "\"instructions\": {\"f32\": 2, \"integer\": 2, \"move\": 4, "
                                     "\"shared\": 2, \"global\": 2, \"control\": 2}"));
    assert_non_null(strstr(out.data, "{\"file\": \"here/k.tile\", \"line\": 9, "
                                     "\"warp_instructions\": 2, \"thread_instructions\": 33, "
                                     "\"global_stores\": 1, \"global_requests\": 1, "
                                     "\"global_sectors\": 8}"));
#define X(name) #name,
    static const char *const names[] = {SIM_COUNTERS(X)};
#undef X
    sim_counters_table(&out, c, module, names);
    assert_non_null(strstr(out.data, "k.tile:7"));
    sim_counters_clear(c);
    sim_counters_total(c, &total);
    assert_int_equal(total.warp_instructions, 0);
    arena_free(&arena);
}

/* --- a launch --- */

/* Two warps: an asynchronous copy of 16 bytes a thread, matrices from it, a column of a
 * row-major array, and a store by half of the lanes. */
static const char kernel[] =
    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
    "    .shared .align 128 .b8 s[8192];\n    .reg .b32 %t, %x, %y, %r<4>;\n    .reg .b64 %i, %o, "
    "%u;\n"
    "    .reg .pred %p;\n    mov.u32 %t, %tid.x;\n    ld.param.u64 %i, [in];\n"
    "    ld.param.u64 %o, [out];\n    mul.wide.u32 %u, %t, 16;\n    add.s64 %i, %i, %u;\n"
    "    mov.u32 %x, s;\n    shl.b32 %y, %t, 4;\n    add.u32 %x, %x, %y;\n"
    "    cp.async.cg.shared.global [%x], [%i], 16;\n    cp.async.wait_all;\n    bar.sync 0;\n"
    "    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%x];\n"
    "    shl.b32 %y, %t, 7;\n    mov.u32 %x, s;\n    add.u32 %x, %x, %y;\n"
    "    ld.shared.b32 %r1, [%x];\n"
    "    and.b32 %y, %t, 1;\n    setp.eq.u32 %p, %y, 0;\n    mul.wide.u32 %u, %t, 4;\n"
    "    add.s64 %o, %o, %u;\n    @%p st.global.b32 [%o], %r0;\n    ret;\n}\n";

static void counted_in_a_launch(void **state)
{
    (void)state;
    static uint32_t in[256], out[64];
    const struct warp_array arrays[] = {{in, sizeof in}, {out, sizeof out}};
    struct sim_case c;
    struct sim_counts n;
    int64_t kinds[SIM_KIND_COUNT];
    for (int late = 0; late < 2; late++) {
        sim_case_open(&c, kernel);
        struct sim_counters *counters = sim_counters_new(&c.arena);
        sim_observe(c.sim, sim_counters_observer(counters));
        c.launch.options.async_late = late;
        assert_int_equal(warp_launch(&c, 64, arrays, 2), SIM_DONE);
        sim_counters_total(counters, &n);
        assert_int_equal(n.warp_instructions, 2 * 22);
        assert_int_equal(n.thread_instructions, 2 * (21 * 32 + 16));
        assert_int_equal(n.async_copies, 2);
        assert_int_equal(n.async_bytes, 1024);
        assert_int_equal(n.async_depth, 0); /* all groups are waited for */
        assert_int_equal(n.async_overlap, 0);
        assert_int_equal(n.busiest_warp, 22); /* of two equal warps */
        assert_int_equal(n.shared_loads, 4);
        assert_int_equal(n.shared_stores, 0);
        assert_int_equal(n.shared_wavefronts, 2 * (4 + 4 + 32)); /* copy, matrices, column */
        assert_int_equal(n.shared_wavefronts_ideal, 2 * (4 + 4 + 1));
        assert_int_equal(n.bank_conflicts, 2 * 31);
        assert_int_equal(n.global_loads, 0);
        assert_int_equal(n.global_stores, 2);
        assert_int_equal(n.global_requests, 4);
        assert_int_equal(n.global_sectors, 2 * (16 + 4));
        assert_int_equal(n.block_sectors, n.global_sectors); /* one block */
        sim_counters_kinds(counters, kinds);
        assert_int_equal(kinds[SIM_KIND_SHARED], 4);
        assert_int_equal(kinds[SIM_KIND_ASYNC], 4);
        assert_int_equal(kinds[SIM_KIND_BARRIER], 2);
        sim_case_close(&c);
    }
}

/* Each of three blocks reads sectors one at a time, by turns with the others; the number
 * differs. */
static void busiest_block(void **state)
{
    (void)state;
    static const int64_t times[] = {2, 5, 3};
    static const struct ptx_instruction none;
    struct sim_case c;
    struct sim_counts n;
    sim_case_open(&c, kernel);
    struct sim_counters *counters = sim_counters_new(&c.arena);
    const struct sim_observer *o = sim_counters_observer(counters);
    struct sim_access a = {
        .space = SIM_GLOBAL, .kind = SIM_READ, .mask = 1, .bytes = 4, .at.ins = &none};
    for (int round = 0; round < 2; round++) { /* two launches; the second has one long block */
        for (int64_t i = 0; i < 5; i++)
            for (a.at.block = 0; a.at.block < 3; a.at.block++)
                if (i < times[a.at.block] + round)
                    assert_true(o->access(o->user, &a));
        for (int64_t b = round; b < 3; b++)
            assert_true(o->block_ends(o->user, &(struct sim_block_event){.block = b}));
        assert_true(o->ended(o->user));
        sim_counters_total(counters, &n);
        assert_int_equal(n.block_sectors, 5);
    }
    assert_int_equal(n.global_sectors, 2 + 5 + 3 + 3 + 5 + 4);
    a.at.block = 7;
    for (int i = 0; i < 9; i++)
        assert_true(o->access(o->user, &a));
    assert_true(o->ended(o->user)); /* broken off */
    sim_counters_total(counters, &n);
    assert_int_equal(n.block_sectors, 9);
    sim_counters_clear(counters);
    sim_counters_total(counters, &n);
    assert_int_equal(n.block_sectors, 0);
    sim_case_close(&c);
}

static int under_way(const struct sim_groups *g, const struct sim_place *at, uint32_t mask)
{
    int64_t bytes;
    return sim_groups_under_way(g, at, mask, &bytes);
}

static int64_t bytes_under_way(const struct sim_groups *g, const struct sim_place *at)
{
    int64_t bytes;
    sim_groups_under_way(g, at, 1, &bytes);
    return bytes;
}

/* Sends the event for lanes 0 and 1 of warp 1, block 5. */
static void tell(struct sim_groups *g, enum sim_async kind, uint32_t mask, int pending, bool all)
{
    struct sim_async_event e = {
        .at = {.block = 5, .warp = 1}, .kind = kind, .mask = mask, .pending = pending, .all = all};
    sim_groups_see(g, &e);
}

static void groups_under_way(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, kernel);
    struct sim_groups g = {.arena = &c.arena};
    const struct sim_place here = {.block = 5, .warp = 1}, there = {.block = 5, .warp = 2};
    assert_int_equal(under_way(&g, &here, 3), 0);
    for (int i = 0; i < 3; i++) {
        tell(&g, SIM_ASYNC_ISSUE, 3, 0, false);
        tell(&g, SIM_ASYNC_COMMIT, 3, 0, false);
    }
    assert_int_equal(under_way(&g, &here, 3), 3);
    assert_int_equal(under_way(&g, &there, 3), 0);
    tell(&g, SIM_ASYNC_WAIT, 1, 1, false); /* lane 0 alone */
    assert_int_equal(under_way(&g, &here, 1), 1);
    assert_int_equal(under_way(&g, &here, 3), 3);
    tell(&g, SIM_ASYNC_ISSUE, 1, 0, false); /* no lane has committed it yet */
    assert_int_equal(under_way(&g, &here, 1), 2);
    tell(&g, SIM_ASYNC_WAIT, 3, 0, false);
    assert_int_equal(under_way(&g, &here, 3), 1);
    tell(&g, SIM_ASYNC_WAIT, 3, 0, true);
    assert_int_equal(under_way(&g, &here, 3), 0);
    tell(&g, SIM_ASYNC_COMMIT, 3, 0, false); /* an empty group */
    assert_int_equal(under_way(&g, &here, 3), 0);
    tell(&g, SIM_ASYNC_ISSUE, 2, 0, false);
    assert_int_equal(under_way(&g, &here, 3), 1);
    sim_groups_clear(&g);
    assert_int_equal(under_way(&g, &here, 3), 0);
    sim_case_close(&c);
}

/* Lane 0 copies `first` bytes, lane 1 `second`. */
static void tell_copy(struct sim_groups *g, uint8_t first, uint8_t second)
{
    const uint8_t bytes[SIM_LANES] = {first, second};
    struct sim_async_event e = {
        .at = {.block = 5, .warp = 1}, .kind = SIM_ASYNC_ISSUE, .mask = 3, .bytes = bytes};
    sim_groups_see(g, &e);
}

/* Bytes of a warp's copies, counted by the bytes that they read: a copy that only fills with
 * zeros has none. */
static void bytes_of_groups(void **state)
{
    (void)state;
    struct sim_case c;
    sim_case_open(&c, kernel);
    struct sim_groups g = {.arena = &c.arena};
    const struct sim_place here = {.block = 5, .warp = 1}, there = {.block = 5, .warp = 2};
    tell_copy(&g, 16, 4);
    assert_int_equal(bytes_under_way(&g, &here), 20);
    assert_int_equal(bytes_under_way(&g, &there), 0);
    tell(&g, SIM_ASYNC_COMMIT, 3, 0, false);
    tell_copy(&g, 8, 0);
    tell(&g, SIM_ASYNC_COMMIT, 3, 0, false);
    tell_copy(&g, 1, 1);
    assert_int_equal(bytes_under_way(&g, &here), 30);
    tell(&g, SIM_ASYNC_WAIT, 1, 1, false); /* lane 0's older group */
    assert_int_equal(bytes_under_way(&g, &here), 14);
    tell(&g, SIM_ASYNC_WAIT, 3, 0, false); /* uncommitted copies go on */
    assert_int_equal(bytes_under_way(&g, &here), 2);
    tell(&g, SIM_ASYNC_WAIT, 3, 0, true);
    assert_int_equal(bytes_under_way(&g, &here), 0);
    for (int i = 0; i < 200; i++) { /* of more than 64 groups, the oldest are forgotten */
        tell_copy(&g, 1, 1);
        tell(&g, SIM_ASYNC_COMMIT, 3, 0, false);
    }
    assert_int_equal(bytes_under_way(&g, &here), 128);
    sim_groups_end_block(&g, &(struct sim_block_event){.block = 4, .warps = 4});
    assert_int_equal(bytes_under_way(&g, &here), 128);
    sim_groups_end_block(&g, &(struct sim_block_event){.block = 5, .warps = 4});
    assert_int_equal(g.used, 0);
    assert_int_equal(bytes_under_way(&g, &here), 0);
    tell_copy(&g, 2, 2); /* in a warp's memory that is reused */
    assert_int_equal(bytes_under_way(&g, &here), 4);
    sim_groups_clear(&g);
    assert_int_equal(bytes_under_way(&g, &here), 0);
    sim_case_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reading),    cmocka_unit_test(every_copy),
        cmocka_unit_test(random_accesses),  cmocka_unit_test(no_lane_active),
        cmocka_unit_test(by_line_and_kind), cmocka_unit_test(counted_in_a_launch),
        cmocka_unit_test(groups_under_way), cmocka_unit_test(bytes_of_groups),
        cmocka_unit_test(busiest_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

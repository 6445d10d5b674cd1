/* Damaged PTX: whatever the text, the parser ends with a module or with messages, and a module
 * that it accepts prints and reads back. If memory runs out at any point, control returns to the
 * caller. TW_TEST_LONG=1 does it many more times. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const seeds[] = {
    ".version 8.0\n.target sm_90a\n.address_size 64\n.file 1 \"a.c\", 12, 34\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
    ".global .align 8 .b8 text[5] = {1, 2, 0xff, 0b11, 0};\n"
    ".global .align 8 .u64 t[2] = {generic(text)+4, 0xff00(text)};\n"
    ".const .f32 c[2][2] = {{1.5, 0f3f800000}, {-2e3, 0d4000000000000000}};\n",
    ".version 8.0\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align 16 .b8 smem[];\n"
    ".func (.reg .b32 r) f(.reg .b64 a) .noreturn { trap; }\n"
    ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 s[24])\n"
    ".maxntid 128, 1, 1 .minnctapersm 2\n{\n"
    ".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<9>;\n"
    ".loc 1 3 5, function_name $n+2, inlined_at 1 3 5\n"
    "ld.param.u64 %rd0, [p]; ld.param.v2.b32 {%r0, %r1}, [s+8]; mov.u32 %r2, %tid.x;\n"
    "@!%p0 bra $done; $again: ld.global.nc.L1::no_allocate.v4.f32 {%f0, %f1, %f2, _}, [%rd1+-16];\n"
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3},"
    " {%r4, %r5}, {%f0, %f1, %f2, %f3};\n"
    "{ .param .b32 x; .param .b64 y; call.uni (x), f, (y); T: .branchtargets $again, $done;\n"
    "brx.idx %r2, T; P: .callprototype (.param .b32 _) _ (.param .b64 _); }\n"
    "setp.lt.and.u32 %p0|%p1, %r2, (1 << 4) + ~3 * 2, !%p2; add.f32 %f0, %f1, 0f3f800000;\n"
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %p0, 1, "
    "1, "
    "0, 0;\n$done: .pragma \"nounroll\"; bar.sync 0; ret; }\n"
    ".section .debug_str { $n: .b8 1, 2, 3 .b32 .debug_abbrev .b64 $n+4 .b32 $n-$n }\n"};

/* --- memory that runs out --- */

struct pool {
    long left;  /* allocations until the next one fails; below 0: none fails */
    long alive; /* blocks not given back */
};

static void *pool_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct pool *pool = user;
    (void)old_size;
    if (size == 0) {
        pool->alive -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (pool->left == 0)
        return NULL;
    pool->left--;
    pool->alive += ptr == NULL;
    return realloc(ptr, size);
}

enum outcome { NO_MEMORY, REFUSED, READ };

/* Parses, verifies and prints a text; the printed text reads back and prints the same. */
static enum outcome take_through(const char *text, size_t length, struct pool *pool)
{
    const struct allocator allocator = {pool_resize, pool, NULL};
    struct arena arena;
    jmp_buf failed;
    struct diag d;
    struct text first, second;
    volatile enum outcome outcome = NO_MEMORY;
    arena_init(&arena, &allocator, &failed);
    if (setjmp(failed) == 0) {
        const struct source source = {"fuzz", text, length};
        diag_init(&d, &arena);
        const struct ptx_module *m = ptx_parse(&arena, &source, &d);
        outcome = REFUSED;
        text_init(&first, &arena);
        text_init(&second, &arena);
        if (!m && !d.errors)
            fail_msg("refused without a word:\n%.*s", (int)length, text);
        if (m) {
            ptx_print(&first, m);
            ptx_verify(m, &d);
            const struct source printed = {"printed", first.data, first.length};
            struct diag again;
            diag_init(&again, &arena);
            m = ptx_parse(&arena, &printed, &again);
            if (!m)
                fail_msg("does not read back:\n%s\nof\n%.*s", first.data, (int)length, text);
            ptx_print(&second, m);
            if (strcmp(first.data, second.data) != 0)
                fail_msg("prints differently:\n%s\nand\n%s", first.data, second.data);
            outcome = READ;
        }
        diag_render(&second, &d, false);
    } else {
        outcome = NO_MEMORY;
    }
    arena_free(&arena);
    return outcome;
}

static void memory_runs_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        long steps = 0;
        enum outcome outcome;
        do {
            struct pool pool = {steps++, 0};
            outcome = take_through(seeds[i], strlen(seeds[i]), &pool);
            assert_int_equal(pool.alive, 0);
        } while (outcome == NO_MEMORY);
        assert_int_equal(outcome, READ);
    }
}

/* --- damage --- */

static uint64_t random_state = 1;

static size_t draw(size_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(random_state >> 33) % below;
}

static const char *const pieces[] = {".",        ";",      ",",       "{",
                                     "}",        "(",      ")",       "[",
                                     "]",        "|",      "@",       "!",
                                     "+",        "-",      ":",       "<",
                                     ">",        "0x",     "0f",      "1.5",
                                     "\"",       "/*",     "//",      "%r1",
                                     "%r99",     "_",      ".reg",    ".b32",
                                     ".f32",     ".pred",  "add",     "ld.global",
                                     "call",     "$x",     "bra",     ".param",
                                     "ret",      ".func",  ".entry",  ".loc",
                                     ".section", "::",     "WARP_SZ", "%tid.x",
                                     ".v4",      ".align", "generic", "18446744073709551615",
                                     "\n",       " ",      ".cc",     ".sync.aligned",
                                     "T:"};

/* Makes a few random changes: replaces a byte, inserts a piece, removes or doubles a stretch. */
static size_t damage(char *text, size_t length, size_t room)
{
    size_t edits = 1 + draw(4);
    while (edits--) {
        size_t at = draw(length + 1), count = draw(12);
        const char *piece = pieces[draw(sizeof pieces / sizeof *pieces)];
        size_t size = strlen(piece);
        if (at + count > length)
            count = length - at;
        switch (draw(5)) {
        case 0:
            if (at < length)
                text[at] = (char)(draw(8) ? 32 + draw(95) : draw(256));
            break;
        case 1:
            memmove(text + at, text + at + count, length - at - count);
            length -= count;
            break;
        case 2: length = draw(20) ? length : at; break; /* the end is missing */
        case 3:
            if (length + count >= room)
                break;
            memmove(text + at + count, text + at, length - at);
            length += count;
            break;
        default:
            if (length + size >= room)
                break;
            memmove(text + at + size, text + at, length - at);
            memcpy(text + at, piece, size);
            length += size;
        }
    }
    return length;
}

static void damaged_text(void **state)
{
    (void)state;
    enum { ROOM = 8192 };
    static char text[ROOM];
    long rounds = getenv("TW_TEST_LONG") ? 2000000 : 6000;
    long outcomes[3] = {0};
    for (long i = 0; i < rounds; i++) {
        const char *seed = seeds[draw(sizeof seeds / sizeof *seeds)];
        size_t length = strlen(seed);
        memcpy(text, seed, length);
        length = damage(text, length, ROOM);
        /* nothing may be read after the end: an allocation of exactly this size */
        char *exact = malloc(length + 1);
        memcpy(exact, text, length);
        exact[length] = '#';
        struct pool pool = {-1, 0};
        outcomes[take_through(exact, length, &pool)]++;
        assert_int_equal(pool.alive, 0);
        free(exact);
    }
    assert_true(outcomes[READ] > 0 && outcomes[REFUSED] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(damaged_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The cost of the static synchronisation check: large kernels, memory that runs out, and results
 * that are kept for later launches. */
#include "synccheck_helper.h"
#include "synccheck/synccheck.h"

#include <stdlib.h>

/* --- large kernels --- */

/* Writes the statement `count` times, with a digit that counts in place of each #. */
static const char *repeated(char *out, size_t size, int count, const char *statement)
{
    size_t n = 0;
    for (int i = 0; i < count; i++)
        for (const char *c = statement; *c && n + 8 < size; c++)
            n += (size_t)(*c == '#' ? snprintf(out + n, size - n, "%d", i)
                                    : snprintf(out + n, size - n, "%c", *c));
    return out;
}

static void much_to_go_through(void **state)
{
    (void)state;
    char many[3500], text[4000];
    race(TILES,
         "for (i32 u = 0; u < 64; u++) for (i32 v = 0; v < 64; v++) for (i32 p = 0; p < 16; p++) { "
         "t[p % 3] = 0; sync(); }\n"
         "s = 0;\n"
         "r = s;\n",
         MISSES("4", "3"));
    clean(TILES, "for (i32 u = 0; u < 64; u++) for (i32 v = 0; v < 64; v++) "
                 "for (i32 p = 0; p < 15; p++) { t[p % 3] = 0; sync(); r = t[p % 3]; }\n");
    snprintf(text, sizeof text, "%s\ns = 0;\nr = s;\n",
             repeated(many, sizeof many, 14, "if (n > #) s = 0; sync(); "));
    race(TILES, text, MISSES("4", "3"));
    snprintf(text, sizeof text, "%s\nsync(); s = 0; sync();\nr = s;\n",
             repeated(many, sizeof many, 14, "if (F[#] > 0) s = 0; sync(); "));
    clean(TILES, text);
    snprintf(text, sizeof text, "%s\ns = 0;\nr = s;\n",
             repeated(many, sizeof many, 80, "for (i32 p# = 0; p# < n; p#++) sync(); "));
    race(TILES, text, MISSES("4", "3"));
    snprintf(text, sizeof text, "s = 0;\nr = s%s;\n", repeated(many, sizeof many, 90, " + s"));
    race(TILES, text, MISSES("3", "2"));
}

/* --- memory --- */

struct failing {
    int left, blocks; /* allocations until one fails; blocks that are held */
};

static void *failing_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct failing *f = user;
    (void)old_size;
    if (size == 0) {
        f->blocks -= ptr != NULL;
        free(ptr);
        return NULL;
    }
    if (f->left-- <= 0)
        return NULL;
    f->blocks += ptr == NULL;
    return realloc(ptr, size);
}

/* Runs the check; returns false if memory ran out. */
static bool check_with(struct failing *f, struct arena *a, jmp_buf *out_of_memory, const char *text)
{
    const struct allocator allocator = {failing_resize, f, NULL};
    struct source source = {"t", text, strlen(text)};
    struct lang_choice choice = {0};
    struct diag d;
    arena_init(a, &allocator, out_of_memory);
    if (setjmp(*out_of_memory)) {
        arena_free(a);
        return false;
    }
    diag_init(&d, a);
    struct module *module = lang_parse(a, &d, &source);
    struct pass_context c = {.diag = &d};
    if (module)
        c.kernel = lang_check(a, &d, module, 0, &choice);
    if (c.kernel) {
        pass_variance(&c);
        synccheck_pass(&c);
        assert_int_equal(c.sync, SYNC_RACE);
    }
    struct text messages;
    text_init(&messages, a);
    diag_render(&messages, &d, false);
    arena_free(a);
    return true;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TILES "for (i32 p = 0; p < n; p++) { s = A[p]; r = s; }\n}\n",
        TILES "s = 0; r = s; t[0] = 0; r = t[0]; t[1] = 0; r = t[1]; t[2] = 0; r = t[2];\n"
              "r = s; s = r; r = t[0]; t[0] = r; r = t[1]; t[1] = r; r = t[2]; t[2] = r;\n"
              "async s = A[0 +: 8][0 +: 16]; r = s; async t[0] = A[0 +: 8][0 +: 16];\n}\n",
        TILES "s = B; unknown = 3; r = ; }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int n = 0;
        for (bool done = false; !done; n++) {
            struct failing f = {.left = n};
            struct arena a;
            jmp_buf out_of_memory;
            done = check_with(&f, &a, &out_of_memory, texts[i]);
            assert_int_equal(f.blocks, 0);
        }
        assert_true(n > 1);
    }
}

/* --- results kept for later launches --- */

/* A program and the results of the pass; the caller frees the program. */
static struct pass_context pass_of(struct program *p, const char *text, struct sync_memory *memory)
{
    *p = (struct program){0};
    program_open(p, text);
    assert_true(program_check(p, 0) && program_passes(p, "variance"));
    struct pass_context c = {.kernel = p->kernel, .diag = &p->diag, .sync_memory = memory};
    synccheck_pass(&c);
    return c;
}

static void verdict_and_reason(void **state)
{
    (void)state;
    struct program p;
    struct pass_context c = pass_of(&p,
                                    TILES "s[F[0]] = 0;\nif (x * x + x > 2.0) sync();\n"
                                          "if (x * x + x > 3.0) r = s;\n}\n",
                                    NULL);
    assert_int_equal(c.sync, SYNC_UNDECIDED);
    assert_string_equal(c.sync_undecided, "it depends on values that are not known here whether "
                                          "accesses of `s` in lines 2 and 4 meet");
    program_free(&p);
    c = pass_of(&p, TILES "s = 0;\nsync();\nr = s;\n}\n", NULL);
    assert_int_equal(c.sync, SYNC_CLEAN);
    assert_null(c.sync_undecided);
    program_free(&p);
}

/* Without a barrier, each round's accesses are compared with all earlier ones: the memory for that has a limit, too. */
static void rings_without_a_barrier(void **state)
{
    (void)state;
    enum { MOST_BYTES = 512 << 20 };
    struct program p;
    struct pass_context c = pass_of(
        &p,
        "kernel f(i32 k, f32 *c) grid(8) threads(64)\n{\nglobal f32 C[k] = c;\n"
        "shared f32 s[3][64], t[4][64];\ni32 x = thread.x;\n"
        "for (i32 p = 0, a = block.x % 3, b = 0; p < k; p++, a = (a + 1) % 3, b = (b + 1) % 4) {\n"
        "s[a][x] = C[p];\nt[b][x] = s[(a + 2) % 3][x];\n}\nC[x] = t[0][x];\n}\n",
        NULL);
    assert_int_equal(c.sync, SYNC_UNDECIDED);
    assert_string_equal(c.sync_undecided, "too many pairs of accesses");
    assert_in_range(p.kernel->arena->used, 0, MOST_BYTES);
    program_free(&p);
}

static void undecided_programs_are_remembered(void **state)
{
    (void)state;
    static const char *const texts[] = {
        TILES "s[F[0]] = 0;\nif (x * x + x > 2.0) sync();\n"
              "if (x * x + x > 3.0) r = s;\n}\n",
        TILES "s[F[0]] = 0;\nif (x * x + x > 2.0) sync();\n"
              "if (x * x + x > 4.0) r = s;\n}\n",
        TILES "s = 0;\nsync();\nr = s;\n}\n",
        TILES "s = 0;\nr = s;\n}\n",
    };
    static const enum sync_verdict verdicts[] = {SYNC_UNDECIDED, SYNC_UNDECIDED, SYNC_CLEAN,
                                                 SYNC_RACE};
    struct arena arena;
    jmp_buf out_of_memory;
    arena_init(&arena, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        fail();
    struct sync_memory memory = {.arena = &arena};
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 4; i++) {
            struct program p;
            struct pass_context c = pass_of(&p, texts[i], &memory);
            assert_int_equal(c.sync, verdicts[i]);
            assert_int_equal(p.diag.errors, verdicts[i] == SYNC_RACE);
            if (c.sync == SYNC_UNDECIDED)
                assert_string_equal(c.sync_undecided, "it depends on values that are not known "
                                                      "here whether accesses of `s` in lines 2 "
                                                      "and 4 meet");
            program_free(&p);
        }
    assert_int_equal(memory.undecided.count, 2);
    assert_int_equal(memory.explored, 2 + 3 * 2); /* the others are decided quickly, each time */
    arena_free(&arena);
}

/* The first kernel uses up the steps for second tries; the other's race, which comes after many
 * iterations of its loop, is then not looked for. */
static void second_tries_share_steps(void **state)
{
    (void)state;
    static const char *const texts[] = {
        THREADS "for (i32 h = pow2_ceil(n); h > 0; h /= 2) {\n"
                "if (tx < h) s[tx][ty] += s[tx + h][ty];\nsync();\n}\n}\n",
        THREADS "for (i32 i = 0; i < 30000; i++) {\ns[tx][ty] = 1;\nsync();\n}\n"
                "s[tx][ty] = s[ty][tx];\n}\n"};
    enum { STEPS = 100000 };
    struct arena arena;
    jmp_buf out_of_memory;
    arena_init(&arena, NULL, &out_of_memory);
    if (setjmp(out_of_memory))
        fail();
    for (int first = 0; first < 2; first++) {
        int64_t left = STEPS;
        struct sync_memory memory = {.arena = &arena, .steps_left = &left};
        for (int i = first; i < 2; i++) {
            struct program p;
            struct pass_context c = pass_of(&p, texts[i], &memory);
            assert_int_equal(c.sync, first ? SYNC_RACE : SYNC_UNDECIDED);
            program_free(&p);
        }
        assert_in_range(left + STEPS, first ? STEPS : 0, first ? 2 * STEPS - 1 : STEPS);
    }
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_to_go_through),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(verdict_and_reason),
        cmocka_unit_test(rings_without_a_barrier),
        cmocka_unit_test(undecided_programs_are_remembered),
        cmocka_unit_test(second_tries_share_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

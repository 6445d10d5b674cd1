/* The static synchronisation check: its messages for small kernels. tests/sync has the broad
 * comparisons. */
#include "pass_helper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- helpers --- */

/* Line 1 is the head; statements begin on line 2. */
#define TILES                                                                                      \
    "kernel f(i32 n, i32 m, bool flag, f32 x, const f32 *a, f32 *c, const i32 *f) grid(n) "        \
    "warps(2) { global f32 A[n][16] = a, C[n][16] = c; global i32 F[n] = f; "                      \
    "global i32 turn[1] = 0; shared f32 s[8][16], t[3][8][16]; reg f32 r[8][16] = 0; i32 at = "    \
    "0;\n"
#define THREADS                                                                                    \
    "kernel f(i32 n, i32 m, bool flag, f32 x, const f32 *a, f32 *c, const i32 *f) grid(n) "        \
    "threads(8, 4) { global f32 A[n][16] = a, C[n][16] = c; global i32 F[n] = f; "                 \
    "shared f32 s[8][16], t[3][8][16]; i32 tx = thread.x, ty = thread.y;\n"

static void expect(const char *head, const char *statements, enum sync_verdict verdict,
                   const char *messages)
{
    char text[4096];
    struct program p = {0};
    snprintf(text, sizeof text, "%s%s}\n", head, statements);
    program_open(&p, text);
    if (!program_check(&p, 0) || !program_passes(&p, "variance"))
        fail_msg("%s\n%s", text, program_messages(&p));
    struct pass_context c = {.kernel = p.kernel, .diag = &p.diag};
    enum sync_verdict found = synccheck_kernel(&c, NULL);
    if (found != verdict || strcmp(program_messages(&p), messages) != 0)
        fail_msg("%s\n--- expected, verdict %d\n%s--- found, verdict %d\n%s", statements, verdict,
                 messages, found, program_messages(&p));
    program_free(&p);
}

static void clean(const char *head, const char *statements)
{
    expect(head, statements, SYNC_CLEAN, "");
}

static void undecided(const char *head, const char *statements)
{
    expect(head, statements, SYNC_UNDECIDED, "");
}

static void race(const char *head, const char *statements, const char *messages)
{
    expect(head, statements, SYNC_RACE, messages);
}

/* --- messages --- */

static void accesses_between_barriers(void **state)
{
    (void)state;
    race(TILES,
         "s = A[0 +: 8][0 +: 16];\n"
         "r = s;\n",
         "3: error: `s` is read here while other threads may still be writing it"
         " | 2: written here"
         " | 3: put `sync()` between the two\n");
    clean(TILES, "s = A[0 +: 8][0 +: 16];\n"
                 "sync();\n"
                 "r = s;\n");
    race(TILES,
         "r = s;\n"
         "s = r;\n",
         "3: error: `s` is overwritten here while other threads may still be reading it"
         " | 2: read here"
         " | 3: put `sync()` between the two\n");
    race(TILES,
         "s = 0;\n"
         "s = A[0 +: 8][0 +: 16];\n",
         "3: error: `s` is written here while other threads may still be writing it"
         " | 2: written here"
         " | 3: put `sync()` between the two\n");
    clean(TILES, "s = s + 1;\n"
                 "t[0] = t[1] + t[0];\n");
    race(TILES,
         "s = s + 1;\n"
         "s = s + 1;\n",
         "3: error: `s` is read here while other threads may still be writing it"
         " | 2: written here"
         " | 3: put `sync()` between the two\n"
         "3: error: `s` is overwritten here while other threads may still be reading it"
         " | 2: read here"
         " | 3: put `sync()` between the two\n");
    clean(TILES, "r = s;\n"
                 "r += s;\n"
                 "print(s);\n");
    race(TILES,
         "print(s);\n"
         "s = 0;\n",
         "3: error: `s` is overwritten here while other threads may still be reading it"
         " | 2: read here"
         " | 3: put `sync()` between the two\n");
    clean(TILES, "s = A[0 +: 8][0 +: 16];\n"
                 "lock(turn[0], 1);\n"
                 "r = s;\n");
    clean(TILES, "r = s;\n"
                 "unlock(turn[0], 1);\n"
                 "s = r;\n");
}

static void rounds_of_loops(void **state)
{
    (void)state;
    race(TILES,
         "for (i32 p = 0; p < n; p += 16) {\n"
         "    s = A[0 +: 8][p +: 16];\n"
         "    sync();\n"
         "    r += s;\n"
         "}\n",
         "3: error: `s` is overwritten here, in the next iteration, while other threads may still "
         "be reading it"
         " | 5: read here"
         " | 3: put `sync()` between the two: at the end of the loop's body, or before this\n");
    race(TILES,
         "for (i32 p = 0; p < n; p += 16)\n"
         "    s = A[0 +: 8][p +: 16];\n",
         "3: error: `s` is written here, in the next iteration, while other threads may still be "
         "writing it"
         " | 3: put `sync()` between the two: at the end of the loop's body, or before this\n");
    race(TILES,
         "for (i32 p = 0; p < n; p++) {\n"
         "    shared f32 q[16] = A[p];\n"
         "    sync();\n"
         "    C[p] = q;\n"
         "}\n",
         "3: error: `q` is overwritten here, in the next iteration, while other threads may still "
         "be reading it"
         " | 5: read here"
         " | 3: put `sync()` between the two: at the end of the loop's body, or before this\n");
    race(TILES,
         "for (i32 p = 0; p < m; p++) {\n"
         "    if (p % 7 == 6) {\n"
         "        s = 0;\n"
         "        r = s;\n"
         "    }\n"
         "    sync();\n"
         "}\n",
         "5: error: `s` is read here while other threads may still be writing it"
         " | 4: written here"
         " | 5: put `sync()` between the two\n");
    race(TILES,
         "for (i32 p = 0; p < 200; p++) {\n"
         "    if (p == 150) {\n"
         "        s = 0;\n"
         "        r = s;\n"
         "    }\n"
         "    sync();\n"
         "}\n",
         "5: error: `s` is read here while other threads may still be writing it"
         " | 4: written here"
         " | 5: put `sync()` between the two\n");
    clean(TILES, "for (i32 p = 0; p < 200; p++) {\n"
                 "    if (p == 250) {\n"
                 "        s = 0;\n"
                 "        r = s;\n"
                 "    }\n"
                 "    sync();\n"
                 "}\n");
    race(TILES,
         "while (max(r) > 4) {\n"
         "    r = s;\n"
         "    s = r;\n"
         "    sync();\n"
         "}\n",
         "4: error: `s` is overwritten here while other threads may still be reading it"
         " | 3: read here"
         " | 4: put `sync()` between the two\n");
}

static void parts_of_tiles(void **state)
{
    (void)state;
    clean(TILES, "s[0 +: 4] = 0;\n"
                 "r = t[0];\n"
                 "s[4 +: 4] = 0;\n");
    race(TILES,
         "s[0 +: 4] = 0;\n"
         "s[m +: 4] = 0;\n",
         "3: error: `s` is written here while other threads may still be writing it"
         " | 2: written here"
         " | 3: put `sync()` between the two\n");
    clean(TILES, "s[m +: 4] = 0;\n"
                 "s[m + 4 +: 2] = 0;\n");
    race(TILES,
         "reg i32 rows[4] = iota() * 2;\n"
         "s[rows[:]] = 0;\n"
         "r = s;\n",
         "4: error: `s` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 4: put `sync()` between the two\n");
}

static void conditions(void **state)
{
    (void)state;
    clean(TILES, "if (flag)\n"
                 "    s = 0;\n"
                 "if (!flag)\n"
                 "    r = s;\n");
    race(TILES,
         "if (flag)\n"
         "    s = 0;\n"
         "if (n > 4)\n"
         "    r = s;\n",
         "5: error: `s` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 5: put `sync()` between the two\n");
    clean(TILES, "if (n > 4)\n"
                 "    s = 0;\n"
                 "if (n < 3)\n"
                 "    r = s;\n");
    clean(TILES, "if (F[0] > 4)\n"
                 "    s = 0;\n"
                 "if (F[0] < 3)\n"
                 "    r = s;\n");
    clean(TILES, "bool big = n > 4;\n"
                 "if (big)\n"
                 "    s = 0;\n"
                 "if (n <= 4)\n"
                 "    r = s;\n");
    clean(TILES, "if (m % 4 == 1)\n"
                 "    s = 0;\n"
                 "if (m % 4 == 2)\n"
                 "    r = s;\n");
    race(TILES,
         "if (m % 4 == 1)\n"
         "    s = 0;\n"
         "if (m == 5)\n"
         "    r = s;\n",
         "5: error: `s` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 5: put `sync()` between the two\n");
    clean(TILES, "assume(m > 4);\n"
                 "if (m < 3) {\n"
                 "    s = 0;\n"
                 "    r = s;\n"
                 "}\n");
    race(TILES,
         "if (block.x > 4 && n > 3) {\n"
         "    s = 0;\n"
         "    r = s;\n"
         "}\n",
         "4: error: `s` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 4: put `sync()` between the two\n");
    race(TILES,
         "f32 v = m > 0 ? s[0][0] : 0;\n"
         "s[0] = v;\n",
         "3: error: `s` is overwritten here while other threads may still be reading it"
         " | 2: read here"
         " | 3: put `sync()` between the two\n");
    race(TILES,
         "s = 0;\n"
         "if (m > 0 && s[0][0] > 0)\n"
         "    r = 0;\n",
         "3: error: `s` is read here while other threads may still be writing it"
         " | 2: written here"
         " | 3: put `sync()` between the two\n");
    clean(TILES, "s = 0;\n"
                 "i32 h = 4;\n"
                 "if (h > 4 && s[0][0] > 0)\n"
                 "    r = 0;\n");
}

static void what_is_not_known_stays_silent(void **state)
{
    (void)state;
    undecided(TILES, "if (x > 4)\n"
                     "    s = 0;\n"
                     "if (x < 3)\n"
                     "    r = s;\n");
    undecided(TILES, "if (max(r) > 4)\n"
                     "    s = 0;\n"
                     "if (min(r) > 4)\n"
                     "    r = s;\n");
    undecided(TILES, "if (block.x > 4 && n < 3) {\n"
                     "    s = 0;\n"
                     "    r = s;\n"
                     "}\n");
    undecided(THREADS, "s[F[tx]][0] = x + ty;\n");
}

static void copies(void **state)
{
    (void)state;
    clean(TILES, "async s = A[0 +: 8][0 +: 16];\n"
                 "async_wait(0);\n"
                 "sync();\n"
                 "r = s;\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "r = s;\n"
         "async_wait(0);\n",
         "3: error: `s` is read here while the copy into it may still be under way"
         " | 2: the copy begins here"
         " | 3: the copy of line 2 is not waited for: put `async_wait(0)` and `sync()` before "
         "this\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "async_wait(0);\n"
         "r = s;\n",
         "4: error: `s` is read here after `async_wait` but without `sync()`: the parts that other "
         "threads copy may still be under way"
         " | 2: the copy begins here"
         " | 4: put `sync()` between `async_wait` and this\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "sync();\n"
         "async_wait(0);\n"
         "s = r;\n",
         "5: error: `s` is written here after `async_wait` but without `sync()`: the parts that "
         "other threads copy may still be under way"
         " | 2: the copy begins here"
         " | 5: put `sync()` between `async_wait` and this\n");
    race(TILES,
         "r = s;\n"
         "async s = A[0 +: 8][0 +: 16];\n"
         "async_wait(0);\n",
         "3: error: `s` is the target of a copy that begins here while other threads may still be "
         "reading it"
         " | 2: read here"
         " | 3: put `sync()` between the two\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "async s = A[8 +: 8][0 +: 16];\n"
         "async_wait(0);\n",
         "3: error: `s` is the target of another copy that begins here while the copy into it may "
         "still be under way"
         " | 2: the copy begins here"
         " | 3: the copy of line 2 is not waited for: put `async_wait(0)` and `sync()` before "
         "this\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "async_commit();\n"
         "async_wait(1);\n"
         "sync();\n"
         "r = s;\n"
         "async_wait(0);\n",
         "6: error: `s` is read here while the copy into it may still be under way"
         " | 2: the copy begins here"
         " | 4: `async_wait(1)` leaves up to 1 group under way: `async_wait(0)` would wait for "
         "this copy\n");
}

static void groups_of_copies(void **state)
{
    (void)state;
    clean(TILES, "async s = A[0 +: 8][0 +: 16];\n"
                 "async_commit();\n"
                 "async t[0] = A[0 +: 8][0 +: 16];\n"
                 "async_commit();\n"
                 "async_wait(1);\n"
                 "sync();\n"
                 "r = s;\n"
                 "async_wait(0);\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "async_wait(1);\n"
         "sync();\n"
         "r = s;\n"
         "async_wait(0);\n",
         "5: error: `s` is read here while the copy into it may still be under way"
         " | 2: the copy begins here"
         " | 3: `async_wait(1)` waits for committed groups only: put `async_commit()` after the "
         "copy, or `async_wait(0)` here\n");
    race(TILES,
         "async t[F[0]] = A[0 +: 8][0 +: 16];\n"
         "r = t[F[0]];\n"
         "async_wait(0);\n",
         "3: error: `t` is read here while the copy into it may still be under way"
         " | 2: the copy begins here"
         " | 3: the copy of line 2 is not waited for: put `async_wait(0)` and `sync()` before "
         "this\n");
    clean(TILES, "for (i32 p = 0; p < n; p++) {\n"
                 "    async t[p % 3] = A[0 +: 8][0 +: 16];\n"
                 "    async_commit();\n"
                 "    async_wait(2);\n"
                 "    sync();\n"
                 "    if (p > 1)\n"
                 "        r = t[(p - 2) % 3];\n"
                 "    sync();\n"
                 "}\n"
                 "async_wait(0);\n");
    race(TILES,
         "for (i32 p = 0; p < n; p++) {\n"
         "    async t[p % 3] = A[0 +: 8][0 +: 16];\n"
         "    async_commit();\n"
         "    async_wait(2);\n"
         "    sync();\n"
         "    if (p > 0)\n"
         "        r = t[(p - 1) % 3];\n"
         "    sync();\n"
         "}\n"
         "async_wait(0);\n",
         "8: error: `t` is read here while the copy into it may still be under way"
         " | 3: the copy begins here"
         " | 5: `async_wait(2)` leaves up to 2 groups under way: `async_wait(1)` would wait for "
         "this copy\n");
}

static void ends_of_lives(void **state)
{
    (void)state;
    race(TILES, "async s = A[0 +: 8][0 +: 16];\n",
         "2: error: the copy into `s` may still be under way when the kernel ends"
         " | 2: put `async_wait(0)` before the end of the kernel\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "async_commit();\n"
         "async_wait(1);\n",
         "2: error: the copy into `s` may still be under way when the kernel ends"
         " | 2: put `async_wait(0)` before the end of the kernel\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "for (i32 i = 0; i < m; i++) {\n"
         "    async_wait(0);\n"
         "    sync();\n"
         "}\n",
         "2: error: the copy into `s` may still be under way when the kernel ends"
         " | 2: put `async_wait(0)` before the end of the kernel"
         " | 4: this wait does not come if its loop runs zero times\n");
    race(TILES,
         "for (i32 i = 0; i < m; i++) {\n"
         "    async_wait(0);\n"
         "    sync();\n"
         "    async s = A[0 +: 8][0 +: 16];\n"
         "}\n",
         "5: error: the copy into `s` may still be under way when the kernel ends"
         " | 5: put `async_wait(0)` before the end of the kernel\n");
    race(TILES,
         "async s = A[0 +: 8][0 +: 16];\n"
         "if (flag)\n"
         "    return;\n"
         "async_wait(0);\n",
         "2: error: the copy into `s` may still be under way when the kernel ends"
         " | 2: put `async_wait(0)` before the end of the kernel"
         " | 4: the kernel ends here\n");
    race(TILES,
         "{\n"
         "    shared f32 q[8][16];\n"
         "    async q = A[0 +: 8][0 +: 16];\n"
         "}\n"
         "async_wait(0);\n",
         "4: error: the copy into `q` may still be under way when its scope ends"
         " | 4: put `async_wait(0)` before the end of the scope\n");
    race(TILES,
         "{\n"
         "    shared f32 q[8][16];\n"
         "    async q = A[0 +: 8][0 +: 16];\n"
         "    free(q);\n"
         "}\n"
         "async_wait(0);\n",
         "4: error: the copy into `q` may still be under way when it is freed"
         " | 5: freed here"
         " | 4: put `async_wait(0)` before that\n");
    race(TILES,
         "for (i32 p = 0; p < n; p++) {\n"
         "    shared f32 q[8][16];\n"
         "    async q = A[0 +: 8][0 +: 16];\n"
         "    if (F[p] > 0)\n"
         "        break;\n"
         "    async_wait(0);\n"
         "    sync();\n"
         "    r = q;\n"
         "    sync();\n"
         "}\n"
         "async_wait(0);\n",
         "4: error: the copy into `q` may still be under way when its scope ends"
         " | 4: put `async_wait(0)` before the end of the scope\n");
}

static void atomics(void **state)
{
    (void)state;
    clean(TILES, "atomic_add(s[0][0], 1);\n"
                 "atomic_add(s, r);\n");
    race(TILES,
         "atomic_add(s[0][0], 1);\n"
         "r = s;\n",
         "3: error: `s` is read here while other threads may still be updating it"
         " | 2: updated here"
         " | 3: put `sync()` between the two\n");
    clean(THREADS, "atomic_add(s[0][0], 1);\n"
                   "atomic_add(s[0][0], 1);\n");
    race(THREADS,
         "atomic_add(s[0][0], 1);\n"
         "C[0][tx] = s[0][0];\n",
         "3: error: `s` is read here while other threads may still be updating it"
         " | 2: updated here"
         " | 3: threads (7, 3) and (0, 0) meet at `s[0][0]`"
         " | 3: put `sync()` between the two\n");
}

static void threads(void **state)
{
    (void)state;
    clean(THREADS, "s[ty][tx] = x + tx;\n"
                   "C[0][tx] = s[ty][tx];\n");
    race(THREADS,
         "s[ty][tx] = x + tx;\n"
         "C[0][tx] = s[ty][tx + 1];\n",
         "3: error: `s` is read here while other threads may still be writing it"
         " | 2: written here"
         " | 3: threads (1, 0) and (0, 0) meet at `s[0][1]`"
         " | 3: put `sync()` between the two\n");
    clean(THREADS, "s[ty][tx] += 1;\n");
    race(THREADS, "s[ty][tx] = s[ty][tx + 1];\n",
         "2: error: `s` is overwritten here while other threads may still be reading it"
         " | 2: read here, by the same statement"
         " | 2: threads (0, 0) and (1, 0) meet at `s[0][1]`"
         " | 2: read it into a variable, and put `sync()` between that and the write\n");
    race(THREADS, "s[0][tx] = x + ty;\n",
         "2: error: several threads write the same element of `s` here"
         " | 2: threads (0, 3) and (0, 0) meet at `s[0][0]`"
         " | 2: let one thread write it, or use an atomic\n");
    clean(THREADS, "s[0][tx] = x;\n");
    clean(THREADS, "s[ty][tx ^ 1] = x + ty;\n"
                   "C[0][tx] = s[ty][tx ^ 1];\n");
    race(THREADS,
         "i32 i = tx + 8 * ty;\n"
         "t[i / 16][0][i % 16] = x + ty;\n"
         "C[0][tx] = t[i / 16][0][(i + 1) % 16];\n",
         "4: error: `t` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 4: threads (1, 0) and (0, 0) meet at `t[0][0][1]`"
         " | 4: put `sync()` between the two\n");
    race(THREADS,
         "s[m + ty][tx] = x + ty;\n"
         "C[0][tx] = s[m + ty][0];\n",
         "3: error: `s` is read here while other threads may still be writing it"
         " | 2: written here"
         " | 3: put `sync()` between the two\n");
    race(THREADS,
         "f32 v[4] = s[ty][4 * (tx / 2) +: 4];\n"
         "s[ty + 4][tx] = v[0];\n"
         "s[ty][tx] = v[0];\n",
         "4: error: `s` is overwritten here while other threads may still be reading it"
         " | 2: read here"
         " | 4: threads (1, 0) and (0, 0) meet at `s[0][0]`"
         " | 4: put `sync()` between the two\n");
}

static void threads_under_conditions(void **state)
{
    (void)state;
    clean(THREADS, "if (tx == 0 && ty == 0)\n"
                   "    s[0][0] = x + tx;\n"
                   "sync();\n"
                   "C[0][tx] = s[0][0];\n");
    race(THREADS,
         "if (tx == 0)\n"
         "    s[0][0] = x + ty;\n",
         "3: error: several threads write the same element of `s` here"
         " | 3: threads (0, 3) and (0, 0) meet at `s[0][0]`"
         " | 3: let one thread write it, or use an atomic\n");
    race(THREADS,
         "if (tx < m)\n"
         "    s[ty][tx] = x + ty;\n"
         "C[0][tx] = s[ty][0];\n",
         "4: error: `s` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 4: threads (0, 0) and (1, 0) meet at `s[0][0]`"
         " | 4: put `sync()` between the two\n");
    clean(THREADS, "if (tx + block.x * 8 < n)\n"
                   "    s[ty][tx] = x + ty;\n"
                   "else\n"
                   "    s[ty][tx] = 0;\n"
                   "sync();\n"
                   "C[0][tx] = s[tx][0];\n");
    clean(THREADS, "f32 v = tx > 0 ? s[ty][tx - 1] : 0;\n"
                   "sync();\n"
                   "s[ty][tx] = v;\n");
    undecided(THREADS, "if (tx > 3)\n"
                       "    return;\n"
                       "s[ty][tx] = x + tx;\n"
                       "C[0][tx] = s[ty][0];\n");
    race(THREADS,
         "for (i32 i = tx; i < 16; i += 8)\n"
         "    s[ty][i] = A[ty][i];\n"
         "for (i32 i = tx; i < 16; i += 8)\n"
         "    C[ty][i] = s[ty][15 - i];\n",
         "5: error: `s` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 5: threads (7, 0) and (0, 0) meet at `s[0][15]`"
         " | 5: put `sync()` between the two\n");
    clean(THREADS, "for (i32 i = tx; i < 16; i += 8)\n"
                   "    s[ty][i] = A[ty][i];\n"
                   "for (i32 i = tx; i < 16; i += 8)\n"
                   "    C[ty][i] = s[ty][i];\n");
    race(THREADS,
         "i32 i = 0;\n"
         "while (i < tx) {\n"
         "    s[ty][i] = x + tx;\n"
         "    i++;\n"
         "}\n",
         "4: error: several threads write the same element of `s` here"
         " | 4: threads (7, 0) and (1, 0) meet at `s[0][0]`"
         " | 4: let one thread write it, or use an atomic\n");
    race(THREADS,
         "for (i32 p = 0; p < 8; p++) {\n"
         "    if (p > tx)\n"
         "        break;\n"
         "    s[ty][p] = x + tx;\n"
         "}\n",
         "5: error: several threads write the same element of `s` here"
         " | 5: threads (7, 0) and (0, 0) meet at `s[0][0]`"
         " | 5: let one thread write it, or use an atomic\n");
}

static void tiles_at_thread_level(void **state)
{
    (void)state;
    clean(THREADS, "s = A[0 +: 8][0 +: 16];\n"
                   "sync();\n"
                   "C[0][tx] = s[ty][tx];\n");
    race(THREADS,
         "s = A[0 +: 8][0 +: 16];\n"
         "C[0][tx] = s[ty][tx];\n",
         "3: error: `s` is read here while other threads may still be writing it"
         " | 2: written here"
         " | 3: put `sync()` between the two\n");
    race(THREADS,
         "async s = A[0 +: 8][0 +: 16];\n"
         "C[0][tx] = s[ty][tx];\n"
         "async_wait(0);\n",
         "3: error: `s` is read here while the copy into it may still be under way"
         " | 2: the copy begins here"
         " | 3: the copy of line 2 is not waited for: put `async_wait(0)` and `sync()` before "
         "this\n");
    clean(THREADS, "s[0 +: 4] = A[0 +: 4][0 +: 16];\n"
                   "s[4 + ty][tx] = 0;\n");
}

/* --- large kernels --- */

#define MISSES(late, early)                                                                        \
    late ": error: `s` is read here while other threads may still be writing it"                   \
         " | " early ": written here"                                                              \
         " | " late ": put `sync()` between the two\n"

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

static void rows_by_name(void **state)
{
    (void)state;
    race(TILES,
         "reg i32 rows[4] = F[0 +: 4];\n"
         "s[rows[:]] = 0;\n"
         "C[0 +: 4][0 +: 16] = s[rows[:]];\n",
         MISSES("4", "3"));
    clean(TILES, "reg i32 rows[4] = iota();\n"
                 "s[rows[:]] = 0;\n"
                 "C[0 +: 4][0 +: 16] = s[4 +: 4][0 +: 16];\n");
    undecided(TILES, "reg i32 rows[4] = F[0 +: 4], others[4] = F[4 +: 4];\n"
                     "s[rows[:]] = 0;\n"
                     "C[0 +: 4][0 +: 16] = s[others[:]];\n");
    undecided(TILES, "reg i32 rows[4] = F[0 +: 4];\n"
                     "s[rows[:]] = 0;\n"
                     "rows = rows + 1;\n"
                     "C[0 +: 4][0 +: 16] = s[rows[:]];\n");
}

static void unsigned_values_wrap(void **state)
{
    (void)state;
    static const char head[] = "kernel f(u32 n, const f32 *a, f32 *c) grid(1) warps(4) { "
                               "global f32 A[n] = a, C[n] = c; shared f32 s[32];\n";
    race(head,
         "s = A[0 +: 32];\n"
         "if (n - 1 < 100) sync();\n"
         "if (n < 100) C[0 +: 32] = s;\n",
         MISSES("4", "2"));
    clean(head, "s = A[0 +: 32];\n"
                "if (n > 0 && n - 1 < 100) sync();\n"
                "if (n > 0 && n < 100) C[0 +: 32] = s;\n");
}

static void huge_numbers(void **state)
{
    (void)state;
    clean(TILES, "i64 far = 9223372036854775807;\n"
                 "s[far +: 2] = 0; s[-far +: 2] = 0; sync();\n"
                 "for (i64 p = far - 7; p < n; p += 16) { s[p +: 1] = 1; sync(); }\n"
                 "for (i64 p = 0; p < n; p += far) { s[p +: 1] = 1; sync(); }\n"
                 "if (far + n * 4 > far - 5) sync();\n");
}

/* Threads that all store the same value do not race. */
static void the_same_value(void **state)
{
    (void)state;
    clean(THREADS, "for (i32 p = 0; p < 4; p++) s[0][0] = 5;\ns[0][0] = 5;\n");
    clean(THREADS, "for (i32 p = 0; p < m; p++) s[0][0] = x;\n");
    race(THREADS,
         "s[0][0] = 5;\n"
         "s[0][0] = 6;\n",
         "3: error: `s` is written here while other threads may still be writing it"
         " | 2: written here"
         " | 3: threads (7, 3) and (0, 0) meet at `s[0][0]`"
         " | 3: put `sync()` between the two\n");
    clean(THREADS, "for (i32 p = 0; p < 4; p++) { s[p][0] = p; }\n");
}

static void in_a_pipeline(void **state)
{
    (void)state;
    race(TILES,
         "pipeline(2) for (i32 p = 0; p < n; p += 8) {\n"
         "shared f32 u[8][16] = A[p +: 8][0 +: 16];\n"
         "s = u;\n"
         "r = s; }\n",
         "5: error: `s` is read here while other threads may still be writing it"
         " | 4: written here"
         " | 5: a pipeline cannot contain `sync()`: fill or read `s` outside of it, or declare "
         "`s` in its body with a part of a const view as its value\n"
         "4: error: `s` is written here, in the next iteration, while other threads may still "
         "be writing it"
         " | 4: a pipeline cannot contain `sync()`: fill or read `s` outside of it, or declare "
         "`s` in its body with a part of a const view as its value\n");
}

/* --- memory --- */

struct failing {
    int left, blocks; /* allocations until one fails; blocks that are held */
};

/* A block runs, so the grid has blocks: a loop up to a number that the grid's extent contains
 * runs at least once. */
static void the_grid_has_blocks(void **state)
{
    (void)state;
#define GRID(grid)                                                                                 \
    "kernel f(i32 n, i32 m, const f32 *a, f32 *c) grid(" grid                                      \
    ") warps(2) { global f32 A[n][16] = a, C[n][m] = c; shared f32 s[8][16];\n"
#define RING                                                                                       \
    "async s = A[0 +: 8][0 +: 16];\nfor (i32 p = 0; p < n; p += 8) {\nasync_wait(0);\nsync();\n"   \
    "C[p +: 8][0 +: 16] = s;\n}\n"
    clean(GRID("n"), RING);
    clean(GRID("cdiv(n, 8)"), RING);
    clean(GRID("1, n / 8"), RING);
    clean(GRID("2 * n - 4"), RING);
    clean(GRID("cdiv(m, 8) * cdiv(n, 8)"), RING);
    const char *at_the_end =
        "2: error: the copy into `s` may still be under way when the kernel ends"
        " | 2: put `async_wait(0)` before the end of the kernel"
        " | 4: this wait does not come if its loop runs zero times\n";
    race(GRID("m"), RING, at_the_end);
    race(GRID("n + 1"), RING, at_the_end);
    race(GRID("cdiv(m, 8)"), RING, at_the_end);
#undef RING
#undef GRID
}

/* A whole tile is read before the statement writes; a single element is read by each thread when
 * it gets there. */
static void elements_within_a_statement(void **state)
{
    (void)state;
#define FILLED "s = A[0 +: 8][0 +: 16];\nsync();\n"
#define LATE                                                                                       \
    "4: error: `s` is overwritten here while other threads may still be reading it"                \
    " | 4: read here, by the same statement"                                                       \
    " | 4: read it into a variable, and put `sync()` between that and the write\n"
    race(TILES, FILLED "s = A[0 +: 8][0 +: 16] + s[2][1];\n", LATE);
    race(TILES, FILLED "s = s / s[0][0];\n", LATE);
    race(TILES, FILLED "s[0][0] = s[0][0] + 1;\n", LATE);
    race(TILES, FILLED "s = A[(i32) s[2][1] +: 8][0 +: 16];\n", LATE);
    race(TILES, FILLED "s[(i32) s[0][0] +: 8] = A[0 +: 8][0 +: 16];\n", LATE);
    race(TILES, FILLED "s = A[n +: 8][0 +: 16] else s[2][1];\n", LATE);
    race(TILES, FILLED "atomic_add(s[0][0], s[0][0]);\n", LATE);
    race(TILES, FILLED "async s = A[(i32) s[2][1] +: 8][0 +: 16];\nasync_wait(0);\n", LATE);
    race(THREADS, "s[ty][tx] = 1;\nsync();\nf32 e = atomic_add(s[0][0], 1) + s[0][0];\n",
         "4: error: `s` is read here while other threads may still be writing it"
         " | 4: written here, by the same statement"
         " | 4: threads (7, 3) and (0, 0) meet at `s[0][0]`"
         " | 4: read it into a variable, and put `sync()` between that and the write\n");
    clean(TILES, FILLED "s = s / sum(s);\n");
    clean(TILES, FILLED "s = A[0 +: 8][0 +: 16] + s[2 +: 1];\n");
    clean(TILES, FILLED "s[4 +: 4] = A[0 +: 4][0 +: 16] + s[3][1];\n");
    clean(TILES, FILLED "f32 e = s[2][1];\nsync();\ns = A[0 +: 8][0 +: 16] + e;\n");
#undef LATE
#undef FILLED
}

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
        pass_synccheck(&c);
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
    pass_synccheck(&c);
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
        cmocka_unit_test(accesses_between_barriers),
        cmocka_unit_test(rounds_of_loops),
        cmocka_unit_test(parts_of_tiles),
        cmocka_unit_test(conditions),
        cmocka_unit_test(what_is_not_known_stays_silent),
        cmocka_unit_test(copies),
        cmocka_unit_test(groups_of_copies),
        cmocka_unit_test(ends_of_lives),
        cmocka_unit_test(atomics),
        cmocka_unit_test(threads),
        cmocka_unit_test(threads_under_conditions),
        cmocka_unit_test(tiles_at_thread_level),
        cmocka_unit_test(much_to_go_through),
        cmocka_unit_test(rows_by_name),
        cmocka_unit_test(unsigned_values_wrap),
        cmocka_unit_test(huge_numbers),
        cmocka_unit_test(the_same_value),
        cmocka_unit_test(in_a_pipeline),
        cmocka_unit_test(the_grid_has_blocks),
        cmocka_unit_test(elements_within_a_statement),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(verdict_and_reason),
        cmocka_unit_test(undecided_programs_are_remembered),
        cmocka_unit_test(second_tries_share_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

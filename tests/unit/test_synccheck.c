/* The static synchronisation check: its messages for small kernels. tests/sync has the broad
 * comparisons. */
#include "synccheck_helper.h"

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
    clean(TILES, "s = A[0 +: 8][0 +: 16];\n"
                 "arrive(turn[0]);\n"
                 "r = s;\n"
                 "if (arrive(turn[0], 2) == 3)\n"
                 "    s = r;\n");
    race(TILES,
         "i32 before = arrive(turn[0]);\n"
         "if (before == 3)\n"
         "    s = 0;\n"
         "r = s;\n",
         "5: error: `s` is read here while other threads may still be writing it"
         " | 4: written here"
         " | 5: put `sync()` between the two\n");
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

/* Tiles of work whose bounds come from the tile before, each with copies ahead under a guard, as a
 * pass prints stream-K. The guards of earlier tiles must not multiply the states. */
static void rounds_with_bounds_of_their_own(void **state)
{
    (void)state;
#define WORK(wait, sync)                                                                           \
    "i32 whole = max(n * m / 8 - 1, 0) * 8, share = (n * m - whole) * 9 / 8;\n"                    \
    "i32 from = block.x < whole ? block.x * 9 : whole * 9 + (block.x - whole) * share;\n"          \
    "i32 now = block.x < whole ? from + 9 : from + share;\n"                                       \
    "while (now > from) {\n"                                                                       \
    "i32 tile = (now - 1) / 9, lo = max(from - tile * 9, 0), hi = now - tile * 9;\n"               \
    "i32 first = lo * 8;\n"                                                                        \
    "sync();\n"                                                                                    \
    "unroll for (i32 p = 0; p < 2; p++) {\n"                                                       \
    "if (first + p * 8 < hi * 8) async t[p] = A[first + p * 8 +: 8][:];\n"                         \
    "async_commit();\n"                                                                            \
    "}\n"                                                                                          \
    "for (i32 p = first, stage = 0; p < hi * 8; p += 8, stage = (stage + 1) % 3) {\n"              \
    "async_wait(" wait ");\n" sync "\n"                                                            \
    "if (p < hi * 8 - 16) async t[(stage + 2) % 3] = A[p + 16 +: 8][:];\n"                         \
    "async_commit();\n"                                                                            \
    "r = t[stage];\n"                                                                              \
    "}\n"                                                                                          \
    "async_wait(0);\n"                                                                             \
    "now = tile * 9 + lo;\n"                                                                       \
    "}\n"
    clean(TILES, WORK("1", "sync();"));
    race(TILES, WORK("2", "sync();"),
         "18: error: `t` is read here while the copy into it may still be under way"
         " | 10: the copy begins here"
         " | 14: `async_wait(2)` leaves up to 2 groups under way: `async_wait(1)` would wait for "
         "this copy\n");
#undef WORK
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
         " | 4: this wait is skipped if its loop runs zero times\n");
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
        " | 4: this wait is skipped if its loop runs zero times\n";
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses_between_barriers),
        cmocka_unit_test(rounds_of_loops),
        cmocka_unit_test(rounds_with_bounds_of_their_own),
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
        cmocka_unit_test(rows_by_name),
        cmocka_unit_test(unsigned_values_wrap),
        cmocka_unit_test(huge_numbers),
        cmocka_unit_test(the_same_value),
        cmocka_unit_test(in_a_pipeline),
        cmocka_unit_test(the_grid_has_blocks),
        cmocka_unit_test(elements_within_a_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

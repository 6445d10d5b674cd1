/* The static synchronisation check of roles: its messages. Most broken programs come with a
 * clean one that differs in one thing. tests/sync has the broad comparisons. */
#include "synccheck_helper.h"

/* Line 1 is the head; statements begin on line 2. */
#define HEAD                                                                                       \
    "kernel f(i32 n, i32 m, const f16 *a, f16 *c, i32 *g) grid(n) warps(12) target(sm_90a) { "     \
    "global f16 A[n][64] = a, C[n][64] = c; global i32 G[n] = g; shared f16 s[2][64][64], "        \
    "t[64][64]; mbarrier full[2](1), empty[2](1) ready, done(2);\n"
#define PRODUCER(body) "warps(0 +: 4) { one_thread {\n" body "} }\n"
#define CONSUMER(body)                                                                             \
    "warps(4 +: 4) { reg f32 acc[64][64] = 0; reg f16 x[64][64] = 0;\n" body "}\n"
#define BOTH(body) "warps(4 +: 8) { reg f32 acc[64][64] = 0; reg f16 x[64][64] = 0;\n" body "}\n"
#define FILL                                                                                       \
    "for (i32 p = 0; p < m; p += 64) {\n"                                                          \
    "wait(empty[p / 64 % 2]);\n"                                                                   \
    "expect(full[p / 64 % 2], 8192);\n"                                                            \
    "async(full[p / 64 % 2]) s[p / 64 % 2] = A[p +: 64][:];\n"                                     \
    "}\n"

static void a_ring_of_stages(void **state)
{
    (void)state;
    clean(HEAD, PRODUCER(FILL) CONSUMER("for (i32 p = 0; p < m; p += 64) {\n"
                                        "wait(full[p / 64 % 2]);\n"
                                        "x = s[p / 64 % 2];\n"
                                        "arrive(empty[p / 64 % 2]);\n"
                                        "}\n"));
    race(HEAD,
         PRODUCER(FILL) CONSUMER("for (i32 p = 0; p < m; p += 64) {\n"
                                 "x = s[p / 64 % 2];\n"
                                 "wait(full[p / 64 % 2]);\n"
                                 "arrive(empty[p / 64 % 2]);\n"
                                 "}\n"),
         "11: error: `s` is read here while the copy into it may still be under way"
         " | 6: the copy begins here"
         " | 11: the copy completes a phase of `full[p / 64 % 2]`: let `wait(full[p / 64 % 2])` "
         "for that phase come before this\n");
    /* a launch with such sizes adds the second head's fact: inputs must still be found */
    static const char *const heads[] = {HEAD, HEAD "assume(m % 16 == 0 && n % 16 == 0);"};
    for (int i = 0; i < 2; i++)
        race(
            heads[i],
            PRODUCER(FILL) CONSUMER("for (i32 p = 0; p < m; p += 64) {\n"
                                    "wait(full[(p / 64 + 1) % 2]);\n"
                                    "x = s[p / 64 % 2];\n"
                                    "arrive(empty[p / 64 % 2]);\n"
                                    "}\n"),
            "12: error: `s` is read here while the copy into it may still be under way"
            " | 6: the copy begins here"
            " | 12: the copy completes a phase of `full[p / 64 % 2]`: let `wait(full[p / 64 % 2])` "
            "for that phase come before this\n"
            "11: error: this waits forever"
            " | 11: warps 4 to 7 wait here for `full[1]`, whose phase has 0 of 1 arrival"
            " | 11: each `wait` takes one phase: a role waits as often as phases complete, and "
            "each phase gets all of its arrivals\n");
    race(HEAD "assume(m % 16 == 0);\n",
         PRODUCER(FILL) CONSUMER("for (i32 p = 0; p < m; p += 64) {\n"
                                 "wait(full[p / 64 % 2]);\n"
                                 "arrive(empty[p / 64 % 2]);\n"
                                 "x = s[p / 64 % 2];\n"
                                 "}\n"),
         "7: error: `s` is the target of a copy that begins here while another role may still be "
         "reading it"
         " | 14: read here"
         " | 7: let that role `arrive` at an mbarrier afterwards, and this one wait for it before "
         "this\n");
    race(HEAD,
         PRODUCER(FILL) CONSUMER("for (i32 p = 0; p < m; p += 64) {\n"
                                 "wait(full[p / 64 % 2]);\n"
                                 "arrive(empty[p / 64 % 2]);\n"
                                 "x = s[p / 64 % 2];\n"
                                 "}\n"),
         "6: error: `s` is the target of a copy that begins here while another role may still be "
         "reading it"
         " | 13: read here"
         " | 6: let that role `arrive` at an mbarrier afterwards, and this one wait for it before "
         "this\n");
}

static void copies_that_begin_too_early(void **state)
{
    (void)state;
    race(HEAD,
         PRODUCER("for (i32 p = 0; p < m; p += 64) {\n"
                  "expect(full[p / 64 % 2], 8192);\n"
                  "async(full[p / 64 % 2]) s[p / 64 % 2] = A[p +: 64][:];\n"
                  "}\n") CONSUMER("for (i32 p = 0; p < m; p += 64) {\n"
                                  "wait(full[p / 64 % 2]);\n"
                                  "x = s[p / 64 % 2];\n"
                                  "}\n"),
         "5: error: `s` is the target of a copy that begins here while the copy into it may still "
         "be under way"
         " | 5: wait before this for an mbarrier at which the roles that read the part arrive\n");
    clean(HEAD, PRODUCER("expect(full[0], 8192);\n"
                         "async(full[0]) t = A[0 +: 64][:];\n") CONSUMER("wait(full[0]);\n"
                                                                         "t = x;\n"));
    race(HEAD,
         PRODUCER("expect(full[0], 8192);\n"
                  "async(full[0]) t = A[0 +: 64][:];\n") CONSUMER("t = x;\n"
                                                                  "wait(full[0]);\n"),
         "7: error: `t` is written here while the copy into it may still be under way"
         " | 4: the copy begins here"
         " | 7: the copy completes a phase of `full[0]`: let `wait(full[0])` for that phase come "
         "before this\n");
}

static void bytes_of_a_phase(void **state)
{
    (void)state;
    clean(HEAD, PRODUCER("expect(full[0], 8192 + 8192);\n"
                         "async(full[0]) t = A[0 +: 64][:];\n"
                         "async(full[0]) s[1] = A[m +: 64][:];\n") CONSUMER("wait(full[0]);\n"));
    race(
        HEAD,
        PRODUCER("expect(full[0], 8192 + 4096);\n"
                 "async(full[0]) t = A[0 +: 64][:];\n"
                 "async(full[0]) s[1] = A[m +: 64][:];\n") CONSUMER("wait(full[0]);\n"),
        "3: error: a phase of `full[0]` never completes: 12288 bytes are announced, and copies "
        "bring 16384"
        " | 5: the last copy of the phase begins here"
        " | 3: announce the bytes of all copies of the phase, those beyond the edge of a view too: "
        "`expect(full[0], 16384)`\n");
    race(
        HEAD,
        PRODUCER("arrive(full[0]);\n"
                 "async(full[0]) t = A[0 +: 64][:];\n") CONSUMER("wait(full[0]);\n"
                                                                 "x = t;\n"),
        "4: error: a phase of `full[0]` never completes: 0 bytes are announced, and copies bring "
        "8192"
        " | 4: announce the bytes of all copies of the phase, those beyond the edge of a view too: "
        "`expect(full[0], 8192)`\n");
    race(
        HEAD, PRODUCER("expect(full[0], 64);\n") CONSUMER(""),
        "3: error: a phase of `full[0]` never completes: 64 bytes are announced, and copies bring 0"
        " | 3: announce the bytes of all copies of the phase, those beyond the edge of a view too: "
        "`expect(full[0], 0)`\n");
    undecided(HEAD, PRODUCER("expect(full[0], m * 64);\n"
                             "async(full[0]) t = A[0 +: 64][:];\n") CONSUMER("wait(full[0]);\n"));
}

static void numbers_of_arrivals(void **state)
{
    (void)state;
    clean(HEAD, BOTH("arrive(done);\n"
                     "wait(done);\n"));
    race(HEAD,
         CONSUMER("arrive(done);\n"
                  "wait(done);\n"),
         "4: error: this waits forever"
         " | 4: warps 4 to 7 wait here for `done`, whose phase has 1 of 2 arrivals"
         " | 4: each `wait` takes one phase: a role waits as often as phases complete, and each "
         "phase gets all of its arrivals\n");
    race(
        HEAD,
        BOTH("arrive(done);\n"
             "arrive(done);\n"
             "wait(done);\n"
             "wait(done);\n"),
        "3: error: this may arrive at `done` before its last phase completes: the phase takes 2 "
        "arrivals"
        " | 3: let this role know that the phase is over: wait for it, or for an mbarrier at which "
        "a role arrives after it has waited; or change the number of arrivals\n");
    race(HEAD,
         PRODUCER("arrive(full[0]);\narrive(full[0]);\n")
             CONSUMER("wait(full[0]);\nwait(full[0]);\n"),
         "7: error: `full[0]` may be two phases ahead of this wait, which then waits forever: a "
         "wait "
         "sees only whether a phase is even or odd"
         " | 4: the next phase can complete here without the wait"
         " | 7: arrive once for each phase, and only after this role has had the chance to wait\n");
}

static void waits_without_end(void **state)
{
    (void)state;
    clean(HEAD, PRODUCER("wait(full[0]);\n"
                         "arrive(full[1]);\n") CONSUMER("arrive(full[0]);\n"
                                                        "wait(full[1]);\n"));
    race(HEAD,
         "warps(0 +: 4) { one_thread {\n"
         "wait(full[0]);\n"
         "arrive(full[1]);\n"
         "} }\n"
         "warps(4 +: 1) { wait(full[1]);\n"
         "arrive(full[0]);\n"
         "}\n",
         "3: error: roles wait for each other forever"
         " | 3: warps 0 to 3 wait here for `full[0]`, whose phase has 0 of 1 arrival"
         " | 6: warp 4 waits here for `full[1]`, whose phase has 0 of 1 arrival"
         " | 3: no role can begin: the first wait for an mbarrier that is declared `ready` "
         "returns at once"
         " | 3: each `wait` takes one phase: a role waits as often as phases complete, and each "
         "phase gets all of its arrivals\n");
}

static void waits_by_hand(void **state)
{
    (void)state;
    clean(HEAD, PRODUCER("for (i32 p = 0; p < m; p++) {\n"
                         "wait(empty[0], p % 2);\n"
                         "expect(full[0], 8192);\n"
                         "async(full[0]) t = A[p +: 64][:];\n"
                         "}\n") CONSUMER("for (i32 p = 0; p < m; p++) {\n"
                                         "wait(full[0], p & 1);\n"
                                         "x = t;\n"
                                         "arrive(empty[0]);\n"
                                         "}\n"));
    race(HEAD,
         PRODUCER("expect(full[0], 8192);\n"
                  "async(full[0]) t = A[0 +: 64][:];\n") CONSUMER("wait(full[0], 1);\n"
                                                                  "x = t;\n"),
         "8: error: `t` is read here while the copy into it may still be under way"
         " | 4: the copy begins here"
         " | 8: the copy completes a phase of `full[0]`: let `wait(full[0])` for that phase come "
         "before this; is the parity right? Phases count from 0\n");
    race(HEAD,
         PRODUCER("for (i32 p = 0; p < m; p++) {\n"
                  "wait(empty[0], p);\n"
                  "arrive(full[0]);\n"
                  "}\n") CONSUMER("for (i32 p = 0; p < m; p++) {\n"
                                  "wait(full[0]);\n"
                                  "arrive(empty[0]);\n"
                                  "}\n"),
         "4: error: the parity of a phase is 0 or 1, and this is 2"
         " | 4: write the number of the phase, from 0, modulo 2\n");
    undecided(HEAD, PRODUCER("wait(full[0], m);\n") CONSUMER("arrive(full[0]);\n"));
}

static void products(void **state)
{
    (void)state;
    clean(HEAD, CONSUMER("dot_async(acc, s[0], s[1]);\n"
                         "dot_async(acc, s[0], s[1]);\n"
                         "dot_wait(0);\n"
                         "acc = acc * 2.0;\n"));
    race(HEAD,
         CONSUMER("dot_async(acc, s[0], s[1]);\n"
                  "dot_async(acc, s[0], s[1]);\n"
                  "dot_wait(1);\n"
                  "acc = acc * 2.0;\n"
                  "dot_wait(0);\n"),
         "6: error: `acc` is read here while a product may still be adding to it"
         " | 4: the product begins here"
         " | 6: put `dot_wait(0)` before this\n");
    clean(HEAD, CONSUMER("dot_async(acc, x, s[1]);\n"
                         "dot_wait(0);\n"
                         "x = 1;\n"));
    race(HEAD,
         CONSUMER("dot_async(acc, x, s[1]);\n"
                  "x = 1;\n"
                  "dot_wait(0);\n"),
         "4: error: `x` is changed here while a product may still be reading it as a factor"
         " | 3: the product begins here"
         " | 4: put `dot_wait(0)` before this\n");
    race(HEAD, CONSUMER("dot_async(acc, x, s[1]);\n"),
         "3: error: a product may still be adding to `acc` when the role ends"
         " | 3: put `dot_wait(0)` at the end of the role\n");
    race(HEAD,
         CONSUMER("if (m > 0) {\n"
                  "reg f32 sums[64][64] = 0;\n"
                  "dot_async(sums, x, s[1]);\n"
                  "}\n"
                  "dot_wait(0);\n"),
         "5: error: a product may still be adding to `sums` when its scope ends"
         " | 5: put `dot_wait(0)` at the end of the scope\n");
    race(HEAD,
         CONSUMER("dot_async(acc, s[0], s[1]);\n"
                  "s[1] = x;\n"
                  "dot_wait(0);\n"),
         "4: error: `s` is overwritten here while a product may still be reading it"
         " | 3: the product begins here"
         " | 4: put `dot_wait(0)` and then `sync()` before this\n");
    race(HEAD,
         BOTH("s[1] = x;\n"
              "dot_async(acc, s[0], s[1]);\n"
              "dot_wait(0);\n"),
         "4: error: `s` is a factor of a product that begins here while other threads may still be "
         "writing it"
         " | 3: written here"
         " | 4: put `sync()` between the two\n");
    clean(HEAD, BOTH("s[1] = x;\n"
                     "sync();\n"
                     "dot_async(acc, s[0], s[1]);\n"
                     "dot_wait(0);\n"));
}

static void stores(void **state)
{
    (void)state;
    clean(HEAD, BOTH("t = x;\n"
                     "sync();\n"
                     "async C[0 +: 64][:] = t;\n"
                     "store_wait(0);\n"
                     "sync();\n"
                     "t = x;\n"));
    race(HEAD,
         BOTH("t = x;\n"
              "async C[0 +: 64][:] = t;\n"
              "store_wait(0);\n"),
         "4: error: `t` is the source of a store that begins here while other threads may still be "
         "writing it"
         " | 3: written here"
         " | 4: put `sync()` between the two\n");
    race(HEAD,
         BOTH("async C[0 +: 64][:] = t;\n"
              "sync();\n"
              "t = x;\n"
              "store_wait(0);\n"),
         "5: error: `t` is overwritten here while the store of it may still be reading it"
         " | 3: the store begins here"
         " | 5: put `store_wait(0)` and then `sync()` before this\n");
    race(HEAD,
         BOTH("async C[0 +: 64][:] = t;\n"
              "store_wait(0);\n"
              "t = x;\n"),
         "5: error: `t` is overwritten here while the store of it may still be reading it"
         " | 3: the store begins here"
         " | 4: only one thread of the role waits here: put `sync()` after it\n");
    race(HEAD, BOTH("async C[0 +: 64][:] = t;\n"),
         "3: error: the store of `t` may still be reading it when the kernel ends"
         " | 3: put `store_wait(0)` at the end of the role\n");
    clean(HEAD, CONSUMER("one_thread {\n"
                         "async C[0 +: 64][:] = t;\n"
                         "store_wait(0);\n"
                         "}\n"));
}

static void copies_at_the_end(void **state)
{
    (void)state;
    race(HEAD,
         PRODUCER("expect(full[0], 8192);\n"
                  "async(full[0]) t = A[0 +: 64][:];\n") CONSUMER(""),
         "4: error: the copy into `t` may still be under way when the kernel ends"
         " | 4: no role waits for this phase of `full[0]`: wait for each phase that has copies\n");
    race(HEAD,
         CONSUMER("if (m == 3) {\n"
                  "shared f16 inner[64][64];\n"
                  "async C[0 +: 64][:] = inner;\n"
                  "}\n"
                  "store_wait(0);\n"),
         "5: error: the store of `inner` may still be reading it when its scope ends"
         " | 5: put `store_wait(0)` at the end of the scope\n");
    clean(HEAD, CONSUMER("if (m == 3) {\n"
                         "shared f16 inner[64][64];\n"
                         "async C[0 +: 64][:] = inner;\n"
                         "store_wait(0);\n"
                         "}\n"));
    race(HEAD, CONSUMER("async t = A[0 +: 64][:];\n"),
         "3: error: the copy into `t` may still be under way when the kernel ends"
         " | 3: put `async_wait(0)` at the end of the role\n");
}

static void copies_of_all_threads(void **state)
{
    (void)state;
    clean(HEAD, CONSUMER("async t = A[0 +: 64][:];\n"
                         "async_wait(0);\n"
                         "sync();\n"
                         "x = t;\n"));
    race(HEAD,
         CONSUMER("async t = A[0 +: 64][:];\n"
                  "async_commit();\n"
                  "async_wait(1);\n"
                  "sync();\n"
                  "x = t;\n"
                  "async_wait(0);\n"),
         "7: error: `t` is read here while the copy into it may still be under way"
         " | 3: the copy begins here"
         " | 7: put `async_wait(0)` and `sync()` before this\n");
    race(HEAD,
         CONSUMER("async t = A[0 +: 64][:];\n"
                  "async_wait(0);\n"
                  "x = t;\n"),
         "5: error: `t` is read here while other threads may still be writing it"
         " | 3: written here"
         " | 5: put `sync()` between the two\n");
}

static void before_the_roles(void **state)
{
    (void)state;
    clean(HEAD, "t = 0;\n"
                "sync();\n" BOTH("x = t;\n"));
    race(HEAD, "t = 0;\n" BOTH("x = t;\n"),
         "4: error: `t` is read here while other threads may still be writing it"
         " | 2: written here"
         " | 4: put `sync()` between the two\n");
    race(HEAD,
         "warps(0 +: 4) { sync(); t = 0; }\n" CONSUMER("sync();\n"
                                                       "x = t;\n"),
         "5: error: `t` is read here while another role may still be writing it"
         " | 2: written here"
         " | 5: let that role `arrive` at an mbarrier afterwards, and this one wait for it before "
         "this\n");
    race(HEAD, CONSUMER("x = t * t[0][1];\nt = x;\nsync();\nt = x * t[0][1];\n"),
         "4: error: `t` is overwritten here while other threads may still be reading it"
         " | 3: read here"
         " | 4: put `sync()` between the two\n"
         "6: error: `t` is overwritten here while other threads may still be reading it"
         " | 6: read here"
         " | 6: keep the element in a scalar before, and put `sync()` after that\n");
}

static void steps_of_the_block(void **state)
{
    (void)state;
    clean(HEAD, "one_thread {\n"
                "expect(full[0], 8192);\n"
                "async(full[0]) t = A[0 +: 64][:];\n"
                "}\n" BOTH("wait(full[0]);\n"
                           "x = t;\n"));
    clean(HEAD, "expect(full[0], 8192);\n"
                "async(full[0]) t = A[0 +: 64][:];\n"
                "wait(full[0]);\n"
                "reg f16 y[64][64] = t;\n");
    race(HEAD,
         "expect(full[0], 8192);\n"
         "async(full[0]) t = A[0 +: 64][:];\n" BOTH("x = t;\n"
                                                    "wait(full[0]);\n"),
         "5: error: `t` is read here while the copy into it may still be under way"
         " | 3: the copy begins here"
         " | 5: the copy completes a phase of `full[0]`: let `wait(full[0])` for that phase come "
         "before this\n");
    clean(HEAD, "wait(empty[0]);\nsync();\n" PRODUCER("arrive(full[0]);\n"
                                                      "wait(empty[0]);\n")
                    CONSUMER("wait(full[0]);\n"
                             "arrive(empty[0]);\n"));
    undecided(HEAD, "arrive(done);\n"
                    "warps(0 +: 2) { wait(done); }\n");
}

static void loops_that_break(void **state)
{
    (void)state;
    clean(HEAD, PRODUCER("for (i32 p = 0; ; p++) {\n"
                         "if (p >= m) break;\n"
                         "wait(empty[p % 2]);\n"
                         "arrive(full[p % 2]);\n"
                         "}\n") CONSUMER("i32 p = 0;\n"
                                         "while (p < m) {\n"
                                         "wait(full[p % 2]);\n"
                                         "arrive(empty[p % 2]);\n"
                                         "p++;\n"
                                         "}\n"));
    race(HEAD,
         PRODUCER("i32 p = 0;\n"
                  "do {\n"
                  "arrive(full[p]);\n"
                  "p++;\n"
                  "} while (p < 2);\n") CONSUMER("for (i32 p = 0; p < 3; p++) {\n"
                                                 "if (p == m) continue;\n"
                                                 "wait(full[p % 2]);\n"
                                                 "}\n"),
         "12: error: this waits forever"
         " | 12: warps 4 to 7 wait here for `full[0]`, whose phase has 0 of 1 arrival"
         " | 12: each `wait` takes one phase: a role waits as often as phases complete, and each "
         "phase gets all of its arrivals"
         " | 11: this happens if the condition is false\n");
    clean(HEAD, "if (m == 0) return;\n" BOTH("arrive(done);\n"
                                             "wait(done);\n"));
}

/* A condition that holds below and above a number; one for which no inputs are found. */
static void both_ways_of_a_condition(void **state)
{
    (void)state;
#define ONE_COPY PRODUCER("expect(full[0], 8192);\nasync(full[0]) s[0] = A[0 +: 64][:];\n")
    race(HEAD,
         ONE_COPY CONSUMER("if (m != 3) {\n"
                           "if (m < 3) wait(full[0]);\n"
                           "} else wait(full[0]);\n"
                           "x = s[0];\n"),
         "10: error: `s` is read here while the copy into it may still be under way"
         " | 4: the copy begins here"
         " | 10: the copy completes a phase of `full[0]`: let `wait(full[0])` for that phase come "
         "before this"
         " | 7: this happens if the condition is true\n");
    clean(HEAD, ONE_COPY CONSUMER("if (m != 3) {\n"
                                  "if (m < 3) wait(full[0]);\n"
                                  "if (m > 3) wait(full[0]);\n"
                                  "} else wait(full[0]);\n"
                                  "x = s[0];\n"));
#define RARE "if ((m ^ 77) % 1001 == 500 && m / 3 % 50 == 33)\n"
    undecided(HEAD, ONE_COPY CONSUMER(RARE "arrive(full[0]);\n"
                                           "wait(full[0]);\n"
                                           "x = s[0];\n"));
    clean(HEAD, ONE_COPY CONSUMER(RARE "arrive(empty[0]);\n"
                                       "wait(full[0]);\n"
                                       "x = s[0];\n"));
}

static void replicas(void **state)
{
    (void)state;
    clean(HEAD, "warps(4 +: 4) for (i32 g < 2) { reg f16 x[64][64] = 0; s[g] = x; }\n");
    race(HEAD, "warps(4 +: 4) for (i32 g < 2) { reg f16 x[64][64] = 0; s[g / 2] = x; }\n",
         "2: error: `s` is written here while another role may still be writing it"
         " | 2: let that role `arrive` at an mbarrier afterwards, and this one wait for it before "
         "this\n");
}

static void numbers_of_rounds(void **state)
{
    (void)state;
    race(HEAD,
         PRODUCER("for (i32 p = 0; p < m; p++)\n"
                  "if (p == 0)\n"
                  "arrive(full[0]);\n") CONSUMER("wait(full[0]);\n"),
         "8: error: this waits forever"
         " | 8: warps 4 to 7 wait here for `full[0]`, whose phase has 0 of 1 arrival"
         " | 8: each `wait` takes one phase: a role waits as often as phases complete, and each "
         "phase gets all of its arrivals"
         " | 3: this happens if the loop makes 0 rounds\n");
    undecided(HEAD, PRODUCER("for (i32 p = 0; p < G[0]; p++)\n"
                             "arrive(full[0]);\n") CONSUMER("for (i32 p = 0; p < G[0]; p++)\n"
                                                            "wait(full[0]);\n"));
    clean(HEAD,
          "i32 rounds = G[0];\n" PRODUCER("for (i32 p = 0; p < rounds; p++) {\n"
                                          "wait(empty[0]);\n"
                                          "arrive(full[0]);\n"
                                          "}\n") CONSUMER("for (i32 p = 0; p < rounds; p++) {\n"
                                                          "wait(full[0]);\n"
                                                          "arrive(empty[0]);\n"
                                                          "}\n"));
    clean(HEAD, PRODUCER(FILL) CONSUMER("i32 tiles = cdiv(m, 64);\n"
                                        "for (i32 t = 0; t < tiles; t++) {\n"
                                        "wait(full[t % 2]);\n"
                                        "x = s[t % 2];\n"
                                        "arrive(empty[t % 2]);\n"
                                        "}\n"));
    race(HEAD,
         PRODUCER(FILL) CONSUMER("i32 tiles = m / 64;\n"
                                 "for (i32 t = 0; t < tiles; t++) {\n"
                                 "wait(full[t % 2]);\n"
                                 "x = s[t % 2];\n"
                                 "arrive(empty[t % 2]);\n"
                                 "}\n"),
         "6: error: the copy into `s` may still be under way when the kernel ends"
         " | 6: no role waits for this phase of `full[p / 64 % 2]`: wait for each phase that has "
         "copies"
         " | 3: this happens if the loop makes 3 rounds"
         " | 11: this happens if the loop makes 2 rounds\n");
    undecided(HEAD, CONSUMER("wait(empty[m]);\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_of_stages),   cmocka_unit_test(copies_that_begin_too_early),
        cmocka_unit_test(bytes_of_a_phase),   cmocka_unit_test(numbers_of_arrivals),
        cmocka_unit_test(waits_without_end),  cmocka_unit_test(waits_by_hand),
        cmocka_unit_test(products),           cmocka_unit_test(stores),
        cmocka_unit_test(copies_at_the_end),  cmocka_unit_test(copies_of_all_threads),
        cmocka_unit_test(before_the_roles),   cmocka_unit_test(both_ways_of_a_condition),
        cmocka_unit_test(replicas),           cmocka_unit_test(numbers_of_rounds),
        cmocka_unit_test(steps_of_the_block), cmocka_unit_test(loops_that_break),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

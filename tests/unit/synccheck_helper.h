/* Small kernels for the static synchronisation check, and its expected messages. */
#ifndef SYNCCHECK_HELPER_H
#define SYNCCHECK_HELPER_H

#include "pass_helper.h"
#include "synccheck/synccheck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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

#define MISSES(late, early)                                                                        \
    late ": error: `s` is read here while other threads may still be writing it"                   \
         " | " early ": written here"                                                              \
         " | " late ": put `sync()` between the two\n"

static inline void expect(const char *head, const char *statements, enum sync_verdict verdict,
                          const char *messages)
{
    char text[8192];
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

static inline void clean(const char *head, const char *statements)
{
    expect(head, statements, SYNC_CLEAN, "");
}

static inline void undecided(const char *head, const char *statements)
{
    expect(head, statements, SYNC_UNDECIDED, "");
}

static inline void race(const char *head, const char *statements, const char *messages)
{
    expect(head, statements, SYNC_RACE, messages);
}

#endif

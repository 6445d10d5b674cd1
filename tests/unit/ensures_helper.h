/* A kernel that has only an ensures clause, and its arrays: the common beginning of tests of the
 * oracle. */
#ifndef ENSURES_HELPER_H
#define ENSURES_HELPER_H

#include "oracle/ensures.h"
#include "lang/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct fixture {
    jmp_buf recovery;
    struct arena arena;
    struct diag diag;
    struct source source;
    struct cpu_argument args[8];
    int count;
    struct ensures_report report;
    struct platform_pool *pool;
};

static inline int ensures_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->pool = platform_pool_new(&allocator_libc, 2);
    arena_init(&f->arena, NULL, &f->recovery);
    diag_init(&f->diag, &f->arena);
    *state = f;
    return 0;
}

static inline int ensures_teardown(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    platform_pool_free(f->pool);
    free(f);
    return 0;
}

static inline void give_int(struct fixture *f, int64_t v)
{
    f->args[f->count++] = (struct cpu_argument){.scalar = {.i = v}};
}

static inline void give_float(struct fixture *f, double v)
{
    f->args[f->count++] = (struct cpu_argument){.scalar = {.is_float = true, .f = v}};
}

#define give(f, array)                                                                             \
    ((f)->args[(f)->count++] = (struct cpu_argument){.data = (array), .bytes = sizeof(array)})

/* Returns true if the clause could be evaluated; f->report has the result. `text` is a whole
 * module with one kernel. */
static inline bool evaluate(struct fixture *f, const char *text)
{
    if (setjmp(f->recovery) != 0)
        fail_msg("out of memory");
    f->source = (struct source){.name = "test.tile", .text = text, .length = strlen(text)};
    struct module *m = lang_parse(&f->arena, &f->diag, &f->source);
    struct kernel *k =
        m ? lang_check(&f->arena, &f->diag, m, 0, &(struct lang_choice){.target = NULL}) : NULL;
    if (!k) {
        struct text out;
        text_init(&out, &f->arena);
        diag_render(&out, &f->diag, false);
        fail_msg("%s", out.data);
    }
    return ensures_check(&f->arena, k, f->args, platform_pool_parallel(f->pool), &f->report);
}

static inline bool holds(struct fixture *f, const char *text)
{
    bool evaluated = evaluate(f, text);
    if (!evaluated)
        print_error("%s\n", f->report.message);
    assert_true(evaluated);
    return f->report.ok;
}

/* A kernel with the parameters m, a, b and c. */
#define ELEMENTWISE(T, expression)                                                                 \
    "kernel k(i32 m, const " T " *a, const " T " *b, " T " *c) grid(1) warps(1)\n"                 \
    "{\n"                                                                                          \
    "    global " T " A[m] = a, B[m] = b, C[m] = c;\n"                                             \
    "    ensures C == " expression ";\n"                                                           \
    "}\n"

#endif

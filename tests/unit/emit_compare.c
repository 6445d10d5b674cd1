#include "emit_compare.h"

#include "cpu_helper.h"
#include "lockstep.h"
#include "emit_program.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* --- Arrays --- */

static const struct sym *view_of(const struct kernel *k, const struct sym *pointer)
{
    for (const struct sym *s = k->symbols; s; s = s->next)
        if (s->storage == ST_VIEW && s->base == pointer)
            return s;
    fail_msg("no view of %s", pointer->name);
    return NULL;
}

static size_t elements_of(const struct sym *view)
{
    int64_t n = 1, extent;
    for (int i = 0; i < view->type.rank; i++) {
        assert_true(eval_int(view->dims[i], NULL, &extent));
        n *= extent;
    }
    return (size_t)n;
}

static void fill(const struct sym *view, int param, void *data, uint64_t *seed,
                 compare_element element)
{
    enum dtype t = view->type.dtype;
    size_t count = elements_of(view);
    for (size_t i = 0; i < count; i++)
        dtype_store_f64(t, (char *)data + i * dtype_size(t), element(t, param, seed));
}

static void compare(const struct sym *s, size_t count, const void *is, const void *should,
                    const char *text)
{
    enum dtype t = s->type.dtype;
    for (size_t i = 0; i < count; i++) {
        double a = dtype_load_f64(t, (const char *)is + i * dtype_size(t));
        double b = dtype_load_f64(t, (const char *)should + i * dtype_size(t));
        if (a != b && !(isnan(a) && isnan(b)))
            fail_msg("%s[%zu] is %g, on the CPU %g, in\n%s", s->name, i, a, b, text);
    }
}

/* --- One kernel --- */

static const char *run_in_lockstep(const struct compare_launch *launch)
{
    struct lockstep s = {.arena = launch->arena,
                         .function = launch->lowered->function,
                         .grid = {1, 1, 1},
                         .shared_bytes = launch->lowered->shared_bytes};
    memcpy(s.block, launch->lowered->block, sizeof s.block);
    for (int i = 0; i < launch->count; i++) {
        s.args[i] = (uint64_t)(uintptr_t)launch->arrays[i].data;
        s.arrays[i] = (struct lockstep_array){launch->arrays[i].data, launch->arrays[i].bytes};
    }
    s.array_count = launch->count;
    return lockstep_run(&s);
}

void compare_with_cpu(const char *text, const char *target, uint64_t seed, compare_element element)
{
    compare_run_with_cpu(run_in_lockstep, text, target, seed, element);
}

void compare_run_with_cpu(compare_run run, const char *text, const char *target, uint64_t seed,
                          compare_element element)
{
    struct program p = {0};
    struct lowered lowered;
    struct cpu_run r;
    program_open(&p, text);
    lowered.excess = LOWERED_FITS;
    if (!program_check(&p, 0) || !program_emit(&p, target, &lowered)) {
        if (lowered.excess != LOWERED_MANY_REGISTERS) /* random tiles may be too large */
            fail_msg("%s\n%s", program_messages(&p), text);
        program_free(&p);
        return;
    }
    cpu_open(&r, text, NULL);
    struct compare_launch launch = {&p.arena, &lowered, {{0}}, (int)lowered.params.count};
    for (int i = 0; i < launch.count; i++) {
        const struct sym *param = lowered.params.data[i].sym, *view = view_of(p.kernel, param);
        size_t bytes = elements_of(view) * dtype_size(view->type.dtype);
        void *data = arena_alloc(&p.arena, bytes);
        if (param->is_const)
            fill(view, param->index, data, &seed, element);
        memcpy(cpu_array(&r, param->name, bytes), data, bytes);
        launch.arrays[i] = (struct compare_array){param->name, data, bytes, param->is_const};
    }
    const char *why = run(&launch);
    if (why)
        fail_msg("%s, in\n%s", why, text);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    for (int i = 0; i < launch.count; i++) {
        const struct sym *param = lowered.params.data[i].sym, *view = view_of(p.kernel, param);
        compare(view, elements_of(view), launch.arrays[i].data, r.args[param->index].data, text);
    }
    cpu_close(&r);
    program_free(&p);
}

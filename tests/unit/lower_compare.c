#include "lower_compare.h"

#include "cpu_helper.h"
#include "lockstep.h"
#include "lower_program.h"

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

void compare_with_cpu(const char *text, const char *target, uint64_t seed, compare_element element)
{
    struct program p = {0};
    struct lowered lowered;
    struct cpu_run r;
    struct lockstep s = {0};
    void *data[MOST_ARRAYS];
    program_open(&p, text);
    lowered.excess = LOWER_FITS;
    if (!program_check(&p, 0) || !program_lower(&p, target, &lowered)) {
        if (lowered.excess != LOWER_MANY_REGISTERS) /* random tiles may be too large */
            fail_msg("%s\n%s", program_messages(&p), text);
        program_free(&p);
        return;
    }
    cpu_open(&r, text, NULL);
    for (size_t i = 0; i < lowered.params.count; i++) {
        const struct sym *param = lowered.params.data[i].sym;
        const struct sym *view = view_of(p.kernel, param);
        size_t count = elements_of(view), bytes = count * dtype_size(view->type.dtype);
        data[i] = arena_alloc(&p.arena, bytes);
        if (param->is_const)
            fill(view, param->index, data[i], &seed, element);
        memcpy(cpu_array(&r, param->name, bytes), data[i], bytes);
        s.args[i] = (uint64_t)(uintptr_t)data[i];
        s.arrays[s.array_count++] = (struct lockstep_array){data[i], bytes};
    }
    s.arena = &p.arena;
    s.function = lowered.function;
    s.grid[0] = s.grid[1] = s.grid[2] = 1;
    memcpy(s.block, lowered.block, sizeof s.block);
    s.shared_bytes = lowered.shared_bytes;
    const char *why = lockstep_run(&s);
    if (why)
        fail_msg("%s, in\n%s", why, text);
    assert_int_equal(cpu_go(&r, 1), CPU_OK);
    for (size_t i = 0; i < lowered.params.count; i++) {
        const struct sym *param = lowered.params.data[i].sym, *view = view_of(p.kernel, param);
        compare(view, elements_of(view), data[i], r.args[param->index].data, text);
    }
    cpu_close(&r);
    program_free(&p);
}

/* The order of the passes. */
#include "thread/thread.h"

static void make_scalars_few(struct arena *a, struct thread_function *f)
{
    thread_number(a, f);
    thread_hoist(a, f);
    thread_number(a, f); /* values of several loops are now next to each other */
}

void thread_optimise(struct arena *a, struct thread_function *f)
{
    thread_unroll(a, f);
    thread_lift(a, f);
    make_scalars_few(a, f);
    thread_decide(a, f);
    thread_reach(a, f);
    thread_hoist(a, f);
    thread_number(a, f);
    thread_skip(a, f);
    thread_drop_unused(a, f);
    thread_reuse(a, f);
    thread_fuse(a, f);
    thread_pack(a, f);
    thread_drop_unused(a, f);
    thread_combine(a, f);
    thread_enter(a, f);
    const uint32_t values = f->values;
    thread_rematerialise(a, f);
    if (f->values > values)
        thread_drop_unused(a, f);
    thread_add_fences(a, f);
}

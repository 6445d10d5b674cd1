/* The order of the passes. */
#include "thread/thread.h"

void thread_optimise(struct arena *a, struct thread_function *f)
{
    thread_unroll(a, f);
    thread_number(a, f);
    thread_hoist(a, f);
    thread_number(a, f); /* values of several loops are now next to each other */
    if (f->shape[0]) {
        thread_reach(a, f);
        thread_number(a, f);
        thread_hoist(a, f);
        thread_number(a, f);
    }
    thread_drop_unused(a, f);
    if (f->shape[0])
        thread_combine(a, f);
    thread_add_fences(a, f);
}

/* The registers of threads: at the launch, and in roles. */
#include "target/targets.h"
#include "thread/thread.h"

enum { WARP_THREADS = 32, LEAST_REGISTERS = 24 };

uint32_t thread_launch_registers(const struct thread_function *f)
{
    const uint32_t blocks = f->blocks ? f->blocks : 1, each = GPU_REGISTERS /
                                                              (f->threads * blocks) /
                                                              GPU_REGISTER_UNIT * GPU_REGISTER_UNIT;
    return each < GPU_THREAD_REGISTERS ? each : GPU_THREAD_REGISTERS;
}

bool thread_registers_fit(struct arena *a, const struct thread_function *f,
                          const struct thread_operation *roles, struct diag *d)
{
    const uint32_t at_launch = thread_launch_registers(f);
    uint32_t sum = 0, threads = 0;
    const struct thread_region *largest = NULL;
    const char *terms = "";
    for (size_t i = 0; i < roles->regions.count; i++) {
        const struct thread_region *r = roles->regions.data[i];
        uint32_t count = r->warps * WARP_THREADS;
        if (!r->registers)
            continue;
        terms = arena_printf(a, "%s%s%u * %u", terms, *terms ? " + " : "", count, r->registers);
        sum += count * r->registers;
        threads += count;
        if (!largest || count * r->registers > largest->warps * WARP_THREADS * largest->registers)
            largest = r;
    }
    if (sum <= threads * at_launch)
        return true;
    uint32_t over = sum - threads * at_launch, each = largest->warps * WARP_THREADS;
    int64_t fits = ((int64_t)largest->registers - (over + each - 1) / each) / 8 * 8;
    const char *way = arena_printf(a, "; %lld fit for warps %u to %u", (long long)fits,
                                   largest->first_warp, largest->first_warp + largest->warps - 1);
    diag_error(d, roles->where,
               "the roles have %s = %u registers, more than their threads at the launch, "
               "%u * %u = %u%s",
               terms, sum, threads, at_launch, threads * at_launch,
               fits >= LEAST_REGISTERS ? way : "");
    return false;
}

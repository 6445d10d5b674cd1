/* The counters of `run -- PROGRAM`: sums for each kernel, as lines of JSON at the end. */
#include "driver/driver.h"

#include "sim/sim_counters.h"

#include <string.h>

struct counted_kernel {
    const struct driver_kernel *kernel;
    int64_t launches;
    struct sim_counts counts;
};

static struct sim_counters *counters;
static VEC(struct counted_kernel) kernels;

struct sim_observer *driver_counters_observer(struct arena *a)
{
    counters = sim_counters_new(a);
    return sim_counters_observer(counters);
}

static struct counted_kernel *entry_of(const struct driver_kernel *k)
{
    for (size_t i = 0; i < kernels.count; i++)
        if (kernels.data[i].kernel == k)
            return &kernels.data[i];
    struct counted_kernel made = {.kernel = k};
    vec_push(&driver.arena, &kernels, made);
    return &kernels.data[kernels.count - 1];
}

void driver_counters_add(const struct driver_kernel *k)
{
    struct sim_counts counts;
    if (!counters)
        return;
    struct counted_kernel *to = entry_of(k);
    sim_counters_total(counters, &counts);
    sim_counters_clear(counters);
    to->launches++;
    to->counts.warp_instructions += counts.warp_instructions;
#define X(name) to->counts.name += counts.name;
    SIM_ACCESS_COUNTERS(X)
#undef X
}

void driver_counters_report(FILE *out)
{
    struct text text;
    for (size_t i = 0; i < kernels.count; i++) {
        const struct counted_kernel *k = &kernels.data[i];
        text_init(&text, &driver.arena);
        text_add(&text, "{\"kind\": \"counters\", \"kernel\": ");
        text_add_json(&text, k->kernel->shown);
        text_printf(&text, ", \"launches\": %lld, \"warp_instructions\": %lld",
                    (long long)k->launches, (long long)k->counts.warp_instructions);
#define X(name) text_printf(&text, ", \"" #name "\": %lld", (long long)k->counts.name);
        SIM_ACCESS_COUNTERS(X)
#undef X
        fprintf(out, "%s}\n", text.data);
    }
}

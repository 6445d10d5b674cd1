/* Memory, time and places of the program: what all other files of the race check use. */
#include "sim/race/sim_race_own.h"

static void count_memory(struct sim_races *r, size_t old_size, size_t size)
{
    r->memory += size - old_size;
    r->most_memory = r->memory > r->most_memory ? r->memory : r->most_memory;
}

void *race_resize(struct sim_races *r, void *old, size_t old_size, size_t size)
{
    count_memory(r, old_size, size);
    return sim_heap_resize(r->arena, old, old_size, size);
}

void *race_grow(struct sim_races *r, void *old, size_t old_size, size_t size)
{
    count_memory(r, old_size, size);
    return old ? sim_heap_grow(r->arena, old, old_size, size) : sim_heap_new(r->arena, size);
}

race_time race_tick(struct sim_races *r)
{
    if (r->now == RACE_NEVER - 1)
        r->over = true;
    else
        r->now++;
    return r->now;
}

/* --- sites --- */

static size_t site_slot(struct race_site **table, size_t capacity,
                        const struct ptx_instruction *ins, uint32_t offset)
{
    size_t i = sim_hash((uint64_t)(uintptr_t)ins + offset) & (capacity - 1);
    while (table[i] && (table[i]->ins != ins || table[i]->where.offset != offset))
        i = (i + 1) & (capacity - 1);
    return i;
}

static struct race_site *find_site(struct sim_races *r, const struct sim_place *at)
{
    if (2 * r->site_count >= r->site_capacity) {
        size_t capacity = r->site_capacity ? 2 * r->site_capacity : 256;
        struct race_site **table = race_resize(r, NULL, 0, capacity * sizeof *table);
        for (size_t i = 0; i < r->site_capacity; i++)
            if (r->sites[i])
                table[site_slot(table, capacity, r->sites[i]->ins, r->sites[i]->where.offset)] =
                    r->sites[i];
        race_resize(r, r->sites, r->site_capacity * sizeof *table, 0);
        r->sites = table;
        r->site_capacity = capacity;
    }
    size_t i = site_slot(r->sites, r->site_capacity, at->ins, at->where.offset);
    if (!r->sites[i]) {
        r->sites[i] = arena_new(r->arena, struct race_site);
        *r->sites[i] = (struct race_site){at->ins, at->function, at->where, NULL, 0};
        r->site_count++;
    }
    return r->sites[i];
}

const struct race_site *race_site_of(struct sim_races *r, const struct sim_place *at)
{
    struct race_site *last = r->last_site, *site = last ? last->follower : NULL;
    if (!site || site->ins != at->ins || site->where.offset != at->where.offset) {
        site = find_site(r, at);
        if (last)
            last->follower = site;
    }
    return r->last_site = site;
}

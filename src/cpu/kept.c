/* Memory that launches leave for later ones: that of frames and of caches. A system supplies new
 * memory page by page, which costs short launches a noticeable time. */
#include "base/platform.h"
#include "cpu/program.h"

#include <assert.h>

/* Most bytes that are kept; more is freed at once. */
#define MOST_KEPT_BYTES ((size_t)256 << 20)

/* Takes a lock that is held for a short time; its thread may lose its core meanwhile. */
static void take_flag(atomic_bool *flag)
{
    enum { LOOKS = 64 };
    for (int i = 1; atomic_load_explicit(flag, memory_order_relaxed) ||
                    atomic_exchange_explicit(flag, true, memory_order_acquire);
         i++)
        if (i % LOOKS != 0)
            platform_pause();
        else
            platform_yield();
}

void *workers_realloc(const struct launch_state *launch, void *ptr, size_t old_size, size_t size)
{
    take_flag(launch->allocating);
    void *result = launch->allocator->resize(launch->allocator->user, ptr, old_size, size);
    atomic_store_explicit(launch->allocating, false, memory_order_release);
    return result;
}

static void unlock(struct cpu_kept *kept)
{
    atomic_store_explicit(&kept->busy, false, memory_order_release);
}

/* Returns the smallest kept block that is large enough and not far too large, of several the one
 * that the worker used; NULL: there is none. */
static struct kept_block *find(struct cpu_kept *kept, size_t bytes, int worker)
{
    struct kept_block *best = NULL;
    for (int i = 0; i < kept->count; i++) {
        struct kept_block *b = &kept->blocks[i];
        if (b->bytes >= bytes && b->bytes / 2 <= bytes &&
            (!best || b->bytes < best->bytes || (b->bytes == best->bytes && b->worker == worker)))
            best = b;
    }
    return best;
}

struct kept_block kept_take(const struct launch_state *l, size_t bytes, int worker)
{
    struct cpu_kept *kept = l->options->kept;
    struct kept_block block = {.bytes = bytes};
    if (kept) {
        take_flag(&kept->busy);
        struct kept_block *found = find(kept, bytes, worker);
        if (found) {
            block = *found;
            kept->total -= block.bytes;
            *found = kept->blocks[--kept->count];
        }
        unlock(kept);
    }
    if (!block.memory) {
        block.memory = workers_realloc(l, NULL, 0, bytes);
        if (block.memory && l->allocator->resize == allocator_libc.resize)
            platform_prefer_large_pages(block.memory, bytes);
    }
    block.worker = worker;
    return block;
}

void kept_give(const struct launch_state *l, struct kept_block block)
{
    struct cpu_kept *kept = l->options->kept;
    if (kept && block.memory) {
        take_flag(&kept->busy);
        if (kept->count < MOST_KEPT_BLOCKS && kept->total + block.bytes <= MOST_KEPT_BYTES) {
            kept->blocks[kept->count++] = block;
            kept->total += block.bytes;
            block.memory = NULL;
        }
        unlock(kept);
    }
    if (block.memory)
        workers_realloc(l, block.memory, block.bytes, 0);
}

/* The bytes before each piece of kept_allocator: the size of the kept block that it is in. */
enum { PIECE_HEADER = 16, MOST_PIECE = 1 << 16 };

static void *piece_new(const struct launch_state *l, size_t size)
{
    struct kept_block block = {.bytes = size + PIECE_HEADER};
    if (size <= MOST_PIECE)
        block = kept_take(l, block.bytes, 0);
    else if (size <= SIZE_MAX - PIECE_HEADER)
        block.memory = workers_realloc(l, NULL, 0, block.bytes);
    if (!block.memory)
        return NULL;
    memcpy(block.memory, &block.bytes, sizeof block.bytes);
    return (unsigned char *)block.memory + PIECE_HEADER;
}

static void *kept_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    const struct launch_state *l = user;
    if (!ptr)
        return piece_new(l, size);
    assert(size == 0 && "an arena does not resize its blocks");
    struct kept_block block = {.memory = (unsigned char *)ptr - PIECE_HEADER};
    memcpy(&block.bytes, block.memory, sizeof block.bytes);
    if (old_size <= MOST_PIECE)
        kept_give(l, block);
    else
        workers_realloc(l, block.memory, block.bytes, 0);
    return NULL;
}

struct allocator kept_allocator(struct launch_state *l)
{
    return (struct allocator){.resize = kept_resize, .user = l};
}

void cpu_kept_free(struct cpu_kept *kept, const struct allocator *allocator)
{
    for (int i = 0; i < kept->count; i++)
        allocator->resize(allocator->user, kept->blocks[i].memory, kept->blocks[i].bytes, 0);
    *kept = (struct cpu_kept){0};
}

/* An arena is a list of blocks from the caller's allocator; each new block is larger. Within a
 * block, memory is handed out from the start. A request that is large compared with a block gets a
 * block of its own, linked after the head, so that the free rest of the head stays in use. Under
 * AddressSanitizer, memory that is not handed out is poisoned, and a gap follows every piece. */
#include "base/arena.h"

#include "base/number.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define TW_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TW_ASAN 1
#endif
#endif

#ifdef TW_ASAN
#include <sanitizer/asan_interface.h>
enum { REDZONE = 16 };
#define POISON(p, n) __asan_poison_memory_region((p), (n))
#define UNPOISON(p, n) __asan_unpoison_memory_region((p), (n))
#else
enum { REDZONE = 0 };
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#if defined(__GNUC__)
#define APART __attribute__((noinline)) /* the usual way then saves no registers for it */
#else
#define APART
#endif

enum { ALIGNMENT = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* bytes after the header */
    size_t used; /* bytes handed out, from the start of the block */
};

/* The header's size, rounded up so that the data after it is aligned. */
enum { HEADER = (sizeof(struct arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

static void *libc_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    (void)user;
    (void)old_size;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, size);
}

static void *libc_zeros(void *user, size_t size)
{
    (void)user;
    return calloc(1, size);
}

const struct allocator allocator_libc = {libc_resize, NULL, libc_zeros};

void *allocator_zeros(const struct allocator *from, size_t size)
{
    if (from->zeros)
        return from->zeros(from->user, size);
    void *p = from->resize(from->user, NULL, 0, size);
    return p ? memset(p, 0, size) : NULL;
}

void arena_init(struct arena *a, const struct allocator *allocator, jmp_buf *out_of_memory)
{
    *a = (struct arena){.allocator = allocator ? allocator : &allocator_libc,
                        .out_of_memory = out_of_memory};
}

void arena_free(struct arena *a)
{
    for (struct arena_block *block = a->blocks, *next; block; block = next) {
        next = block->next;
        UNPOISON((char *)block + HEADER, block->size);
        a->allocator->resize(a->allocator->user, block, HEADER + block->size, 0);
    }
    a->blocks = NULL;
    a->used = 0;
}

static _Noreturn void fail(struct arena *a)
{
    assert(a->out_of_memory && "an arena needs a recovery point before its first allocation");
    longjmp(*a->out_of_memory, 1);
}

/* An allocation takes tens of nanoseconds, and asking the caller takes about as long, so most
 * allocations do not ask. */
enum { CALLS_A_QUESTION = 64 };

void arena_ask(struct arena *a)
{
    struct poll *p = a->poll;
    if (!p)
        return;
    p->left = CALLS_A_QUESTION;
    if (p->stopped || !p->cancelled || !p->cancelled(p->user))
        return;
    p->stopped = true;
    fail(a);
}

void arena_doing(struct arena *a, const char *doing)
{
    struct poll *p = a->poll;
    if (!p)
        return;
    p->doing = doing;
    if (p->progress)
        p->progress(p->progress_user, doing, 0, 0);
}

static struct arena_block *new_block(struct arena *a, size_t size)
{
    if (size > SIZE_MAX - HEADER)
        fail(a);
    struct arena_block *block = a->allocator->resize(a->allocator->user, NULL, 0, HEADER + size);
    if (!block)
        fail(a);
    assert((uintptr_t)block % ALIGNMENT == 0 && "an allocator aligns to 16 bytes");
    *block = (struct arena_block){.size = size};
    POISON((char *)block + HEADER, size);
    return block;
}

/* Returns a block with `need` bytes free. */
static struct arena_block *block_with_room(struct arena *a, size_t need)
{
    struct arena_block *head = a->blocks;
    if (head && head->size - head->used >= need)
        return head;
    size_t size = FIRST_BLOCK;
    if (head)
        size = head->size < LARGEST_BLOCK / 2 ? head->size * 2 : LARGEST_BLOCK;
    if (head && need > size / 4) {
        struct arena_block *own = new_block(a, need);
        own->next = head->next;
        head->next = own;
        return own;
    }
    struct arena_block *block = new_block(a, need > size ? need : size);
    block->next = head;
    return a->blocks = block;
}

/* Returns the bytes of a block that a piece of `size` bytes occupies. */
static size_t whole_of(size_t size)
{
    return (size - !!size + ALIGNMENT) / ALIGNMENT * ALIGNMENT + REDZONE;
}

static inline void *hand_out(struct arena *a, struct arena_block *block, size_t size, size_t whole)
{
    char *piece = (char *)block + HEADER + block->used;
    block->used += whole;
    a->used += size;
    UNPOISON(piece, size);
    return piece;
}

/* Asks if it is time to, and takes a new block if the head has no room. */
static APART void *room_slowly(struct arena *a, size_t size)
{
    if (a->poll && a->poll->left < 0)
        arena_ask(a);
    if (size > SIZE_MAX / 2)
        fail(a);
    const size_t whole = whole_of(size);
    return hand_out(a, block_with_room(a, whole), size, whole);
}

void *arena_room(struct arena *a, size_t size)
{
    struct arena_block *head = a->blocks;
    const size_t whole = whole_of(size);
    if ((a->poll && --a->poll->left < 0) || size > SIZE_MAX / 2 || !head ||
        head->size - head->used < whole)
        return room_slowly(a, size);
    return hand_out(a, head, size, whole);
}

/* Makes the latest piece longer in place, if its block has room. */
static bool extend(struct arena *a, void *piece, size_t old_size, size_t size)
{
    struct arena_block *head = a->blocks;
    size_t old = whole_of(old_size);
    if (!head || head->used < old || size > head->size ||
        (char *)piece != (char *)head + HEADER + head->used - old ||
        whole_of(size) - old > head->size - head->used)
        return false;
    head->used += whole_of(size) - old;
    a->used += size - old_size;
    UNPOISON((char *)piece, size);
    return true;
}

void *arena_alloc(struct arena *a, size_t size)
{
    return memset(arena_room(a, size), 0, size);
}

void *arena_alloc_array(struct arena *a, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        fail(a);
    return arena_alloc(a, count * size);
}

void *arena_copy(struct arena *a, const void *data, size_t size)
{
    void *copy = arena_room(a, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_string(struct arena *a, const char *text, size_t length)
{
    if (length == SIZE_MAX)
        fail(a);
    char *copy = arena_alloc(a, length + 1);
    if (length)
        memcpy(copy, text, length);
    return copy;
}

char *arena_vprintf(struct arena *a, const char *format, va_list args)
{
    va_list again;
    int length = -1;
    va_copy(again, args);
    if (format) /* always true; with a plain call, sanitizers that continue after a NULL make the
                 * compiler warn */
        length = number_vformat(NULL, 0, format, args);
    if (length < 0)
        fail(a);
    char *text = arena_alloc(a, (size_t)length + 1);
    number_vformat(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(a, format, args);
    va_end(args);
    return text;
}

static APART void *vec_grow(struct arena *a, void *data, size_t count, size_t *capacity,
                            size_t size)
{
    if (*capacity > SIZE_MAX / 2)
        fail(a);
    size_t larger = *capacity ? *capacity * 2 : 8;
    if (larger > SIZE_MAX / 2 / size)
        fail(a);
    if (data && extend(a, data, *capacity * size, larger * size)) {
        *capacity = larger;
        return data;
    }
    void *room = arena_room(a, larger * size);
    if (count)
        memcpy(room, data, count * size);
    *capacity = larger;
    return room;
}

void *vec_room(struct arena *a, void *data, size_t count, size_t *capacity, size_t size)
{
    assert(size > 0 && count <= *capacity && (data || count == 0));
    return count < *capacity ? data : vec_grow(a, data, count, capacity, size);
}

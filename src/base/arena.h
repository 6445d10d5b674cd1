/* Memory for a phase: allocated piece by piece, freed as a whole.
 *
 * Allocation does not return NULL. If the caller's allocator fails, control goes to the recovery
 * point of the public call in progress (arena_try), which frees the phase and returns TW_NO_MEMORY.
 * So compiler code needs no checks, and every failure is reported as a status. */
#ifndef TW_ARENA_H
#define TW_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller's allocator: one function, as in Lua. If ptr is NULL it allocates `size` bytes,
 * aligned to 16; if size is 0 it frees ptr (of old_size bytes); otherwise it resizes. It returns
 * NULL on failure and keeps the old block. */
struct allocator {
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t size);
    void *user;
    /* Returns new zeroed memory whose pages take no memory until they are written. May be NULL if
     * the system has no such memory. */
    void *(*zeros)(void *user, size_t size);
};
extern const struct allocator allocator_libc;
/* Returns new zeroed memory, or NULL on failure. */
void *allocator_zeros(const struct allocator *from, size_t size);

/* Asks the caller whether to cancel the work. Allocations from an arena ask from time to time, and
 * so do loops that do not allocate (arena_poll). If the answer is yes, the allocation fails. */
struct poll {
    bool (*cancelled)(void *user); /* NULL: never */
    void *user;
    /* Reports the work's progress; may be NULL. */
    void (*progress)(void *user, const char *doing, int64_t done, int64_t total);
    void *progress_user;
    int left;          /* calls of arena_poll until the next question */
    bool stopped;      /* the answer was yes */
    const char *doing; /* the work, for a message: "checking synchronisation"; NULL: no name */
};

struct arena_block;
struct arena {
    const struct allocator *allocator;
    struct arena_block *blocks;
    struct poll *poll; /* for one thread; NULL: never asks */
    jmp_buf
        *out_of_memory; /* target of a failed allocation; must be set before the first allocation */
    size_t used;        /* total bytes handed out */
};

void arena_init(struct arena *a, const struct allocator *allocator, jmp_buf *out_of_memory);
void arena_ask(struct arena *a); /* asks at once; does not return if the answer is yes */
/* For loops: asks once in several calls. */
static inline void arena_poll(struct arena *a)
{
    if (a->poll && --a->poll->left < 0)
        arena_ask(a);
}
/* Names the work that follows, for messages and progress. */
void arena_doing(struct arena *a, const char *doing);
void arena_free(struct arena *a);

/* Zeroed memory, aligned to 16 bytes. */
void *arena_alloc(struct arena *a, size_t size);
/* Uninitialised memory: pages that are never written cost no time. */
void *arena_room(struct arena *a, size_t size);
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc_array((a), (size_t)(n), sizeof(type)))
void *arena_alloc_array(struct arena *a, size_t count,
                        size_t size); /* overflow counts as a failure */
void *arena_copy(struct arena *a, const void *data, size_t size);
char *arena_string(struct arena *a, const char *text,
                   size_t length); /* copies and ends with '\0' */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
char *
arena_printf(struct arena *a, const char *format, ...);
char *arena_vprintf(struct arena *a, const char *format, va_list args);

/* Growable arrays of any element type: struct { T *data; size_t count, capacity; } — `vec_push(a,
 * &v, value)`. */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *data;                                                                                \
        size_t count, capacity;                                                                    \
    }
#define vec_push(a, v, value)                                                                      \
    ((v)->data = vec_room((a), (v)->data, (v)->count, &(v)->capacity, sizeof *(v)->data),          \
     (v)->data[(v)->count++] = (value))
void *vec_room(struct arena *a, void *data, size_t count, size_t *capacity, size_t size);

#endif

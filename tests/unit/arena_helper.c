#include "arena_helper.h"

struct arena arena;
static jmp_buf out_of_memory;

int arena_set_up(void **state)
{
    (void)state;
    arena_init(&arena, &allocator_libc, &out_of_memory);
    return 0;
}

int arena_tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

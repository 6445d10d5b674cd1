/* The arena: alignment, zeroing, growth, and memory that runs out. */
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

/* An allocator that fails after `left` allocations; it counts the memory not given back, in the
 * sizes that the arena passes. */
struct scarce {
    int left;
    size_t blocks, bytes;
};

static void *scarce_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct scarce *s = user;
    if (size == 0) {
        s->blocks--;
        s->bytes -= old_size;
        return allocator_libc.resize(NULL, ptr, old_size, 0);
    }
    if (s->left-- <= 0)
        return NULL;
    s->blocks++;
    s->bytes += size;
    void *got = allocator_libc.resize(NULL, NULL, 0, size);
    memset(got, 0xa5, size); /* zeroing is the arena's work */
    return got;
}

static void pieces_are_aligned_zeroed_and_apart(void **state)
{
    (void)state;
    struct scarce s = {.left = 1000};
    struct allocator allocator = {scarce_resize, &s, NULL};
    jmp_buf failed;
    struct arena a;
    arena_init(&a, &allocator, &failed);
    assert_int_equal(setjmp(failed), 0);
    unsigned char *last = NULL;
    size_t total = 0;
    for (size_t size = 0; size < 3000; size += 7) {
        unsigned char *p = arena_alloc(&a, size);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_ptr_not_equal(p, last);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
        last = p;
        total += size;
    }
    assert_int_equal(a.used, total);
    arena_free(&a);
    assert_int_equal(s.blocks, 0);
    assert_int_equal(s.bytes, 0);
}

static void a_large_piece_leaves_the_head_in_use(void **state)
{
    (void)state;
    struct scarce s = {.left = 2};
    struct allocator allocator = {scarce_resize, &s, NULL};
    jmp_buf failed;
    struct arena a;
    arena_init(&a, &allocator, &failed);
    assert_int_equal(setjmp(failed), 0);
    arena_alloc(&a, 16);
    arena_alloc(&a, 1 << 22);
    for (int i = 0; i < 50; i++)
        arena_alloc(&a, 16); /* no third block */
    assert_int_equal(s.blocks, 2);
    arena_free(&a);
}

static void failure_goes_to_the_recovery_point(void **state)
{
    (void)state;
    for (volatile int left = 0; left < 6; left++) {
        struct scarce s = {.left = left};
        struct allocator allocator = {scarce_resize, &s, NULL};
        jmp_buf failed;
        struct arena a;
        arena_init(&a, &allocator, &failed);
        if (setjmp(failed) == 0) {
            for (;;)
                arena_alloc(&a, 1000);
        }
        assert_int_equal(s.blocks, left);
        arena_free(&a);
        assert_int_equal(s.blocks, 0);
    }
}

static void sizes_that_overflow_fail(void **state)
{
    (void)state;
    jmp_buf failed;
    struct arena a;
    arena_init(&a, &allocator_libc, &failed);
    volatile int failures = 0;
    if (setjmp(failed) == 0)
        arena_alloc_array(&a, SIZE_MAX / 2, 4);
    else
        failures++;
    if (setjmp(failed) == 0)
        arena_alloc(&a, SIZE_MAX - 8);
    else
        failures++;
    assert_int_equal(failures, 2);
    arena_free(&a);
}

static void copies_and_text(void **state)
{
    (void)state;
    jmp_buf failed;
    struct arena a;
    arena_init(&a, NULL, &failed);
    assert_int_equal(setjmp(failed), 0);
    assert_string_equal(arena_string(&a, "tile kernel", 4), "tile");
    assert_string_equal(arena_string(&a, NULL, 0), "");
    assert_string_equal(arena_printf(&a, "%s[%d]", "acc", 128), "acc[128]");
    const int numbers[] = {3, 1, 4};
    int *copy = arena_copy(&a, numbers, sizeof numbers);
    assert_memory_equal(copy, numbers, sizeof numbers);
    arena_free(&a);
}

static void a_vector_grows(void **state)
{
    (void)state;
    jmp_buf failed;
    struct arena a;
    arena_init(&a, &allocator_libc, &failed);
    assert_int_equal(setjmp(failed), 0);
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++)
        vec_push(&a, &v, i * i);
    assert_int_equal(v.count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v.data[i], i * i);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_zeroed_and_apart),
        cmocka_unit_test(a_large_piece_leaves_the_head_in_use),
        cmocka_unit_test(failure_goes_to_the_recovery_point),
        cmocka_unit_test(sizes_that_overflow_fail),
        cmocka_unit_test(copies_and_text),
        cmocka_unit_test(a_vector_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

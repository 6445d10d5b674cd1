/* The builder of thread IR makes equal operations once, in each region. */
#include "arena_helper.h"
#include "thread/thread_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct thread_builder builder;

static int set_up(void **state)
{
    arena_set_up(state);
    thread_build_start(&builder, &arena, "f", (struct ptx_target){.number = 80});
    return 0;
}

static struct thread_value *lane_and(int64_t more)
{
    struct thread_value *lane =
        thread_add_counted(&builder, THREAD_LANE, DT_NONE, DT_NONE, 0, NULL, 0);
    return THREAD_ADD_OP(&builder, THREAD_ADD, DT_U32, DT_NONE, thread_use(lane),
                         thread_integer(more));
}

/* Begins the region of an `if`. Returns the region around it. */
static struct thread_region *begin_if(void)
{
    struct thread_region *outer = builder.region;
    struct thread_operation *o = thread_add_control(&builder, THREAD_IF);
    builder.region = arena_new(&arena, struct thread_region);
    vec_push(&arena, &o->regions, builder.region);
    return outer;
}

static void equal_operations_are_one(void **state)
{
    (void)state;
    struct thread_value *v = lane_and(1);
    assert_ptr_equal(lane_and(1), v);
    assert_ptr_not_equal(lane_and(2), v);
    assert_int_equal(builder.region->operations.count, 3);
}

static void other_regions_have_their_own(void **state)
{
    (void)state;
    struct thread_region *outer = begin_if();
    struct thread_value *v = lane_and(1);
    builder.region = outer;
    begin_if();
    assert_ptr_not_equal(lane_and(1), v);
    builder.region = outer;
    assert_ptr_not_equal(lane_and(1), v);
}

/* The region is filled further when an operation follows its `if`. */
static void later_operations_do_not_serve(void **state)
{
    (void)state;
    struct thread_region *outer = begin_if(), *inner = builder.region;
    builder.region = outer;
    struct thread_value *v = lane_and(1);
    builder.region = inner;
    assert_ptr_not_equal(lane_and(1), v);
}

static void cut_operations_do_not_serve(void **state)
{
    (void)state;
    struct thread_value *v = lane_and(1);
    builder.region->operations.count = 0;
    assert_ptr_not_equal(lane_and(1), v);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, arena_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(equal_operations_are_one), TEST(other_regions_have_their_own),
        TEST(later_operations_do_not_serve), TEST(cut_operations_do_not_serve)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

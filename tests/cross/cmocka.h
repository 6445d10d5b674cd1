/* Replaces cmocka where tests are compiled for another machine, because few machines have a
 * package of it: the functions that the tests use, with the same names. */
#ifndef TW_CROSS_CMOCKA_H
#define TW_CROSS_CMOCKA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
    int (*setup)(void **state), (*teardown)(void **state);
};
#define cmocka_unit_test(f) cmocka_unit_test_setup_teardown(f, NULL, NULL)
#define cmocka_unit_test_setup(f, setup) cmocka_unit_test_setup_teardown(f, setup, NULL)
#define cmocka_unit_test_setup_teardown(f, setup, teardown)                                        \
    {                                                                                              \
#f, f, setup, teardown                                                                     \
    }

/* How many failed. */
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cross_run(tests, sizeof(tests) / sizeof *(tests), setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
    cmocka_run_group_tests(tests, setup, teardown)
int cross_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state),
              int (*teardown)(void **state));

/* Both end the test. */
_Noreturn void cross_fail(const char *file, int line, const char *format, ...);
_Noreturn void cross_skip(void);
void cross_int(const char *file, int line, uintmax_t a, uintmax_t b, bool equal);
void cross_string(const char *file, int line, const char *a, const char *b, bool equal);
void cross_memory(const char *file, int line, const void *a, const void *b, size_t n, bool equal);

#define fail_msg(...) cross_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail() fail_msg("fails")
#define skip() cross_skip()
#define print_message(...) ((void)printf(__VA_ARGS__))
#define print_error(...) ((void)fprintf(stderr, __VA_ARGS__))

#define assert_true(x) ((x) ? (void)0 : fail_msg("%s", #x))
#define assert_false(x) assert_true(!(x))
#define assert_null(x) assert_true((x) == NULL)
#define assert_non_null(x) assert_true((x) != NULL)
#define assert_ptr_equal(a, b) assert_true((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b) assert_true((const void *)(a) != (const void *)(b))
#define assert_int_equal(a, b) cross_int(__FILE__, __LINE__, (uintmax_t)(a), (uintmax_t)(b), true)
#define assert_int_not_equal(a, b)                                                                 \
    cross_int(__FILE__, __LINE__, (uintmax_t)(a), (uintmax_t)(b), false)
#define assert_in_range(x, low, high)                                                              \
    assert_true((uintmax_t)(x) >= (uintmax_t)(low) && (uintmax_t)(x) <= (uintmax_t)(high))
#define assert_float_equal(a, b, most)                                                             \
    assert_true((double)(a) - (double)(b) <= (double)(most) &&                                     \
                (double)(b) - (double)(a) <= (double)(most))
#define assert_string_equal(a, b) cross_string(__FILE__, __LINE__, a, b, true)
#define assert_string_not_equal(a, b) cross_string(__FILE__, __LINE__, a, b, false)
#define assert_memory_equal(a, b, n) cross_memory(__FILE__, __LINE__, a, b, n, true)
#define assert_memory_not_equal(a, b, n) cross_memory(__FILE__, __LINE__, a, b, n, false)

#endif

/* A context with a counting allocator, a module and a launch: the common beginning of tests of
 * the public interface. */
#ifndef API_HELPER_H
#define API_HELPER_H

#include "tilewright.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A product of two types, with tuned values, a requirement and `ensures`. */
extern const char api_matmul[];

/* An allocator that counts, and fails from a chosen call on. */
struct counting {
    long live;      /* bytes */
    long calls;     /* allocations so far */
    long fail_from; /* the first call that fails, with all after it; negative: none */
};
void *counting_resize(void *user, void *ptr, size_t old_size, size_t size);

enum { M = 19, N = 21, K = 10 };

struct fixture {
    struct counting memory;
    tw_config config;
    tw_context *ctx;
    tw_module *module;
    tw_launch *launch;
    float a[M * K], b[K * N], c[M * N];
    char printed[256];
};
/* For cmocka: api_setup makes *state a struct fixture with a context; api_teardown checks that
 * all memory was given back. */
int api_setup(void **state);
int api_teardown(void **state);

void succeed(struct fixture *f, tw_status status);
/* Checks that the call failed with this status and that its messages contain `text`. */
void refused(struct fixture *f, tw_status status, tw_status expected, const char *text);
/* Compiles the text as the fixture's module, and makes a launch of its first kernel. */
void load(struct fixture *f, const char *text);
/* Gives a launch of api_matmul the arrays a and b, or all three. */
void give_inputs(struct fixture *f);
void give_all(struct fixture *f);

tw_array array(void *data, tw_dtype t, int rank, int64_t rows, int64_t columns);
tw_value integer(int64_t v);

#endif

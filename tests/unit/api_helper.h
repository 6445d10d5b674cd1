/* A context with a counting allocator, a module and a launch: what tests of the public interface
 * begin with. */
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

/* An allocator that counts, and fails when told. */
struct counting {
    long live;      /* bytes */
    long calls;     /* allocations so far */
    long fail_from; /* the call that fails, and all after it; negative: none */
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
/* For cmocka: *state is a struct fixture with a context; all memory must have been given back at
 * the end. */
int api_setup(void **state);
int api_teardown(void **state);

void succeed(struct fixture *f, tw_status status);
/* The call failed with this status, and its messages contain `text`. */
void refused(struct fixture *f, tw_status status, tw_status expected, const char *text);
/* The module of that text, and a launch of its first kernel. */
void load(struct fixture *f, const char *text);

tw_array array(void *data, tw_dtype t, int rank, int64_t rows, int64_t columns);
tw_value integer(int64_t v);

#endif

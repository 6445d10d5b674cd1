#include "api_helper.h"

#include <stdlib.h>
#include <string.h>

const char api_matmul[] =
    "type T = {f32, f16};\n"
    "tune (BM, BN) = {(16, 16), (32, 8), (8, 8)};\n"
    "tune BK = {8, 16};\n"
    "require(BM * BK <= 256);\n"
    "kernel matmul(i32 m, static i32 n, static i32 k, const T *a, const T *b, T *c)\n"
    "    grid(cdiv(m, BM), cdiv(n, BN)) warps(1)\n"
    "{\n"
    "    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    shared T sa[BM][BK], sb[BK][BN];\n"
    "    i32 i = block.x * BM, j = block.y * BN;\n"
    "    reg f32 acc[BM][BN] = 0;\n"
    "    for (i32 p = 0; p < k; p += BK) {\n"
    "        sa = A[i +: BM][p +: BK];\n"
    "        sb = B[p +: BK][j +: BN];\n"
    "        sync();\n"
    "        acc += dot(sa, sb);\n"
    "        sync();\n"
    "    }\n"
    "    C[i +: BM][j +: BN] = (T) acc;\n"
    "    ensures C == dot(A, B);\n"
    "}\n";

void *counting_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct counting *c = user;
    if (size == 0) {
        c->live -= ptr ? (long)old_size : 0;
        free(ptr);
        return NULL;
    }
    long call = c->calls++;
    if (c->fail_from >= 0 && call >= c->fail_from)
        return NULL;
    void *block = realloc(ptr, size);
    if (block)
        c->live += (long)size - (ptr ? (long)old_size : 0);
    return block;
}

int api_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->memory.fail_from = -1;
    f->config = (tw_config){.size = sizeof(tw_config),
                            .resize = counting_resize,
                            .resize_user = &f->memory,
                            .threads = 1};
    for (int i = 0; i < M * K; i++)
        f->a[i] = (float)(i % 7) - 3;
    for (int i = 0; i < K * N; i++)
        f->b[i] = (float)(i % 5) * 0.25f;
    assert_int_equal(tw_context_new(&f->config, &f->ctx), TW_OK);
    *state = f;
    return 0;
}

int api_teardown(void **state)
{
    struct fixture *f = *state;
    tw_context_free(f->ctx);
    assert_int_equal(f->memory.live, 0);
    free(f);
    return 0;
}

void succeed(struct fixture *f, tw_status status)
{
    if (status != TW_OK)
        fail_msg("%s: %s", tw_status_name(status), tw_context_messages(f->ctx));
}

/* Checks that the call failed with this status and that its messages contain `text`. */
void refused(struct fixture *f, tw_status status, tw_status expected, const char *text)
{
    const char *said = tw_context_messages(f->ctx);
    if (status != expected || !strstr(said, text))
        fail_msg("got %s: %s\nexpected %s: …%s…", tw_status_name(status), said,
                 tw_status_name(expected), text);
}

void load(struct fixture *f, const char *text)
{
    succeed(f, tw_module_from_text(f->ctx, "test.tile", text, strlen(text), &f->module));
    succeed(f, tw_launch_new(tw_module_kernel_at(f->module, 0), &f->launch));
}

tw_array array(void *data, tw_dtype t, int rank, int64_t rows, int64_t columns)
{
    return (tw_array){
        .size = sizeof(tw_array), .data = data, .dtype = t, .rank = rank, .shape = {rows, columns}};
}

tw_value integer(int64_t v)
{
    return tw_int(v);
}

void give_inputs(struct fixture *f)
{
    tw_array a = array(f->a, TW_F32, 2, M, K), b = array(f->b, TW_F32, 2, K, N);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "b", &b));
}

void give_all(struct fixture *f)
{
    tw_array c = array(f->c, TW_F32, 2, M, N);
    give_inputs(f);
    succeed(f, tw_launch_array(f->launch, "c", &c));
}

/* The daily work of an engine: threads compile and launch different kernels at the same time,
 * with a context each and one entry for all. It runs 2 seconds, every kernel at least once; 60
 * with TW_TEST_LONG. ThreadSanitizer must find nothing (./dev test --all). */
#include "api_helper.h"
#include "tilewright_entry.h"
#include "tilewright_look.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 8, LENGTH = 300 };

/* A kernel that differs for each thread and round: `%d` is a number of the text. */
struct pattern {
    const char *text;
    int rank, rows, columns; /* of a and c */
};
static const struct pattern patterns[] = {
    /* by elements, through shared memory */
    {"tune B = {32, 64};\n"
     "kernel k(i32 n, f32 by, const f32 *a, f32 *c) grid(cdiv(n, B)) warps(1)\n"
     "{\n"
     "    global f32 A[n] = a, C[n] = c;\n"
     "    shared f32 s[B];\n"
     "    s = A[block.x * B +: B];\n"
     "    sync();\n"
     "    reg f32 x[B] = s;\n"
     "    C[block.x * B +: B] = max(x, %d) * by;\n"
     "    ensures C == max(A, %d) * by;\n"
     "}\n",
     1, LENGTH, 0},
    /* a product whose operands blocks pack for each other */
    {"kernel k(i32 n, f32 by, const f32 *a, f32 *c) grid(cdiv(n, 4), cdiv(n, 8)) warps(1)\n"
     "{\n"
     "    global f32 A[n][n] = a, C[n][n] = c;\n"
     "    shared f32 sa[4][8], sb[8][8];\n"
     "    reg f32 acc[4][8] = %d;\n"
     "    for (i32 p = 0; p < n; p += 8) {\n"
     "        sa = A[block.x * 4 +: 4][p +: 8];\n"
     "        sb = A[p +: 8][block.y * 8 +: 8];\n"
     "        sync();\n"
     "        acc += dot(sa, sb);\n"
     "        sync();\n"
     "    }\n"
     "    C[block.x * 4 +: 4][block.y * 8 +: 8] = acc * by;\n"
     "    ensures C == (dot(A, A) + %d) * by;\n"
     "}\n",
     2, 17, 17},
    /* reduced rows, and functions of them */
    {"kernel k(static i32 n, f32 by, const f32 *a, f32 *c) grid(3) warps(1)\n"
     "{\n"
     "    global f32 A[12][n] = a, C[12][n] = c;\n"
     "    reg f32 x[4][n] = A[block.x * 4 +: 4][0 +: n];\n"
     "    x = exp((x - max(x, axis = 1)) * by);\n"
     "    C[block.x * 4 +: 4][0 +: n] = x / sum(x, axis = 1) + %d;\n"
     "    ensures C == exp((A - max(A, axis = 1)) * by) /\n"
     "                 sum(exp((A - max(A, axis = 1)) * by), axis = 1) + %d;\n"
     "}\n",
     2, 12, 25},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

static const char entry_text[] =
    "kernel twice(i32 n, const f32 *a, f32 *c) grid(cdiv(n, 32)) warps(1)\n"
    "{\n"
    "    global f32 A[n] = a, C[n] = c;\n"
    "    C[block.x * 32 +: 32] = A[block.x * 32 +: 32] * 2;\n"
    "}\n";

struct worker {
    int index;
    tw_entry *entry; /* of all */
    double until;
    float a[LENGTH], c[LENGTH];
    long rounds;
    char wrong[512]; /* the first error */
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void done(void *user, tw_launch *l, tw_status status)
{
    (void)l;
    atomic_fetch_add((atomic_int *)user, status == TW_OK);
}

static tw_status set_up(struct worker *w, const struct pattern *p, tw_launch *l)
{
    tw_array a = array(w->a, TW_F32, p->rank, p->rows, p->columns);
    tw_array c = array(w->c, TW_F32, p->rank, p->rows, p->columns);
    tw_status s = tw_launch_array(l, "a", &a);
    s = s == TW_OK ? tw_launch_array(l, "c", &c) : s;
    return s == TW_OK ? tw_launch_set(l, "by", tw_float(0.5)) : s;
}

/* Runs one text in a context of its own: at once, in the background, for a GPU. */
static tw_status one_kernel(struct worker *w, tw_context *ctx, const struct pattern *p, int number)
{
    char text[1024];
    const char *ptx;
    atomic_int ended = 0;
    tw_module *m;
    tw_kernel *gpu;
    tw_launch *l = NULL, *other = NULL;
    snprintf(text, sizeof text, p->text, number, number);
    tw_status s = tw_module_from_text(ctx, "k.tile", text, strlen(text), &m);
    s = s == TW_OK ? tw_launch_new(tw_module_kernel_at(m, 0), &l) : s;
    s = s == TW_OK ? set_up(w, p, l) : s;
    s = s == TW_OK ? tw_launch_run(l) : s;
    s = s == TW_OK ? tw_launch_begin(l, done, &ended) : s;
    s = s == TW_OK ? tw_kernel_for_target(tw_module_kernel_at(m, 0), "sm_90", &gpu) : s;
    s = s == TW_OK ? tw_launch_new(gpu, &other) : s;
    s = s == TW_OK ? tw_launch_show_stage(other, TW_STAGE_PTX, &ptx) : s;
    s = s == TW_OK ? tw_launch_wait(l) : s;
    s = s == TW_OK ? tw_launch_verify(l, NULL) : s;
    if (s == TW_OK && atomic_load(&ended) != 1)
        s = TW_WRONG_VALUES;
    tw_launch_free(other);
    tw_launch_free(l);
    tw_module_free(m);
    return s;
}

static void keep_wrong(struct worker *w, const char *where, tw_status s, const char *said)
{
    snprintf(w->wrong, sizeof w->wrong, "%s: %s: %.200s", where, tw_status_name(s), said);
}

static tw_status shared_entry(struct worker *w, int n)
{
    const tw_value args[] = {tw_int(n), tw_pointer(w->a), tw_pointer(w->c)};
    tw_error error = tw_error_init();
    tw_status s = tw_entry_start(w->entry, args, 3, NULL, &error);
    for (int i = 0; i < n && s == TW_OK; i++)
        s = w->c[i] == w->a[i] * 2 ? TW_OK : TW_WRONG_VALUES;
    if (s != TW_OK)
        keep_wrong(w, "the entry", s, error.text);
    return s;
}

static void *work(void *user)
{
    struct worker *w = user;
    tw_context *ctx;
    tw_status s = tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = 2}, &ctx);
    for (; s == TW_OK && (w->rounds < PATTERNS || seconds() < w->until); w->rounds++) {
        int number = 16 * w->index + (int)(w->rounds % 16);
        s = one_kernel(w, ctx, &patterns[w->rounds % PATTERNS], number);
        if (s != TW_OK)
            keep_wrong(w, "a kernel", s, tw_context_messages(ctx));
        else
            s = shared_entry(w, (int)(w->rounds % LENGTH));
    }
    tw_context_free(ctx);
    return NULL;
}

static void threads_compile_and_launch(void **state)
{
    (void)state;
    static struct worker workers[THREADS];
    pthread_t threads[THREADS];
    tw_context *ctx;
    tw_module *m;
    tw_launch *l;
    tw_entry *entry;
    assert_int_equal(tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = 3}, &ctx),
                     TW_OK);
    assert_int_equal(tw_module_from_text(ctx, "e.tile", entry_text, strlen(entry_text), &m), TW_OK);
    assert_int_equal(tw_launch_new(tw_module_kernel_at(m, 0), &l), TW_OK);
    assert_int_equal(tw_entry_new(l, &entry), TW_OK);
    double until = seconds() + (getenv("TW_TEST_LONG") ? 60 : 2);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.index = i, .entry = entry, .until = until};
        for (int j = 0; j < LENGTH; j++)
            workers[i].a[j] = (float)(j * 7 % 101) - 50;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_string_equal(workers[i].wrong, "");
        assert_true(workers[i].rounds > 0);
    }
    tw_context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_compile_and_launch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Profiles of the CPU engine: exact counts, results that do not change, and the reason for each
 * way that is not the fastest, with a twin that takes the fastest. */
#include "api_helper.h"
#include "tilewright_profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 300 };

static void launch_text(struct fixture *f, const char *text)
{
    if (f->launch)
        tw_launch_free(f->launch);
    tw_module_free(f->module);
    f->launch = NULL;
    f->module = NULL;
    load(f, text);
}

static tw_profile profile(struct fixture *f, int runs)
{
    tw_profile p = tw_profile_init();
    succeed(f, tw_launch_profile(f->launch, runs, &p));
    return p;
}

static void same(double got, double wanted)
{
    if (got != wanted)
        fail_msg("%.17g, expected %.17g", got, wanted);
}

static const tw_profile_part *kind_of(const tw_profile *p, const char *kind)
{
    for (int i = 0; i < p->kind_count; i++)
        if (strcmp(p->kinds[i].kind, kind) == 0)
            return &p->kinds[i];
    fail_msg("no kind %s", kind);
    return NULL;
}

static double read_in_line(const tw_profile *p, int line)
{
    for (int i = 0; i < p->line_count; i++)
        if (p->lines[i].line == line)
            return p->lines[i].read;
    return 0;
}

/* --- counts --- */

static const char product[] =
    "kernel product(i32 m, i32 n, i32 k, const f32 *a, const f32 *b, f32 *c)\n"
    "    grid(cdiv(m, 16), cdiv(n, 16)) warps(4)\n"
    "{\n"
    "    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    i32 i = block.x * 16, j = block.y * 16;\n"
    "    reg f32 s[16][16] = 0;\n"
    "    for (i32 p = 0; p < k; p += 8) {\n"
    "        reg f32 x[16][8] = A[i +: 16][p +: 8], y[8][16] = B[p +: 8][j +: 16];\n"
    "        s += dot(x, y);\n"
    "    }\n"
    "    C[i +: 16][j +: 16] = s;\n"
    "}\n";

static void test_counts_a_product(void **state)
{
    struct fixture *f = *state;
    launch_text(f, product);
    give_all(f);
    tw_profile p = profile(f, 2);
    /* 2 x 2 blocks: each reads its rows of A and its columns of B, without those past the edges */
    same(p.flops, 2 * 2.0 * M * N * K);
    same(p.read, 2 * 4.0 * (2 * M * K + 2 * N * K));
    same(p.written, 2 * 4.0 * M * N);
    same(p.array_bytes, 4.0 * (M * K + K * N + M * N));
    assert_int_equal(p.launches, 2);
    assert_int_equal(p.blocks, 2 * 4);
    assert_int_equal(p.product_count, 1);
    assert_int_equal(p.products[0].line, 9);
    assert_int_equal(p.products[0].runs, 2 * 4 * 2);
    same(p.products[0].flops, p.flops);
    assert_int_equal(p.products[0].left[TW_OPERAND_PLAIN], 0);
    assert_int_equal(p.reason_count, 0);
    assert_string_equal(p.products[0].type, "f32");
    same(kind_of(&p, "product")->flops, p.flops);
    same(kind_of(&p, "store")->written, p.written);
    same(kind_of(&p, "packing")->read, p.read);
    double shares = 0, lines = 0, seconds = 0;
    for (int i = 0; i < p.step_count; i++)
        shares += p.steps[i].share;
    for (int i = 0; i < p.line_count; i++) {
        lines += p.lines[i].flops;
        assert_true(i == 0 || p.lines[i].line > p.lines[i - 1].line);
    }
    for (int i = 0; i < p.kind_count; i++)
        seconds += p.kinds[i].seconds;
    assert_true(fabs(shares - 1) < 1e-9);
    assert_true(fabs(seconds - p.thread_seconds) < 1e-9 * (1 + seconds));
    same(lines, p.flops);
}

static void test_counts_elementwise(void **state)
{
    static float x[1000], y[1000];
    struct fixture *f = *state;
    launch_text(f, "kernel one(i32 n, const f32 *x, f32 *y) grid(cdiv(n, 64)) warps(1)\n{\n"
                   "    global f32 X[n] = x, Y[n] = y;\n    i32 i = block.x * 64;\n"
                   "    Y[i +: 64] = exp(X[i +: 64]) * 3 + 1;\n}\n");
    tw_array a = array(x, TW_F32, 1, 1000, 0), c = array(y, TW_F32, 1, 1000, 0);
    succeed(f, tw_launch_array(f->launch, "x", &a));
    succeed(f, tw_launch_array(f->launch, "y", &c));
    tw_profile p = profile(f, 1);
    same(p.flops, 3 * 1000); /* exp, and a fused multiply-add */
    same(p.read, 4 * 1000);
    same(p.written, 4 * 1000);
    same(kind_of(&p, "elementwise")->flops, p.flops);
}

static float row_in[ROWS][COLUMNS], row_out[ROWS][COLUMNS]; /* rows that kernels read and write */

/* Loads the kernel and gives it ROWS rows of COLUMNS. */
static void launch_rows(struct fixture *f, const char *text)
{
    launch_text(f, text);
    tw_array a = array(row_in, TW_F32, 2, ROWS, COLUMNS),
             c = array(row_out, TW_F32, 2, ROWS, COLUMNS);
    succeed(f, tw_launch_array(f->launch, "x", &a));
    succeed(f, tw_launch_array(f->launch, "y", &c));
}

static void test_counts_bound_rows(void **state)
{
    struct fixture *f = *state;
    launch_rows(f,
                "kernel rows(i32 rows, static i32 n, const f32 *x, f32 *y) grid(rows) warps(4)\n{\n"
                "    global f32 X[rows][n] = x, Y[rows][n] = y;\n"
                "    reg f32 v[n] = X[block.x];\n    v = exp(v - max(v));\n"
                "    Y[block.x] = v / sum(v);\n}\n");
    tw_profile p = profile(f, 1);
    assert_int_equal(p.blocks, ROWS);
    assert_int_equal(p.bound_blocks, ROWS);
    same(p.flops, 5.0 * ROWS * COLUMNS); /* max, -, exp, sum, / */
    same(p.read, 4.0 * ROWS * COLUMNS);
    same(p.written, 4.0 * ROWS * COLUMNS);
    same(row_out[3][5], 1.0F / COLUMNS);
    same(read_in_line(&p, 4), 0); /* line 5, which reads the row, takes the time of that */
    same(read_in_line(&p, 5), p.read);
}

/* A row that only some blocks read counts for those blocks. */
static void test_counts_rows_where_they_are_read(void **state)
{
    struct fixture *f = *state;
    launch_rows(f, "kernel rows(i32 rows, static i32 n, const f32 *x, f32 *y) grid(rows) warps(4)\n"
                   "{\n    global f32 X[rows][n] = x, Y[rows][n] = y;\n"
                   "    reg f32 v[n] = X[block.x];\n"
                   "    if (block.x % 4 == 0)\n"
                   "        Y[block.x] = v / sum(v);\n}\n");
    tw_profile p = profile(f, 1);
    assert_int_equal(p.bound_blocks, 0);
    same(read_in_line(&p, 4), 0);
    same(read_in_line(&p, 6), 4.0 * ROWS / 4 * COLUMNS);
    same(p.read, read_in_line(&p, 6));
}

static void test_counts_lanes(void **state)
{
    struct fixture *f = *state;
    launch_text(f, "kernel lanes(i32 m, i32 n, i32 k, const f32 *a, const f32 *b, f32 *c)\n"
                   "    grid(cdiv(n, 8), cdiv(m, 8)) threads(8, 8)\n{\n"
                   "    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
                   "    i32 row = block.y * 8 + thread.y, col = block.x * 8 + thread.x;\n"
                   "    if (row < m && col < n) {\n        f32 s = 0;\n"
                   "        for (i32 p = 0; p < k; p++)\n            s += A[row][p] * B[p][col];\n"
                   "        C[row][col] = s;\n    }\n}\n");
    give_all(f);
    tw_profile p = profile(f, 1);
    same(kind_of(&p, "product")->flops, 2.0 * M * N * K);
    same(p.written, 4.0 * M * N);
    assert_int_equal(p.reason_count, 0);
}

static void test_counts_weights(void **state)
{
    struct fixture *f = *state;
    static const float x[16][64] = {{1}}, scale[2][64] = {{1}};
    static const uint8_t w[32][64] = {{1}};
    static float y[16][64];
    launch_text(f, "kernel weights(const f32 *x, const u8 *w, const f32 *scale, f32 *y)\n"
                   "    grid(1) warps(4)\n{\n"
                   "    global f32 X[16][64] = x, Scale[2][64] = scale, Y[16][64] = y;\n"
                   "    global u8 W[32][64] = w;\n"
                   "    reg i32 shift[32][1] = (iota() & 1) * 4;\n"
                   "    reg f32 acc[16][64] = 0;\n"
                   "    for (i32 p = 0; p < 64; p += 32) {\n"
                   "        reg u8 packed[16][64] = W[p / 2 +: 16][0 +: 64];\n"
                   "        reg i32 q[32][64] = ((i32) repeat_interleave(packed, 2, 1) >> shift & "
                   "15) - 8;\n"
                   "        acc += dot(X[0 +: 16][p +: 32], (f32) q * Scale[p / 32 +: 1][0 +: "
                   "64]);\n    }\n"
                   "    Y[0 +: 16][0 +: 64] = acc;\n}\n");
    tw_array in[] = {tw_host_array(x, TW_F32, 16, 64), tw_host_array(w, TW_U8, 32, 64),
                     tw_host_array(scale, TW_F32, 2, 64), tw_host_array(y, TW_F32, 16, 64)};
    static const char *const names[] = {"x", "w", "scale", "y"};
    for (int i = 0; i < 4; i++)
        succeed(f, tw_launch_array(f->launch, names[i], &in[i]));
    tw_profile p = profile(f, 1);
    assert_int_equal(p.reason_count, 0);
    same(p.read, sizeof x + sizeof w + sizeof scale);
    same(y[0][0], -7); /* the lower half of a byte of 1, less 8 */
}

/* --- a profile changes nothing --- */

static void test_results_stay(void **state)
{
    struct fixture *f = *state;
    float before[M * N];
    launch_text(f, product);
    give_all(f);
    succeed(f, tw_launch_run(f->launch));
    memcpy(before, f->c, sizeof before);
    memset(f->c, 0, sizeof f->c);
    profile(f, 3);
    assert_memory_equal(before, f->c, sizeof before);
}

static void test_faults_stay(void **state)
{
    static float x[8];
    struct fixture *f = *state;
    launch_text(f, "kernel far(i32 n, const f32 *x, f32 *y) grid(1) warps(1)\n{\n"
                   "    global f32 X[n] = x, Y[n] = y;\n    f32 v = X[n + 1];\n    Y[0] = v;\n}\n");
    tw_array a = array(x, TW_F32, 1, 8, 0), c = array(f->c, TW_F32, 1, 8, 0);
    succeed(f, tw_launch_array(f->launch, "x", &a));
    succeed(f, tw_launch_array(f->launch, "y", &c));
    tw_profile p = tw_profile_init();
    refused(f, tw_launch_profile(f->launch, 1, &p), TW_FAULT, "index 9");
    assert_null(p.kernel);
}

static void test_refuses(void **state)
{
    struct fixture *f = *state;
    tw_profile p = tw_profile_init(), unmade = {0};
    tw_slow_path slow = tw_slow_path_init();
    tw_kernel *k;
    tw_launch *l;
    launch_text(f, product);
    give_all(f);
    assert_int_equal(tw_launch_profile(NULL, 1, &p), TW_BAD_ARGUMENT);
    refused(f, tw_launch_profile(f->launch, 0, &p), TW_BAD_ARGUMENT, "`runs` is less than 1");
    refused(f, tw_launch_profile(f->launch, 1, NULL), TW_BAD_ARGUMENT, "`out` NULL");
    refused(f, tw_launch_profile(f->launch, 1, &unmade), TW_BAD_ARGUMENT, "tw_profile_init");
    assert_int_equal(tw_launch_slow_path(NULL, 0, &slow), TW_BAD_ARGUMENT);
    refused(f, tw_launch_slow_path(f->launch, 0, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    assert_int_equal(tw_launch_slow_path(f->launch, -1, &slow), TW_NOT_FOUND);
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_80", &k));
    succeed(f, tw_launch_new(k, &l));
    refused(f, tw_launch_profile(l, 1, &p), TW_BAD_ARGUMENT, "is a GPU's");
    refused(f, tw_launch_slow_path(l, 0, &slow), TW_BAD_ARGUMENT, "is a GPU's");
    tw_launch_free(l);
    assert_string_equal(tw_operand_path_name(TW_OPERAND_IN_PLACE), "in place");
    assert_string_equal(tw_operand_path_name((tw_operand_path)99), "");
}

/* --- roofs --- */

static tw_cpu_roofs roofs(tw_context *ctx, bool measure)
{
    tw_cpu_roofs r = tw_cpu_roofs_init();
    if (tw_context_roofs(ctx, measure, &r) != TW_OK)
        fail_msg("%s", tw_context_messages(ctx));
    return r;
}

/* Changes one byte of the only file of the folder. */
static void damage(const char *path)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fputc('T', file);
    fclose(file);
}

static void test_keeps_roofs(void **state)
{
    (void)state;
    char folder[] = "/tmp/tilewright-roofs-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/roofs-2.txt", folder);
    tw_config config = tw_config_init();
    config.threads = 2;
    config.cache = folder;
    tw_context *ctx;
    assert_int_equal(tw_context_new(&config, &ctx), TW_OK);
    tw_cpu_roofs first = roofs(ctx, false), second = roofs(ctx, false);
    assert_false(first.kept);
    assert_true(second.kept);
    assert_int_equal(first.threads, 2);
    same(second.f32, first.f32);
    same(second.bandwidth[3], first.bandwidth[3]);
    assert_true(first.f32 > 1e8 && first.f64 > 1e8 && first.bandwidth[0] > 1e8 &&
                first.bandwidth[3] > 1e7);
    assert_false(roofs(ctx, true).kept);
    damage(path);
    assert_false(roofs(ctx, false).kept);
    assert_true(roofs(ctx, false).kept);
    assert_int_equal(tw_context_roofs(NULL, false, &first), TW_BAD_ARGUMENT);
    assert_int_equal(tw_context_roofs(ctx, false, NULL), TW_BAD_ARGUMENT);
    tw_context_free(ctx);
    remove(path);
    remove(folder);
}

/* --- reasons --- */

/* Kernels of one form: tiles x and y are filled by `fill`, and `body` follows in the loop. */
struct reason {
    const char *code, *parameters, *fill, *body;
    int cause_line;
};
static const struct reason reasons[] = {
    {NULL, "const f32 *a, const f32 *b", "x = A[i +: 16][p +: 8]; y = B[p +: 8][j +: 16];",
     "s += dot(x, y);", 0},
    {"tile-read", "const f32 *a, const f32 *b", "x = A[i +: 16][p +: 8]; y = B[p +: 8][j +: 16];",
     "s += dot(x, y); t += sum(x);", 9},
    {"tile-computed", "const f32 *a, const f32 *b",
     "x = A[i +: 16][p +: 8] * 2; y = B[p +: 8][j +: 16];", "s += dot(x, y);", 8},
    {"view-written", "f32 *a, const f32 *b", "x = A[i +: 16][p +: 8]; y = B[p +: 8][j +: 16];",
     "s += dot(x, y);", 8},
    {"tile-part", "const f32 *a, const f32 *b",
     "x = A[i +: 16][p +: 8] else 1; y = B[p +: 8][j +: 16];", "s += dot(x, y);", 8},
    {"two-forms", "const f32 *a, const f32 *b", "x = A[i +: 16][p +: 8]; y = B[p +: 8][j +: 16];",
     "s += dot(x, y); s += dot(trans(y), y);", 9},
    {"operand-view", "const f32 *a, const f32 *b", "y = B[p +: 8][j +: 16];",
     "s += dot(A[i +: 16][p +: 8] else 1, y);", 9},
    {"operand-computed", "const f32 *a, const f32 *b",
     "x = A[i +: 16][p +: 8]; y = B[p +: 8][j +: 16];", "s += dot(x * 2, y);", 9},
    {"sum-read", "const f32 *a, const f32 *b", "x = A[i +: 16][p +: 8]; y = B[p +: 8][j +: 16];",
     "s += dot(x, y); t += max(s);", 9},
};

static void make_reason(const struct reason *r, char *text, size_t room)
{
    snprintf(
        text, room,
        "kernel why(i32 m, i32 n, i32 k, %s, f32 *c) grid(cdiv(m, 16), cdiv(n, 16)) warps(4)\n{\n"
        "    global f32 A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
        "    i32 i = block.x * 16, j = block.y * 16; f32 t = 0;\n"
        "    reg f32 s[16][16] = 0;\n"
        "    shared f32 x[16][8], y[8][16];\n"
        "    for (i32 p = 0; p < k; p += 8) {\n"
        "        %s\n        sync(); %s sync();\n    }\n"
        "    C[i +: 16][j +: 16] = s + t;\n}\n",
        r->parameters, r->fill, r->body);
}

static void test_gives_reasons(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const struct reason *r = &reasons[i];
        char text[1024];
        bool found = false;
        make_reason(r, text, sizeof text);
        launch_text(f, text);
        give_all(f);
        tw_slow_path slow = tw_slow_path_init();
        for (int n = 0; tw_launch_slow_path(f->launch, n, &slow) == TW_OK; n++) {
            if (!r->code)
                fail_msg("%s: %s", slow.code, slow.reason);
            if (strcmp(slow.code, r->code) != 0)
                continue;
            found = true;
            assert_int_equal(slow.cause_line, r->cause_line);
            assert_true(slow.line >= 8 && slow.line <= 9);
            assert_null(strchr(slow.reason, '{'));
            assert_true(strlen(slow.way_out) > 10);
        }
        if (r->code && !found)
            fail_msg("no reason %s", r->code);
    }
}

static const struct {
    const char *code, *text;
} programs[] = {
    {"operand-type",
     "kernel k(const i32 *a, i32 *c) grid(1) warps(1)\n{\n"
     "    global i32 A[8][8] = a, C[8][8] = c;\n    reg i32 x[8][8] = A[0 +: 8][0 +: 8];\n"
     "    C[0 +: 8][0 +: 8] = dot(x, x);\n}\n"},
    {"sum-type", "kernel k(const f16 *a, f16 *c) grid(1) warps(1)\n{\n"
                 "    global f16 A[8][8] = a, C[8][8] = c;\n    reg f16 s[8][8] = 0;\n"
                 "    for (i32 p = 0; p < 2; p++) {\n"
                 "        reg f16 x[8][8] = A[0 +: 8][0 +: 8], y[8][8] = A[0 +: 8][0 +: 8];\n"
                 "        s = (f16) dot(x, y, s);\n    }\n    C[0 +: 8][0 +: 8] = s;\n}\n"},
    {"one-worker", "kernel k(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
                   "    global f32 A[n] = a, C[1] = c;\n    atomic_add(C[0], A[block.x]);\n}\n"},
    {"rows-steps", "kernel k(i32 n, const f32 *a, f32 *c) grid(n) warps(1)\n{\n"
                   "    global f32 A[n][512] = a, C[n][512] = c;\n"
                   "    if (block.x > 0) C[block.x] = A[block.x] * 2;\n}\n"},
    {"loop-form", "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(32)\n{\n"
                  "    global f32 A[n] = a, C[32] = c;\n    f32 s = 0, t = thread.x;\n"
                  "    for (i32 p = 0; p < n; p++) { s += A[p] * A[thread.x]; t = t / 2; }\n"
                  "    C[thread.x] = s + t;\n}\n"},
    {"loop-form", "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(32)\n{\n"
                  "    global f32 A[n] = a, C[32] = c;\n    f32 s = 0;\n"
                  "    for (i32 p = 0; p < n; p++)\n"
                  "        if (A[p] != 0) s += A[p] * A[thread.x];\n"
                  "    C[thread.x] = s;\n}\n"},
    {"loop-counter", "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(32)\n{\n"
                     "    global f32 A[n] = a, C[32] = c;\n    f32 s = 0;\n"
                     "    for (i32 p = 0; p < thread.x; p++) s += A[p] * A[thread.x];\n"
                     "    C[thread.x] = s;\n}\n"},
    {"loop-factor", "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(32)\n{\n"
                    "    global f32 A[n] = a, C[32] = c;\n    f32 s = thread.x;\n"
                    "    i32 q = thread.x * thread.x;\n"
                    "    for (i32 p = 0; p < n; p++) s += A[p] * A[p + q];\n"
                    "    C[thread.x] = s;\n}\n"},
    {"loop-sum", "kernel k(i32 n, const f32 *a, f32 *c) grid(1) threads(32)\n{\n"
                 "    global f32 A[n] = a, C[32] = c;\n    f32 s = 0;\n"
                 "    for (i32 p = 0; p < n; p++) s += A[p] * A[p];\n    C[thread.x] = s;\n}\n"},
};

static void test_gives_reasons_of_programs(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        bool found = false;
        launch_text(f, programs[i].text);
        tw_launch_set(f->launch, "n", integer(100));
        tw_slow_path slow = tw_slow_path_init();
        tw_status s = TW_OK;
        for (int n = 0; (s = tw_launch_slow_path(f->launch, n, &slow)) == TW_OK; n++)
            found = found || strcmp(slow.code, programs[i].code) == 0;
        if (s != TW_NOT_FOUND)
            succeed(f, s);
        if (!found)
            fail_msg("no reason %s", programs[i].code);
    }
}

/* One reason for a computed operand, whether the call of `dot` converts it or not, with the name
 * that the source has. */
static void test_names_computed_tiles(void **state)
{
    struct fixture *f = *state;
    static const char *const types[] = {"f32", "f16"};
    for (int i = 0; i < 2; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "kernel k(const %s *a, f32 *c) grid(1) warps(1)\n{\n"
                 "    global %s A[16][16] = a; global f32 C[16][16] = c;\n"
                 "    for (i32 p = 0; p < 1; p++) {\n        reg f32 t[16][16] = 0;\n"
                 "        C[0 +: 16][0 +: 16] = t;\n    }\n"
                 "    reg f32 t[16][16] = 2;\n    reg %s b[16][16] = A[0 +: 16][0 +: 16];\n"
                 "    C[0 +: 16][0 +: 16] = dot((%s) t, b);\n}\n",
                 types[i], types[i], types[i], types[i]);
        launch_text(f, text);
        tw_slow_path slow = tw_slow_path_init();
        succeed(f, tw_launch_slow_path(f->launch, 0, &slow));
        assert_string_equal(slow.code, "tile-computed");
        assert_non_null(strstr(slow.reason, "`t` "));
        assert_int_equal(slow.cause_line, 8);
        assert_int_equal(tw_launch_slow_path(f->launch, 1, &slow), TW_NOT_FOUND);
    }
}

/* A row of a bias does not make the blocks of a product blocks of rows. */
static void test_products_are_no_rows(void **state)
{
    struct fixture *f = *state;
    launch_text(f, "kernel k(f32 *a, const f32 *b, f32 *c) grid(4) warps(1)\n{\n"
                   "    global f32 A[16][16] = a, B[256] = b, C[16][256] = c;\n"
                   "    reg f32 x[16][16] = A[0 +: 16][0 +: 16], s[16][256] = 0;\n"
                   "    for (i32 p = 0; p < 2; p++)\n"
                   "        s += dot(x, A[0 +: 16][0 +: 256]);\n"
                   "    C[0 +: 16][0 +: 256] = s + exp(B[0 +: 256] * 2);\n}\n");
    tw_slow_path slow = tw_slow_path_init();
    int count = 0;
    while (tw_launch_slow_path(f->launch, count, &slow) == TW_OK) {
        assert_string_not_equal(slow.code, "rows-steps");
        count++;
    }
    assert_true(count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts_a_product, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_counts_elementwise, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_counts_bound_rows, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_counts_rows_where_they_are_read, api_setup,
                                        api_teardown),
        cmocka_unit_test_setup_teardown(test_counts_lanes, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_counts_weights, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_results_stay, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_faults_stay, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_refuses, api_setup, api_teardown),
        cmocka_unit_test(test_keeps_roofs),
        cmocka_unit_test_setup_teardown(test_gives_reasons, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_gives_reasons_of_programs, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_names_computed_tiles, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_products_are_no_rows, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

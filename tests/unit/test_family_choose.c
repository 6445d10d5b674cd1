/* Tables of measured times, and the choices that follow from them. */
#include "family_helper.h"

#include "cuda_helper.h"
#include "tilewright_tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER(device, types)                                                                      \
    "{\"family\":\"products\",\"device\":\"" device "\",\"types\":\"" types                        \
    "\",\"version\":\"1.0.0\",\"sizes\":[\"m\",\"n\",\"k\"],\"variants\":["                        \
    "{\"kernel\":\"rows\",\"tune\":\"BM=8,WARPS=2\",\"resident\":4},"                              \
    "{\"kernel\":\"rows\",\"tune\":\"WARPS=1,BM=32\",\"resident\":2},"                             \
    "{\"kernel\":\"columns\",\"tune\":\"BN=16\",\"resident\":3}]}\n"

/* rows BM=8 is the fastest for few rows, columns for many. */
#define ROWS                                                                                       \
    "{\"at\":[16,64,64],\"us\":[10,20,30]}\n"                                                      \
    "{\"at\":[256,64,64],\"us\":[90,80.5,40]}\n"                                                   \
    "{\"at\":[1024,64,64],\"us\":[400,null,100]}\n"

struct choosing {
    struct fixture *f;
    tw_family *family;
    tw_choice choice;
    tw_error error;
};

static void put_products(void)
{
    put_file("rows.tile", product_rows, "rows");
    put_file("columns.tile", product_columns, "columns");
    put_file("products.tile", "family products { \"rows.tile\"; \"columns.tile\"; }\n");
}

static struct choosing load_products(void **state, const char *target)
{
    struct choosing c = {.f = *state, .choice = tw_choice_init(), .error = tw_error_init()};
    put_products();
    succeed(c.f,
            tw_family_from_file(c.f->ctx, file_path("products.tile"), NULL, target, &c.family));
    return c;
}

static void add_table(struct choosing *c, const char *text, const char *device)
{
    put_file("more.table", "%s", text);
    succeed(c->f, tw_family_add_table(c->family, file_path("more.table"), device));
}

static tw_status choose(struct choosing *c, int64_t m, int64_t n, int64_t k)
{
    tw_value args[] = {tw_int(m),        tw_int(n),        tw_int(k),
                       tw_pointer(NULL), tw_pointer(NULL), tw_pointer(NULL)};
    return tw_family_choose(c->family, args, 6, &c->choice, &c->error);
}

static void chosen(struct choosing *c, int64_t m, int64_t n, int64_t k, const char *variant,
                   tw_chosen_by by)
{
    tw_status status = choose(c, m, n, k);
    if (status != TW_OK)
        fail_msg("%s: %s", tw_status_name(status), c->error.text);
    assert_string_equal(c->choice.variant, variant);
    assert_int_equal(c->choice.by, by);
    assert_string_equal(c->choice.tune, strchr(variant, ' ') + 1);
}

/* --- tables --- */

static void results_choose(void **state)
{
    struct choosing c = load_products(state, NULL);
    add_table(&c, HEADER("a CPU, 4 cores, x86-64, avx2 routines", "T=f32") ROWS,
              "a CPU, 4 cores, x86-64, avx2 routines");
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    assert_true(c.choice.distance == 0 && fabs(c.choice.milliseconds - 0.01) < 1e-9);
    assert_string_equal(c.choice.nearest, "m=16,n=64,k=64");
    assert_int_equal(c.choice.compared, 3);
    assert_ptr_equal(c.choice.kernel, tw_family_kernel(c.family, 0));
    chosen(&c, 1024, 64, 64, "columns BN=16", TW_BY_RESULT);
    assert_int_equal(c.choice.compared, 2);
    chosen(&c, 32, 64, 64, "rows BM=8,WARPS=2", TW_BY_NEAREST);
    assert_string_equal(c.choice.nearest, "m=16,n=64,k=64");
    assert_true(fabs(c.choice.distance - 1) < 1e-9);
    chosen(&c, 2048, 64, 64, "columns BN=16", TW_BY_NEAREST);
}

/* The table next to the family's file, whose device is this one. */
static void a_family_has_a_table(void **state)
{
    struct fixture *f = *state;
    put_products();
    tw_device host = tw_device_init();
    assert_true(tw_device_at(0, &host));
    const char *threads = host.cores == 1 ? "" : ", on 1 thread";
    char table[4000];
    snprintf(table, sizeof table, HEADER("%s%s", "T=f32") ROWS, host.description, threads);
    put_file("products.table", "%s", table);
    struct choosing c = load_products(state, NULL);
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    put_file("products.table", "%s",
             HEADER("another CPU, 4 cores, x86-64, avx2 routines", "T=f32") ROWS);
    c = load_products(state, NULL);
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_MODEL);
    assert_string_equal(c.choice.device, "another CPU, 4 cores, x86-64, avx2 routines");
    put_file("products.table", "{\n");
    c = load_products(state, NULL);
    assert_non_null(strstr(tw_context_messages(f->ctx),
                           "products.table:1:1: warning: the table of the family `products` is "
                           "left out: this line of JSON is not complete"));
    chosen(&c, 16, 64, 64, "rows BM=16,WARPS=1", TW_BY_MODEL);
    refused(f, tw_family_add_table(c.family, file_path("products.table"), NULL), TW_BAD_PROGRAM,
            "products.table:1:1: error: this line of JSON is not complete");
}

static void lines_may_end_as_on_windows(void **state)
{
    struct choosing c = load_products(state, NULL);
    add_table(&c, "\r\n" HEADER("x", "T=f32") "\r\n{\"at\":[16,64,64],\"us\":[3,2,1]}\r\n\r\n",
              "x");
    chosen(&c, 16, 64, 64, "columns BN=16", TW_BY_RESULT);
}

/* On a machine without the GPU, a family takes the device of the first results that it can read. */
static void only_results_that_are_read_name_the_device(void **state)
{
    struct choosing c = load_products(state, "sm_90");
    put_file("more.table", "{\n");
    refused(c.f, tw_family_add_table(c.family, file_path("more.table"), "y"), TW_BAD_PROGRAM,
            "not complete");
    add_table(&c, HEADER("x", "T=f32") ROWS, "x");
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    assert_string_equal(c.choice.device, "x");
}

static void later_results_replace_earlier_ones(void **state)
{
    struct choosing c = load_products(state, NULL);
    add_table(&c, HEADER("x", "T=f32") ROWS, "x");
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    add_table(&c, HEADER("y", "T=f32") "{\"at\":[16,64,64],\"us\":[25,null,30]}\n", "y");
    chosen(&c, 16, 64, 64, "rows BM=32,WARPS=1", TW_BY_RESULT);
    chosen(&c, 256, 64, 64, "columns BN=16", TW_BY_RESULT);
}

static void types_have_their_own_results(void **state)
{
    struct choosing c = load_products(state, NULL);
    add_table(&c,
              HEADER("x", "T=f32") ROWS HEADER("x", "T=f16") "{\"at\":[16,64,64],\"us\":[3,2,1]}\n",
              "x");
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    succeed(c.f, tw_family_type(c.family, "T", TW_F16));
    chosen(&c, 16, 64, 64, "columns BN=16", TW_BY_RESULT);
    chosen(&c, 1024, 64, 64, "columns BN=16", TW_BY_NEAREST);
    succeed(c.f, tw_family_type(c.family, "T", TW_F32));
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
}

static void variants_are_listed(void **state)
{
    struct choosing c = load_products(state, NULL);
    add_table(&c, HEADER("x", "T=f32") ROWS HEADER("a CPU, 2 cores, x, y routines", "T=f32") ROWS,
              "x");
    add_table(&c, HEADER("z", "T=f16") ROWS, NULL);
    tw_choice v = tw_choice_init();
    static const char *const names[] = {"rows BM=8,WARPS=2", "rows BM=32,WARPS=1", "columns BN=16"};
    for (int all = 0; all < 2; all++) {
        for (int i = 0; i < 3; i++) {
            assert_true(tw_family_variant(c.family, i, all, &v));
            assert_string_equal(v.variant, names[i]);
        }
        assert_false(tw_family_variant(c.family, 3, all, &v));
    }
    assert_false(tw_family_variant(c.family, -1, true, &v));
    assert_false(tw_family_variant(NULL, 0, true, &v));
    succeed(c.f, tw_family_type(c.family, "T", TW_F16));
    assert_false(tw_family_variant(c.family, 0, false, &v));
    assert_true(tw_family_variant(c.family, 0, true, &v));
    assert_string_equal(v.device, "z");
}

static void damaged_tables_are_refused(void **state)
{
    struct choosing c = load_products(state, NULL);
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"x\n", "more.table:1:1: error: this is not JSON"},
        {HEADER("x", "T=f32") "{\"at\":[16,64],\"us\":[1,2,3]}\n",
         "more.table:2:7: error: 2 values for 3 sizes"},
        {HEADER("x", "T=f32") ROWS "{\"at\":[16,64,64],\"us\":[1,2]}\n",
         "more.table:5:23: error: 2 times for 3 variants"},
        {HEADER("x", "T=f32") "{\"at\":[16,64,6.5],\"us\":[1,2,3]}\n",
         "error: a size is an integer"},
        {HEADER("x", "T=f32") "{\"at\":[16,64,64],\"us\":[1,2,0]}\n", "a number above 0, or null"},
        {HEADER("x", "T=f32") "{\"at\":[16,64,64],\"us\":[1,2,\"3\"]}\n", "above 0, or null"},
        {HEADER("x", "T=f32") "{\"at\":[16,64,64],\"us\":[1,2,1e300]}\n",
         "more.table:2:28: error: a time is from 1.17549435e-38 to 3.40282347e+38 microseconds"},
        {HEADER("x", "T=f32") "{\"at\":[16,64,64],\"us\":[1,2,1e-300]}\n", "a time is from"},
        {HEADER("x\\u0000y", "T=f32"), "this is not JSON"},
        {HEADER("x", "T=f32") "{\"us\":[1,2,3]}\n", "\"at\" is missing: a list"},
        {HEADER("x", "T=f32") "[1]\n", "a line of a table is an object"},
        {HEADER("x", "T=f32") "{\"at\":[16,64,64],\"us\":[1,2,3],}\n", "this is not JSON"},
        {"{\"at\":[16,64,64],\"us\":[1,2,3]}\n", "a row before the first header"},
        {HEADER("x", "f32"), "\"types\" is a list like \"T=f16\""},
        {HEADER("x", "T=f33"), "\"types\" is a list"},
        {"{\"family\":\"sums\",\"device\":\"x\",\"types\":\"\",\"sizes\":[],\"variants\":[]}\n",
         "this is not a table of the family `products`"},
        {"{\"family\":\"products\",\"device\":\"x\",\"types\":\"\",\"sizes\":[\"m\",\"n\"],"
         "\"variants\":[]}\n",
         "the size `k` of the family `products` is missing"},
        {"{\"family\":\"products\",\"device\":\"x\",\"types\":\"\",\"sizes\":[\"m\",\"n\",\"m\"],"
         "\"variants\":[]}\n",
         "the size `m` is there twice"},
        {"{\"family\":\"products\",\"device\":\"x\",\"types\":\"\",\"sizes\":[\"m\",\"n\",\"a\"],"
         "\"variants\":[]}\n",
         "the family `products` has no such size"},
        {"{\"family\":\"products\",\"device\":7,\"types\":\"\",\"sizes\":[],\"variants\":[]}\n",
         "\"device\" should be a string"},
        {"{\"family\":\"products\",\"device\":\"x\",\"types\":\"\",\"sizes\":[\"m\",\"n\",\"k\"],"
         "\"variants\":[{\"kernel\":\"rows\"}]}\n",
         "\"tune\" is missing: a string"},
        {"{\"family\":\"products\",\"device\":\"x\",\"types\":\"\",\"sizes\":[\"m\",\"n\",\"k\"],"
         "\"variants\":[{\"kernel\":\"rows\",\"tune\":\"\",\"resident\":-1}]}\n",
         "\"resident\" is a number of blocks"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        put_file("more.table", "%s", wrong[i].text);
        refused(c.f, tw_family_add_table(c.family, file_path("more.table"), "x"), TW_BAD_PROGRAM,
                wrong[i].why);
    }
    tw_choice v = tw_choice_init();
    assert_false(tw_family_variant(c.family, 0, true, &v)); /* damaged files add nothing */
    refused(c.f, tw_family_add_table(c.family, file_path("none.table"), NULL), TW_NO_FILE,
            "cannot read the table");
    refused(c.f, tw_family_add_table(c.family, NULL, NULL), TW_BAD_ARGUMENT, "`path` is NULL");
    assert_int_equal(tw_family_add_table(NULL, "a", NULL), TW_BAD_ARGUMENT);
}

/* A table may be older than the family: other kernels and values are left out, with a warning. */
static void old_variants_are_ignored(void **state)
{
    struct choosing c = load_products(state, NULL);
    add_table(&c,
              "{\"family\":\"products\",\"device\":\"x\",\"types\":\"T=f32\",\"sizes\":[\"k\","
              "\"n\",\"m\"],"
              "\"variants\":[{\"kernel\":\"gone\",\"tune\":\"B=1\"},{\"kernel\":\"rows\",\"tune\":"
              "\"BN=2\"},"
              "{\"kernel\":\"rows\",\"tune\":\"BM=16\"}],\"later\":{}}\n"
              "{\"at\":[64,32,16],\"us\":[1,2,3],\"later\":[]}\n\n",
              "x");
    const char *said = tw_context_messages(c.f->ctx);
    assert_non_null(strstr(said, "warning: times of `gone` are ignored: the family has no such"));
    assert_non_null(strstr(said, "warning: times of `rows` are ignored: the kernel has no such"));
    chosen(&c, 16, 32, 64, "rows BM=16", TW_BY_RESULT);
    assert_int_equal(c.choice.compared, 1);
}

/* --- a store --- */

static void put_result(struct choosing *c, tw_store *s, int member, int64_t m, const char *name,
                       int value, const char *device, double milliseconds)
{
    tw_launch *l;
    tw_tuned row = tw_tuned_init();
    succeed(c->f, tw_launch_new(tw_family_kernel(c->family, member), &l));
    succeed(c->f, tw_launch_tune(l, name, tw_int(value)));
    succeed(c->f, tw_launch_set(l, "m", tw_int(m)));
    succeed(c->f, tw_launch_set(l, "n", tw_int(64)));
    succeed(c->f, tw_launch_set(l, "k", tw_int(64)));
    succeed(c->f, tw_launch_type(l, "T", TW_F32));
    succeed(c->f, tw_launch_tuning_key(l, device, &row));
    row.samples = milliseconds > 0 ? 3 : 0;
    row.milliseconds = milliseconds;
    row.status = milliseconds > 0 ? TW_OK : TW_WRONG_VALUES;
    succeed(c->f, tw_store_put(s, &row));
    tw_launch_free(l);
}

static void stored_results_choose(void **state)
{
    struct choosing c = load_products(state, NULL);
    tw_store *s;
    tw_status opened = tw_store_open(c.f->ctx, file_path("tuned.db"), &s);
    if (opened == TW_UNSUPPORTED)
        skip();
    succeed(c.f, opened);
    put_result(&c, s, 0, 16, "BM", 8, NULL, 0.5);
    put_result(&c, s, 0, 16, "BM", 16, NULL, 0.25);
    put_result(&c, s, 1, 16, "BN", 16, NULL, 0.75);
    put_result(&c, s, 1, 16, "BN", 32, NULL, 0);
    put_result(&c, s, 1, 16, "BN", 16, "another", 0.125);
    add_table(&c, HEADER("x", "T=f32") ROWS, NULL);
    succeed(c.f, tw_family_add_store(c.family, s, NULL));
    chosen(&c, 16, 64, 64, "rows BM=16,WARPS=1", TW_BY_RESULT);
    assert_int_equal(c.choice.compared, 3);
    succeed(c.f, tw_family_add_store(c.family, s, "another"));
    chosen(&c, 16, 64, 64, "columns BN=16", TW_BY_RESULT);
    assert_true(fabs(c.choice.milliseconds - 0.125) < 1e-9);
    refused(c.f, tw_family_add_store(c.family, NULL, NULL), TW_BAD_ARGUMENT, "`store` is NULL");
    assert_int_equal(tw_family_add_store(NULL, s, NULL), TW_BAD_ARGUMENT);
}

/* --- without results --- */

static void without_results_the_model_chooses(void **state)
{
    struct choosing c = load_products(state, NULL);
    chosen(&c, 16, 64, 64, "rows BM=16,WARPS=1", TW_BY_MODEL);
    assert_null(c.choice.device);
    assert_null(c.choice.nearest);
    assert_true(c.choice.milliseconds == 0 && c.choice.compared == 2);
    struct choosing gpu = load_products(state, "sm_90");
    assert_int_equal(choose(&gpu, 16, 64, 64), TW_OK);
    assert_int_equal(gpu.choice.by, TW_BY_MODEL);
    assert_null(gpu.choice.device);
}

/* Another device's variant may need more than this one has: the next one is taken. */
static void variants_that_the_target_refuses_are_left_out(void **state)
{
    struct choosing c = load_products(state, "sm_90");
    add_table(&c,
              "{\"family\":\"products\",\"device\":\"NVIDIA H200\",\"types\":\"T=f32\",\"sizes\":"
              "[\"m\",\"n\",\"k\"],\"variants\":[{\"kernel\":\"rows\",\"tune\":\"WARPS=64\"},"
              "{\"kernel\":\"columns\",\"tune\":\"BN=16\"}]}\n"
              "{\"at\":[16,64,64],\"us\":[1,2]}\n",
              NULL);
    chosen(&c, 16, 64, 64, "columns BN=16", TW_BY_MODEL);
    assert_string_equal(c.choice.device, "NVIDIA H200");
    chosen(&c, 16, 64, 128, "columns BN=16", TW_BY_MODEL);
}

static const char product_persistent[] =
    "type T = {f32, f16};\n"
    "kernel persistent(i32 m, i32 n, i32 k, const T *a, const T *b, T *c)\n"
    "    grid(device.sms) warps(1) target(sm_90a)\n"
    "{\n"
    "    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    for (i32 t = block.x; t < cdiv(m, 8) * cdiv(n, 16); t += grid.x) {\n"
    "        i32 i = t / cdiv(n, 16) * 8, j = t % cdiv(n, 16) * 16;\n"
    "        reg f32 acc[8][16] = 0;\n"
    "        for (i32 p = 0; p < k; p += 16) {\n"
    "            reg T x[8][16] = A[i +: 8][p +: 16], y[16][16] = B[p +: 16][j +: 16];\n"
    "            acc += dot(x, y);\n"
    "        }\n"
    "        C[i +: 8][j +: 16] = (T) acc;\n"
    "    }\n"
    "    ensures C == dot(A, B);\n"
    "}\n";

/* A kernel for one target is left out elsewhere; device.sms is not an argument of a family. */
static void kernels_for_one_target_are_members(void **state)
{
    struct choosing c = {.f = *state, .choice = tw_choice_init(), .error = tw_error_init()};
    put_file("persistent.tile", "%s", product_persistent);
    put_file("rows.tile", product_rows, "rows");
    put_file("some.tile", "family some { \"rows.tile\"; \"persistent.tile\"; }\n"
                          "family others { \"persistent.tile\"; \"rows.tile\"; }\n");
    for (int first = 0; first < 2; first++) {
        const char *name = first ? "others" : "some";
        succeed(c.f,
                tw_family_from_file(c.f->ctx, file_path("some.tile"), name, "sm_90", &c.family));
        succeed(c.f, tw_family_device(c.family, "h200"));
        assert_int_equal(choose(&c, 4096, 64, 64), TW_OK);
        assert_int_equal(c.choice.compared, 2);
        succeed(c.f,
                tw_family_from_file(c.f->ctx, file_path("some.tile"), name, "sm_80", &c.family));
        chosen(&c, 4096, 64, 64, "rows BM=16,WARPS=1", TW_BY_MODEL);
        assert_int_equal(c.choice.compared, 1);
    }
}

/* The model compares a kernel for one target that no table has with the results of the others. */
static void kernels_for_one_target_need_no_results(void **state)
{
    struct choosing c = {.f = *state, .choice = tw_choice_init(), .error = tw_error_init()};
    put_file("persistent.tile", "%s", product_persistent);
    put_file("rows.tile", product_rows, "rows");
    put_file("some.tile", "family some { \"rows.tile\"; \"persistent.tile\"; }\n");
    succeed(c.f, tw_family_from_file(c.f->ctx, file_path("some.tile"), NULL, "sm_90", &c.family));
    succeed(c.f, tw_family_device(c.family, "h200"));
    put_file("more.table", "%s",
             "{\"family\":\"some\",\"device\":\"NVIDIA H200\",\"types\":\"T=f32\",\"sizes\":"
             "[\"m\",\"n\",\"k\"],\"variants\":[{\"kernel\":\"rows\",\"tune\":\"BM=8\"}]}\n"
             "{\"at\":[4096,64,64],\"us\":[9000]}\n{\"at\":[16,64,64],\"us\":[0.01]}\n");
    succeed(c.f, tw_family_add_table(c.family, file_path("more.table"), NULL));
    assert_int_equal(choose(&c, 4096, 64, 64), TW_OK);
    assert_string_equal(c.choice.variant, "persistent");
    assert_true(c.choice.by == TW_BY_MODEL && c.choice.milliseconds < 9 && c.choice.compared == 2);
    chosen(&c, 16, 64, 64, "rows BM=8", TW_BY_RESULT);
}

/* The most similar one of several other devices counts; a CPU's results say nothing about a GPU. */
static void similar_devices_come_first(void **state)
{
    struct choosing c = load_products(state, "sm_90");
    add_table(&c,
              HEADER("a CPU, 4 cores, x86-64, avx2 routines", "T=f32")
                  ROWS HEADER("A100 SXM 80GB", "T=f32") ROWS HEADER("H100 SXM", "T=f32")
                      ROWS HEADER("H100 SXM", "T=f16") ROWS,
              NULL);
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_MODEL);
    assert_string_equal(c.choice.device, "H100 SXM");
    struct choosing host = load_products(state, NULL);
    add_table(&host, HEADER("H100 SXM", "T=f32") ROWS, NULL);
    assert_int_equal(choose(&host, 16, 64, 64), TW_OK);
    assert_null(host.choice.device);
    add_table(&host, HEADER("a CPU, 4 cores, x86-64, avx2 routines", "T=f32") ROWS, NULL);
    assert_int_equal(choose(&host, 16, 64, 64), TW_OK);
    assert_string_equal(host.choice.device, "a CPU, 4 cores, x86-64, avx2 routines");
}

/* A GPU that is not here, by a name of the model's table or by its driver's name. */
static void another_gpu_can_be_named(void **state)
{
    struct choosing c = load_products(state, "sm_90");
    add_table(&c, HEADER("NVIDIA H200", "T=f32") ROWS HEADER("NVIDIA GH200", "T=f32") ROWS, NULL);
    succeed(c.f, tw_family_device(c.family, "h200"));
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    assert_string_equal(c.choice.device, "NVIDIA H200");
    succeed(c.f, tw_family_device(c.family, "NVIDIA GH200"));
    chosen(&c, 256, 64, 64, "columns BN=16", TW_BY_RESULT);
    assert_string_equal(c.choice.device, "NVIDIA GH200");
    succeed(c.f, tw_family_device(c.family, "h100"));
    chosen(&c, 256, 64, 64, "columns BN=16", TW_BY_MODEL);
    assert_string_equal(c.choice.device, "NVIDIA H200");
    refused(c.f, tw_family_device(c.family, "a100"), TW_BAD_ARGUMENT,
            "A100 SXM 80GB does not run the family `products`, which is for sm_90");
    refused(c.f, tw_family_device(c.family, NULL), TW_BAD_ARGUMENT, "`device` is NULL");
    assert_int_equal(tw_family_device(NULL, "h100"), TW_BAD_ARGUMENT);
    struct choosing host = load_products(state, NULL);
    refused(host.f, tw_family_device(host.family, "h100"), TW_BAD_ARGUMENT, "is for the CPU");
}

/* Adds the products of parts of k in any order. */
static const char product_parts[] =
    "type T = {f32, f16};\n"
    "tune PARTS = {2, 4};\n"
    "kernel parts(i32 m, i32 n, static i32 k, const T *a, const T *b, T *c)\n"
    "    grid(cdiv(m, 8), cdiv(n, 16), PARTS) warps(1)\n"
    "{\n"
    "    global T A[m][k] = a, B[k][n] = b, C[m][n] = c;\n"
    "    global f32 sum[m][n] = 0;\n"
    "    global i32 count[cdiv(m, 8)][cdiv(n, 16)] = 0;\n"
    "    i32 i = block.x * 8, j = block.y * 16, part = cdiv(k, PARTS);\n"
    "    reg f32 acc[8][16] = 0;\n"
    "    for (i32 p = block.z * part; p < min(k, (block.z + 1) * part); p += 1)\n"
    "        acc += dot(A[i +: 8][p +: 1], B[p +: 1][j +: 16]);\n"
    "    atomic_add(sum[i +: 8][j +: 16], acc);\n"
    "    if (arrive(count[block.x][block.y]) == PARTS - 1)\n"
    "        C[i +: 8][j +: 16] = (T) sum[i +: 8][j +: 16];\n"
    "    ensures C == dot(A, B);\n"
    "}\n";

static void kernels_whose_sums_have_no_order_can_be_left_out(void **state)
{
    struct choosing c = {.f = *state, .choice = tw_choice_init(), .error = tw_error_init()};
    put_file("parts.tile", "%s", product_parts);
    put_file("rows.tile", product_rows, "rows");
    put_file("sums.tile", "family sums { \"parts.tile\"; \"rows.tile\"; }\n");
    succeed(c.f, tw_family_from_file(c.f->ctx, file_path("sums.tile"), NULL, NULL, &c.family));
    chosen(&c, 16, 64, 64, "parts PARTS=2", TW_BY_MODEL);
    succeed(c.f, tw_family_same_bits(c.family, true));
    chosen(&c, 16, 64, 64, "rows BM=16,WARPS=1", TW_BY_MODEL);
    put_file(
        "more.table", "%s",
        "{\"family\":\"sums\",\"device\":\"x\",\"types\":\"T=f32\",\"sizes\":[\"m\",\"n\",\"k\"],"
        "\"variants\":[{\"kernel\":\"parts\",\"tune\":\"PARTS=2\"},{\"kernel\":\"rows\","
        "\"tune\":\"BM=8,WARPS=2\"}]}\n{\"at\":[16,64,64],\"us\":[1,2]}\n");
    succeed(c.f, tw_family_add_table(c.family, file_path("more.table"), "x"));
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    succeed(c.f, tw_family_same_bits(c.family, false));
    chosen(&c, 16, 64, 64, "parts PARTS=2", TW_BY_RESULT);
    succeed(c.f, tw_family_from_file(c.f->ctx, file_path("parts.tile"), NULL, NULL, &c.family));
    succeed(c.f, tw_family_same_bits(c.family, true));
    assert_int_equal(choose(&c, 16, 64, 64), TW_BAD_ARGUMENT);
    assert_non_null(strstr(c.error.text, "on cpu with the same bits in each run"));
    assert_int_equal(tw_family_same_bits(NULL, true), TW_BAD_ARGUMENT);
}

/* A grid that no GPU takes leaves its variant out. */
static void grids_must_fit(void **state)
{
    struct choosing c = load_products(state, "sm_90");
    add_table(&c, HEADER("x", "T=f32") "{\"at\":[8388608,64,64],\"us\":[10,10,5]}\n", "x");
    chosen(&c, 65535 * 8, 64, 64, "columns BN=16", TW_BY_NEAREST);
    chosen(&c, 65536 * 8, 64, 64, "rows BM=8,WARPS=2", TW_BY_NEAREST); /* grid(…, cdiv(m, 8)) */
}

static void wrong_arguments_are_refused(void **state)
{
    struct choosing c = load_products(state, NULL);
    tw_value args[] = {tw_int(1),        tw_float(2),      tw_int(3),
                       tw_pointer(NULL), tw_pointer(NULL), tw_pointer(NULL)};
    assert_int_equal(tw_family_choose(c.family, args, 6, &c.choice, &c.error), TW_BAD_ARGUMENT);
    assert_non_null(strstr(c.error.text, "argument 2, `n` (i32): a float was given"));
    args[1] = tw_int(INT64_C(1) << 31);
    assert_int_equal(tw_family_choose(c.family, args, 6, &c.choice, &c.error), TW_BAD_ARGUMENT);
    assert_non_null(strstr(c.error.text, "argument 2, `n`: i32 cannot hold 2147483648"));
    assert_int_equal(tw_family_choose(c.family, args, 5, &c.choice, &c.error), TW_BAD_ARGUMENT);
    assert_non_null(strstr(c.error.text, "takes 6 arguments; 5 were given"));
    assert_int_equal(tw_family_choose(c.family, NULL, 6, &c.choice, &c.error), TW_BAD_ARGUMENT);
    assert_non_null(strstr(c.error.text, "`arguments` is NULL"));
    assert_int_equal(tw_family_choose(NULL, args, 6, &c.choice, NULL), TW_BAD_ARGUMENT);
    assert_int_equal(tw_family_choose(c.family, args, 6, NULL, NULL), TW_BAD_ARGUMENT);
    assert_int_equal(choose(&c, INT32_MAX, INT32_MAX, 1), TW_BAD_ARGUMENT);
    assert_non_null(strstr(c.error.text, "no kernel of the family `products` takes these"));
    assert_non_null(strstr(c.error.text, "; `rows`: ")); /* and why */
    assert_int_equal(choose(&c, 0, 16, 1), TW_OK);
    assert_int_equal(choose(&c, 16, 16, -1), TW_BAD_ARGUMENT);
    assert_non_null(strstr(c.error.text, "`k` is -1, but the length of an axis is at least 0"));
}

/* On a GPU, types with bf16 take the results with f16 if they have none of their own. */
static void bf16_takes_the_results_with_f16(void **state)
{
    struct choosing c = {.f = *state, .choice = tw_choice_init(), .error = tw_error_init()};
    for (int of_host = 0; of_host < 2; of_host++) {
        char text[2000];
        snprintf(text, sizeof text, product_columns, "columns");
        put_file("columns.tile", "type T = {bf16, %s", strstr(text, "f16"));
        put_file("products.tile", "family products { \"columns.tile\"; }\n");
        succeed(c.f, tw_family_from_file(c.f->ctx, file_path("products.tile"), NULL,
                                         of_host ? NULL : "sm_90", &c.family));
        add_table(&c, HEADER("x", "T=f16") ROWS, "x");
        succeed(c.f, tw_family_type(c.family, "T", TW_BF16));
        if (of_host) {
            assert_int_equal(choose(&c, 1024, 64, 64), TW_OK);
            assert_true(c.choice.by == TW_BY_MODEL && !c.choice.device && !c.choice.types);
            assert_false(tw_family_variant(c.family, 0, true, &c.choice));
            continue;
        }
        chosen(&c, 1024, 64, 64, "columns BN=16", TW_BY_RESULT);
        assert_string_equal(c.choice.types, "T=f16");
        assert_true(tw_family_variant(c.family, 0, true, &c.choice));
        assert_string_equal(c.choice.types, "T=f16");
        add_table(&c, HEADER("x", "T=bf16") "{\"at\":[64,64,64],\"us\":[30,20,10]}\n", "x");
        chosen(&c, 1024, 64, 64, "columns BN=16", TW_BY_NEAREST);
        assert_null(c.choice.types);
        succeed(c.f, tw_family_type(c.family, "T", TW_F16));
        chosen(&c, 1024, 64, 64, "columns BN=16", TW_BY_RESULT);
        assert_null(c.choice.types);
    }
}

/* --- for a launch --- */

static void a_launch_gets_a_choice(void **state)
{
    struct choosing c = load_products(state, NULL);
    tw_launch *l;
    add_table(&c, HEADER("x", "T=f32") ROWS, "x");
    succeed(c.f, tw_launch_new(tw_family_kernel(c.family, 1), &l));
    refused(c.f, tw_family_choose_for(c.family, l, &c.choice), TW_BAD_ARGUMENT,
            "`m` (i32) is not set");
    succeed(c.f, tw_launch_set(l, "m", tw_int(16)));
    succeed(c.f, tw_launch_set(l, "n", tw_int(64)));
    succeed(c.f, tw_launch_set(l, "k", tw_int(64)));
    succeed(c.f, tw_family_choose_for(c.family, l, &c.choice));
    assert_string_equal(c.choice.variant, "rows BM=8,WARPS=2");
    tw_launch *best;
    succeed(c.f, tw_family_launch(c.family, &c.choice, &best));
    assert_int_equal(tw_family_choose_for(NULL, l, &c.choice), TW_BAD_ARGUMENT);
    refused(c.f, tw_family_choose_for(c.family, l, NULL), TW_BAD_ARGUMENT, "`out` is NULL");
    load(c.f, api_matmul);
    refused(c.f, tw_family_choose_for(c.family, c.f->launch, &c.choice), TW_BAD_ARGUMENT,
            "not one of this family");
}

/* --- on a GPU --- */

static int gpu_setup(void **state)
{
    family_folder_make();
    return cuda_setup(state);
}

static int gpu_teardown(void **state)
{
    family_folder_remove();
    return cuda_teardown(state);
}

static void a_gpu_is_known_by_its_name(void **state)
{
    put_products();
    put_file("products.table", "%s",
             HEADER("simulator", "T=f32") ROWS HEADER("other", "T=f32") ROWS);
    struct choosing c = load_products(state, "cuda");
    chosen(&c, 16, 64, 64, "rows BM=8,WARPS=2", TW_BY_RESULT);
    assert_string_equal(c.choice.device, "simulator");
}

/* --- memory --- */

static tw_status use_family(tw_context *ctx)
{
    tw_family *family;
    tw_choice choice = tw_choice_init();
    tw_value args[] = {tw_int(16),       tw_int(64),       tw_int(64),
                       tw_pointer(NULL), tw_pointer(NULL), tw_pointer(NULL)};
    tw_status s = tw_family_from_file(ctx, file_path("products.tile"), NULL, NULL, &family);
    if (s == TW_OK)
        s = tw_family_choose(family, args, 6, &choice, NULL);
    if (s == TW_OK)
        s = tw_family_add_table(family, file_path("more.table"), "x");
    return s == TW_OK ? tw_family_choose(family, args, 6, &choice, NULL) : s;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    tw_status s = TW_NO_MEMORY;
    put_products();
    put_file("more.table", "%s", HEADER("x", "T=f32") ROWS);
    for (long n = 0; s != TW_OK; n++) {
        struct counting memory = {.fail_from = n};
        tw_config config = {
            .size = sizeof config, .resize = counting_resize, .resize_user = &memory};
        tw_context *ctx;
        if (tw_context_new(&config, &ctx) != TW_OK)
            continue;
        s = use_family(ctx);
        if (s != TW_OK && s != TW_NO_MEMORY)
            fail_msg("%s", tw_context_messages(ctx));
        tw_context_free(ctx);
        assert_int_equal(memory.live, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, family_setup, family_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(results_choose),
        TEST(a_family_has_a_table),
        TEST(lines_may_end_as_on_windows),
        TEST(only_results_that_are_read_name_the_device),
        TEST(later_results_replace_earlier_ones),
        TEST(types_have_their_own_results),
        TEST(variants_are_listed),
        TEST(damaged_tables_are_refused),
        TEST(old_variants_are_ignored),
        TEST(stored_results_choose),
        TEST(without_results_the_model_chooses),
        TEST(variants_that_the_target_refuses_are_left_out),
        TEST(kernels_for_one_target_are_members),
        TEST(kernels_for_one_target_need_no_results),
        TEST(similar_devices_come_first),
        TEST(another_gpu_can_be_named),
        TEST(kernels_whose_sums_have_no_order_can_be_left_out),
        TEST(grids_must_fit),
        TEST(wrong_arguments_are_refused),
        TEST(bf16_takes_the_results_with_f16),
        TEST(a_launch_gets_a_choice),
        TEST(memory_may_run_out),
        cmocka_unit_test_setup_teardown(a_gpu_is_known_by_its_name, gpu_setup, gpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

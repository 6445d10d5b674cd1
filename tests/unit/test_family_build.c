/* Families in builds: the function and its table, refused calls, memory that runs out at every
 * allocation. tests/aot compiles and runs the results. */
#include "family_helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER(device)                                                                             \
    "{\"family\":\"products\",\"device\":\"" device                                                \
    "\",\"types\":\"T=f32\",\"version\":\"1\",\"sizes\":[\"m\",\"n\",\"k\"],\"variants\":["        \
    "{\"kernel\":\"rows\",\"tune\":\"BM=8,WARPS=2\",\"resident\":4},"                              \
    "{\"kernel\":\"columns\",\"tune\":\"BN=16\",\"resident\":3},"                                  \
    "{\"kernel\":\"columns\",\"tune\":\"BN=32\",\"resident\":3}]}\n"

/* rows for few rows, columns for many. */
#define ROWS                                                                                       \
    "{\"at\":[16,64,64],\"us\":[10,20,30]}\n"                                                      \
    "{\"at\":[1024,64,64],\"us\":[400,200,100]}\n"

static const tw_size_range square[] = {{"n", 64, 64}, {"k", 64, 64}};
static const tw_size_set sets[] = {{2, square}};

static tw_family *load_for(struct fixture *f, const char *target)
{
    tw_family *family;
    put_file("rows.tile", product_rows, "rows");
    put_file("columns.tile", product_columns, "columns");
    put_file("products.tile", "family products { \"rows.tile\"; \"columns.tile\"; }\n");
    put_file("products.table", "%s", HEADER("NVIDIA H200") ROWS);
    succeed(f, tw_family_from_file(f->ctx, file_path("products.tile"), NULL, target, &family));
    return family;
}

static tw_build *open_build(struct fixture *f)
{
    tw_build *b;
    succeed(f, tw_build_new(f->ctx, "shipped", &b));
    return b;
}

static void has(const char *all, const char *part)
{
    if (!strstr(all, part))
        fail_msg("no `%s` in\n%s", part, all);
}

static void lacks(const char *all, const char *part)
{
    if (strstr(all, part))
        fail_msg("`%s` is in\n%s", part, all);
}

/* Builds the family, and returns NAME.h and NAME.c. */
static void texts_of(struct fixture *f, tw_family *family, const tw_shipment *how,
                     const char *warning, const char **header, const char **source)
{
    tw_build *b = open_build(f);
    succeed(f, tw_build_family(b, family, how));
    if (warning)
        has(tw_context_messages(f->ctx), warning);
    else
        assert_string_equal(tw_context_messages(f->ctx), "");
    succeed(f, tw_build_texts(b, header, source));
}

static void one_function_has_all_kernels(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_shipment how = tw_shipment_init();
    how.sets = sets;
    how.set_count = 1;
    texts_of(f, load_for(f, "sm_90"), &how, NULL, &header, &source);
    has(header, "Family `products` of ");
    has(header, "sm_90, as measured on NVIDIA H200 at 2 sizes");
    has(header, "shipped_status shipped_products_f32(const shipped_module *module, void *stream, "
                "int32_t m,");
    has(header, "size_t shipped_products_f32_workspace(");
    has(header, "sm_90; rows; n = 64, k = 64; m divisible by 16: BM = 8, WARPS = 2\n");
    has(header, "sm_90; columns: BN = 32\n");
    lacks(header, "BN = 16"); /* never the fastest */
    has(source, "    {{16, 64, 64}, {");
    has(source, "if (!(aot_p->compiled_in >> 1 & 1))");
}

/* Versions differ by the divisors of the sizes at which the variant is the first. */
static void divisors_have_versions(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_family *family = load_for(f, "sm_90");
    put_file("more.table", "%s", HEADER("NVIDIA H200") "{\"at\":[12,72,72],\"us\":[30,10,20]}\n");
    succeed(f, tw_family_add_table(family, file_path("more.table"), NULL));
    texts_of(f, family, NULL, "`rows` is left out", &header, &source);
    has(header, "sm_90; columns; n divisible by 8; k divisible by 8: BN = 16\n");
    has(header, "sm_90; columns: BN = 16\n");
    has(source, "n % 8 == 0");
}

/* Without values, the kernel with static parameters is left out. */
static void static_parameters_need_values(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    static const tw_size_range half[] = {{"n", 64, 64}, {"k", 1, 64}};
    static const tw_size_set range[] = {{2, half}};
    tw_shipment how = tw_shipment_init();
    tw_family *family = load_for(f, "sm_90");
    texts_of(f, family, NULL, "`rows` is left out: it has static parameters", &header, &source);
    lacks(header, "rows;");
    how.sets = range;
    how.set_count = 1;
    texts_of(f, family, &how, "`rows` is left out: it has static parameters", &header, &source);
    has(header, "sm_90; columns: BN = 32\n");
    lacks(source, "compiled_in >>");
}

static void devices_have_tables(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_build *b = open_build(f);
    tw_family *family = load_for(f, "sm_90");
    put_file("more.table", "%s", HEADER("NVIDIA A100-SXM4-80GB") ROWS);
    succeed(f, tw_build_family(b, family, NULL));
    family = load_for(f, "sm_80");
    succeed(f, tw_family_add_table(family, file_path("more.table"), NULL));
    succeed(f, tw_build_family(b, family, NULL));
    lacks(tw_context_messages(f->ctx), "choose");
    succeed(f, tw_build_texts(b, &header, &source));
    has(header, "sm_90, as measured on NVIDIA H200");
    has(header, "sm_80, as measured on NVIDIA A100-SXM4-80GB");
    has(source, "aot_points_0_1[] = {");
    family = load_for(f, "sm_80");
    texts_of(f, family, NULL, "for sm_80: those of NVIDIA H200 choose", &header, &source);
    succeed(f, tw_family_type(family, "T", TW_F16));
    texts_of(f, family, NULL, "T = f16: the model chooses", &header, &source);
    has(header, "sm_80, by the model at ");
}

/* A variant that the compiler refuses leaves its place to the next. */
static void refused_variants_are_left_out(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_family *family = load_for(f, "sm_90");
    put_file(
        "more.table",
        "{\"family\":\"products\",\"device\":\"NVIDIA H200\",\"types\":\"T=f32\",\"sizes\":[\"m\","
        "\"n\",\"k\"],\"variants\":[{\"kernel\":\"columns\",\"tune\":\"BN=65536\"}]}\n"
        "{\"at\":[1024,64,64],\"us\":[1]}\n");
    succeed(f, tw_family_add_table(family, file_path("more.table"), NULL));
    texts_of(f, family, NULL, "`columns BN=65536` is left out: ", &header, &source);
    has(header, "columns: BN = 32");
    lacks(header, "65536");
}

/* A family whose kernels all have static parameters needs values, with and without results. */
static void only_static_kernels_need_values(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_shipment how = tw_shipment_init();
    tw_family *family = load_for(f, "sm_90");
    put_file("static.tile", "family statics { \"rows.tile\"; }\n");
    succeed(f, tw_family_from_file(f->ctx, file_path("static.tile"), NULL, "sm_90", &family));
    how.sets = sets;
    how.set_count = 1;
    for (int results = 0; results < 2; results++) {
        if (results)
            put_file("static.table",
                     "{\"family\":\"statics\",\"device\":\"NVIDIA H200\",\"types\":\"T=f32\","
                     "\"sizes\":[\"m\",\"n\",\"k\"],\"variants\":[{\"kernel\":\"rows\","
                     "\"tune\":\"BM=8,WARPS=2\"}]}\n{\"at\":[16,64,64],\"us\":[10]}\n");
        if (results)
            succeed(f, tw_family_add_table(family, file_path("static.table"), NULL));
        else
            succeed(f, tw_family_type(family, "T", TW_F32));
        refused(f, tw_build_family(open_build(f), family, NULL), TW_BAD_PROGRAM,
                "no kernel of the family `statics` can be built for sm_90; give each static "
                "parameter a value");
        has(tw_context_messages(f->ctx), "`rows` is left out: it has static parameters");
        texts_of(f, family, &how, results ? NULL : "the model chooses", &header, &source);
    }
}

/* Without results, a kernel is left out if its default values are refused. */
static void only_refused_defaults_are_an_error(void **state)
{
    struct fixture *f = *state;
    tw_family *family;
    char *large = strdup(product_columns);
    memcpy(strstr(large, "{32, 16}"), "{65536} ", 8);
    put_file("columns.tile", large, "columns");
    free(large);
    put_file("large.tile", "family large { \"columns.tile\"; }\n");
    succeed(f, tw_family_from_file(f->ctx, file_path("large.tile"), NULL, "sm_90", &family));
    succeed(f, tw_family_type(family, "T", TW_F32));
    refused(f, tw_build_family(open_build(f), family, NULL), TW_BAD_PROGRAM,
            "no kernel of the family `large` can be built for sm_90\n");
    has(tw_context_messages(f->ctx), "`columns` is left out: ");
}

/* A refusal is of one build: with other values, the next build takes the kernel again. */
static void a_refusal_does_not_last(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_family *family;
    static const tw_size_range small[] = {{"n", 64, 64}}, large[] = {{"n", 65536, 65536}};
    static const tw_size_set both[] = {{1, small}, {1, large}};
    tw_shipment how = tw_shipment_init();
    how.sets = both;
    how.set_count = 2;
    put_file("wide.tile",
             "kernel wide(i32 m, static i32 n, const f32 *a, f32 *b) grid(cdiv(m, 8)) warps(1)\n"
             "{\n"
             "    global f32 A[m][n] = a, B[m][n] = b;\n"
             "    reg f32 x[8][n] = A[block.x * 8 +: 8][0 +: n];\n"
             "    B[block.x * 8 +: 8][0 +: n] = x + x;\n"
             "    ensures B == A + A;\n"
             "}\n");
    put_file("wides.tile", "family wides { \"wide.tile\"; }\n");
    succeed(f, tw_family_from_file(f->ctx, file_path("wides.tile"), NULL, "sm_90", &family));
    refused(f, tw_build_family(open_build(f), family, &how), TW_BAD_PROGRAM,
            "no kernel of the family `wides` can be built for sm_90");
    has(tw_context_messages(f->ctx), "`wide` is left out: ");
    how.set_count = 1;
    texts_of(f, family, &how, "the model chooses", &header, &source);
    has(header, "wide; n = 64");
}

/* A family without sizes has one point. */
static void no_sizes_have_a_table(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_family *family;
    put_file("fixed.tile", "kernel fixed(const f32 *a, f32 *b) grid(2) warps(1)\n"
                           "{\n"
                           "    global f32 A[128] = a, B[128] = b;\n"
                           "    B[block.x * 64 +: 64] = A[block.x * 64 +: 64];\n"
                           "    ensures B == A;\n"
                           "}\n");
    put_file("fixeds.tile", "family fixeds { \"fixed.tile\"; }\n");
    succeed(f, tw_family_from_file(f->ctx, file_path("fixeds.tile"), NULL, "sm_90", &family));
    texts_of(f, family, NULL, "the model chooses", &header, &source);
    has(source, "enum { AOT_SIZES = 1, AOT_ORDER = 1 };");
    has(source, "    {{0}, {0}, {0}, {0}},\n");
    has(source, "aot_asked[] = {0};");
    has(source, "unsigned short order[AOT_ORDER]"); /* numbers over the tables of all devices */
}

/* The function of a CPU has no workspace, and one version of each variant for all sizes and
 * addresses; with a GPU it has the parameters that the GPU needs. */
static void the_host_has_a_table(void **state)
{
    struct fixture *f = *state;
    const char *header, *source;
    tw_shipment how = tw_shipment_init();
    how.sets = sets;
    how.set_count = 1;
    how.unaligned = true;
    tw_family *host = load_for(f, NULL);
    texts_of(f, host, &how, "the first kernel that takes the sizes runs", &header, &source);
    has(header, "cpu, without results");
    has(header, "cpu; rows; n = 64, k = 64: BM = 16, WARPS = 1\n");
    lacks(header, "_workspace(");
    lacks(source, "is_device");
    put_file("more.table", "%s", HEADER("Some CPU, 8 cores, x86-64, avx2 routines") ROWS);
    succeed(f, tw_family_add_table(host, file_path("more.table"), NULL));
    tw_build *b = open_build(f);
    succeed(f, tw_build_family(b, host, &how));
    has(tw_context_messages(f->ctx), "those of Some CPU, 8 cores, x86-64, avx2 routines choose");
    succeed(f, tw_build_family(b, load_for(f, "sm_90"), &how));
    succeed(f, tw_build_texts(b, &header, &source));
    has(header, "cpu, as measured on Some CPU, 8 cores");
    has(header, "sm_90, as measured on NVIDIA H200");
    has(header, "size_t shipped_products_f32_workspace(");
    has(header, "cpu; rows; n = 64, k = 64: BM = 8, WARPS = 2\n");
    lacks(source, "\"Some CPU"); /* only GPUs are compared by name */
}

static void wrong_calls_are_refused(void **state)
{
    struct fixture *f = *state;
    tw_build *b = open_build(f);
    tw_shipment how = tw_shipment_init();
    static const tw_size_range other[] = {{"q", 1, 2}}, array[] = {{"a", 1, 2}},
                               empty[] = {{"m", 2, 1}};
    tw_size_set set = {1, other};
    tw_family *family = load_for(f, "sm_80");
    refused(f, tw_build_family(b, NULL, NULL), TW_BAD_ARGUMENT, "`f` is NULL");
    assert_int_equal(tw_build_family(NULL, family, NULL), TW_BAD_ARGUMENT);
    how.sets = &set;
    how.set_count = 1;
    refused(f, tw_build_family(b, family, &how), TW_BAD_ARGUMENT, "has no integer parameter `q`");
    set.ranges = array;
    refused(f, tw_build_family(b, family, &how), TW_BAD_ARGUMENT, "has no integer parameter `a`");
    set.ranges = empty;
    refused(f, tw_build_family(b, family, &how), TW_BAD_ARGUMENT, "no value of `m` is at least 2");
    how = (tw_shipment){.size = sizeof how, .variants = 65};
    refused(f, tw_build_family(b, family, &how), TW_BAD_ARGUMENT, "65 variants: expected 1 to 64");
    how = (tw_shipment){0};
    refused(f, tw_build_family(b, family, &how), TW_BAD_ARGUMENT, "tw_shipment");
}

/* --- every allocation can fail --- */

static tw_status build_once(tw_context *ctx, const char *path, const char *target)
{
    tw_build *b = NULL;
    tw_family *family;
    const char *header, *source;
    tw_shipment how = tw_shipment_init();
    how.sets = sets;
    how.set_count = 1;
    tw_status s = tw_family_from_file(ctx, path, NULL, target, &family);
    if (s == TW_OK)
        s = tw_build_new(ctx, "shipped", &b);
    if (s == TW_OK)
        s = tw_build_family(b, family, &how);
    if (s == TW_OK)
        s = tw_build_texts(b, &header, &source);
    return s;
}

static void fail_allocations(const char *target)
{
    tw_status s = TW_NO_MEMORY;
    for (long n = 1; s != TW_OK; n += n < 100 ? 1 : 13) {
        struct counting memory = {.fail_from = n};
        tw_config config = {
            .size = sizeof config, .resize = counting_resize, .resize_user = &memory};
        tw_context *ctx;
        if (tw_context_new(&config, &ctx) != TW_OK)
            continue;
        s = build_once(ctx, file_path("products.tile"), target);
        if (s != TW_OK && s != TW_NO_MEMORY)
            fail_msg("allocation %ld fails: %s", n, tw_status_name(s));
        tw_context_free(ctx);
        assert_int_equal(memory.live, 0);
    }
}

static void no_memory(void **state)
{
    load_for(*state, "sm_90"); /* writes the files */
    fail_allocations("sm_90");
    fail_allocations("cpu");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, family_setup, family_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(divisors_have_versions),
        TEST(one_function_has_all_kernels),
        TEST(static_parameters_need_values),
        TEST(devices_have_tables),
        TEST(refused_variants_are_left_out),
        TEST(only_static_kernels_need_values),
        TEST(only_refused_defaults_are_an_error),
        TEST(a_refusal_does_not_last),
        TEST(no_sizes_have_a_table),
        TEST(the_host_has_a_table),
        TEST(wrong_calls_are_refused),
        TEST(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

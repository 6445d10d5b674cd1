/* tilewright_sim.h: launches and PTX programs on the simulator, through the public
 * interface. */
#include "api_helper.h"
#include "tilewright_model.h"

#include <stdlib.h>
#include <string.h>

#define HEAD ".version 7.0\n.target sm_80\n.address_size 64\n"

/* out[i] = in[i] + in[n - 1 - i] through shared memory, with BARRIER between */
#define MIRROR(barrier)                                                                            \
    HEAD ".visible .entry mirror(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n"             \
         ".reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<4>;\n"                                   \
         ".shared .align 4 .b8 tile[256];\n"                                                       \
         "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u32 %r1, [n];\n"           \
         "mov.u32 %r2, %tid.x;\nmov.u32 %r3, tile;\nmul.wide.u32 %rd3, %r2, 4;\n"                  \
         "add.s64 %rd4, %rd1, %rd3;\nld.global.f32 %f1, [%rd4];\n"                                 \
         "shl.b32 %r4, %r2, 2;\nadd.s32 %r4, %r3, %r4;\nst.shared.f32 [%r4], %f1;\n" barrier       \
         "\nsub.s32 %r5, %r1, %r2;\nsub.s32 %r5, %r5, 1;\nshl.b32 %r5, %r5, 2;\n"                  \
         "add.s32 %r5, %r3, %r5;\nld.shared.f32 %f2, [%r5];\nadd.f32 %f3, %f1, %f2;\n"             \
         "add.s64 %rd5, %rd2, %rd3;\nst.global.f32 [%rd5], %f3;\nret;\n}\n"
static const char clean[] = MIRROR("bar.sync 0;"), racy[] = MIRROR("");

enum { COUNT = 64 };

struct mirror {
    float in[COUNT], out[COUNT];
    int32_t n;
    tw_ptx *ptx;
    tw_ptx_argument arguments[3];
    tw_ptx_launch launch;
};

static void open_mirror(struct fixture *f, struct mirror *m, const char *text)
{
    *m = (struct mirror){.n = COUNT};
    for (int i = 0; i < COUNT; i++)
        m->in[i] = (float)i;
    succeed(f, tw_ptx_from_text(f->ctx, "mirror.ptx", text, strlen(text), &m->ptx));
    m->arguments[0] = (tw_ptx_argument){.data = m->in, .bytes = sizeof m->in, .is_array = true};
    m->arguments[1] = (tw_ptx_argument){
        .data = m->out, .bytes = sizeof m->out, .is_array = true, .uninitialised = true};
    m->arguments[2] = (tw_ptx_argument){.data = &m->n, .bytes = sizeof m->n};
    m->launch = (tw_ptx_launch){.size = sizeof m->launch,
                                .kernel = "mirror",
                                .block = {COUNT},
                                .arguments = m->arguments,
                                .argument_count = 3};
}

static void ptx_runs(void **state)
{
    struct fixture *f = *state;
    struct mirror m;
    tw_sim_result r = tw_sim_result_init();
    tw_ptx_param p = tw_ptx_param_init();
    int block[3];
    open_mirror(f, &m, clean);
    assert_int_equal(tw_ptx_kernel_count(m.ptx), 1);
    assert_string_equal(tw_ptx_kernel_at(m.ptx, 0), "mirror");
    assert_null(tw_ptx_kernel_at(m.ptx, 1));
    assert_string_equal(tw_ptx_kernel_called(m.ptx, 0), "mirror");
    assert_null(tw_ptx_kernel_called(m.ptx, 1));
    assert_int_equal(tw_ptx_param_count(m.ptx, "mirror"), 3);
    assert_int_equal(tw_ptx_param_count(m.ptx, "other"), -1);
    succeed(f, tw_ptx_param_at(m.ptx, "mirror", 2, &p));
    assert_string_equal(p.name, "n");
    assert_string_equal(p.type, ".u32");
    assert_int_equal(p.bytes, 4);
    assert_false(tw_ptx_block(m.ptx, "mirror", block));
    for (uint64_t seed = 0; seed < 4; seed++) {
        tw_sim_options o = {
            .size = sizeof o, .watch = TW_WATCH_ALL, .seed = seed, .late = seed & 1};
        memset(m.out, 0, sizeof m.out);
        succeed(f, tw_ptx_simulate(m.ptx, &m.launch, &o, &r));
        for (int i = 0; i < COUNT; i++)
            assert_true(m.out[i] == COUNT - 1);
    }
    assert_int_equal(r.failures, 0);
    assert_null(r.ended);
    assert_string_equal(r.report, "");
    assert_true(r.warp_instructions > 0);
    assert_non_null(strstr(r.counters_json, "\"shared_wavefronts\": 4,"));
    assert_non_null(strstr(r.json, "\"findings\": []"));
    assert_non_null(strstr(r.json, "\"counters\": {"));
    m.launch.kernel = NULL; /* the only one */
    succeed(f, tw_ptx_simulate(m.ptx, &m.launch, NULL, NULL));
    tw_ptx_free(m.ptx);
}

static void a_block_is_traced(void **state)
{
    struct fixture *f = *state;
    struct mirror m;
    tw_sim_result r = tw_sim_result_init();
    uint32_t start[4];
    tw_trace_options trace = {.size = sizeof trace, .why = "out", .why_offset = 4, .why_bytes = 4};
    tw_sim_options o = {.size = sizeof o, .trace = &trace};
    open_mirror(f, &m, clean);
    m.arguments[1].name = "out";
    succeed(f, tw_ptx_simulate(m.ptx, &m.launch, &o, &r));
    assert_true(r.trace_bytes > sizeof start);
    memcpy(start, r.trace, sizeof start);
    assert_memory_equal(start, "TWTR", 4);
    assert_int_equal(start[1], 1);
    assert_true(16 + start[2] <= r.trace_bytes);
    assert_non_null(strstr((const char *)r.trace + 16, "\"kernel\": \"mirror\""));
    assert_int_equal(r.why->thread, 1); /* in[1] + in[62], which comes through shared memory */
    assert_int_equal(r.why->global_reads, 2);
    assert_int_equal(r.why->shared_reads, 1);
    assert_int_equal(r.why->block[0], 0);
    assert_true(r.why->complete && r.why->step_count > 4);
    assert_string_equal(r.why->steps[r.why->step_count - 1].kind, "write");
    trace.format = TW_TRACE_CHROME;
    trace.why = NULL;
    succeed(f, tw_ptx_simulate(m.ptx, &m.launch, &o, &r));
    assert_memory_equal(r.trace, "{\"displayTimeUnit\"", 18);
    assert_null(r.why);
    trace.block[1] = 1;
    refused(f, tw_ptx_simulate(m.ptx, &m.launch, &o, &r), TW_BAD_ARGUMENT, "no block 0,1,0");
    assert_null(r.trace);
    tw_ptx_free(m.ptx);
}

static void findings_come_back(void **state)
{
    struct fixture *f = *state;
    struct mirror m;
    tw_sim_result r = tw_sim_result_init();
    tw_message message = tw_message_init();
    open_mirror(f, &m, racy);
    refused(f, tw_ptx_simulate(m.ptx, &m.launch, NULL, &r), TW_FAULT, "error: race:");
    assert_true(tw_context_message(f->ctx, 0, &message));
    assert_string_equal(message.file, "mirror.ptx");
    bool found = false;
    for (int i = 0; i < r.finding_count; i++) {
        const tw_sim_finding *x = &r.findings[i];
        if (strcmp(x->kind, "race") != 0)
            continue;
        found = true;
        assert_true(x->fails && x->count > 0);
        assert_string_equal(x->file, "mirror.ptx");
        assert_string_equal(x->other_file, "mirror.ptx");
        assert_int_not_equal(x->line, x->other_line);
        assert_non_null(strstr(x->json, "\"accesses\": ["));
        assert_non_null(strstr(x->text, "ld.shared.f32"));
    }
    assert_true(found);
    assert_non_null(strstr(r.report, "race"));
    /* the same launch runs if nothing is watched */
    succeed(f, tw_ptx_simulate(m.ptx, &m.launch,
                               &(tw_sim_options){.size = sizeof(tw_sim_options), .watch = 0}, &r));
    /* and if every finding is suppressed */
    tw_sim_options pass = {
        .size = sizeof pass, .watch = TW_WATCH_CHECKS, .suppressions = "* mirror # known\n"};
    succeed(f, tw_ptx_simulate(m.ptx, &m.launch, &pass, &r));
    assert_true(r.finding_count > 0 && r.findings[0].suppressed && r.failures == 0);
    pass.suppressions = "nothing";
    refused(f, tw_ptx_simulate(m.ptx, &m.launch, &pass, &r), TW_BAD_ARGUMENT, "nothing");
}

static void ends_are_told(void **state)
{
    struct fixture *f = *state;
    static const char spin[] = HEAD ".visible .entry spin()\n{\nagain:\nbra again;\n}\n";
    tw_ptx *p;
    tw_sim_result r = tw_sim_result_init();
    tw_sim_options o = {.size = sizeof o, .watch = TW_WATCH_CHECKS, .step_limit = 1000};
    succeed(f, tw_ptx_from_text(f->ctx, "spin.ptx", spin, strlen(spin), &p));
    tw_status s =
        tw_ptx_simulate(p, &(tw_ptx_launch){.size = sizeof(tw_ptx_launch), .block = {32}}, &o, &r);
    refused(f, s, TW_FAULT, "");
    assert_non_null(r.ended);
    assert_int_equal(r.failures, 1);
    assert_int_equal(r.finding_count, 1);
    assert_non_null(strstr(r.json, r.findings[0].kind));
}

static void wrong_launches(void **state)
{
    struct fixture *f = *state;
    struct mirror m;
    tw_ptx *none;
    open_mirror(f, &m, clean);
    refused(f, tw_ptx_simulate(m.ptx, NULL, NULL, NULL), TW_BAD_ARGUMENT, "NULL");
    tw_ptx_launch l = m.launch;
    l.kernel = "mirrow";
    refused(f, tw_ptx_simulate(m.ptx, &l, NULL, NULL), TW_NOT_FOUND, "did you mean `mirror`");
    l = m.launch;
    l.argument_count = 2;
    refused(f, tw_ptx_simulate(m.ptx, &l, NULL, NULL), TW_BAD_ARGUMENT, "takes 3 arguments");
    l = m.launch;
    m.arguments[2].bytes = 8;
    refused(f, tw_ptx_simulate(m.ptx, &l, NULL, NULL), TW_BAD_ARGUMENT, "argument 2");
    m.arguments[2].bytes = 4;
    l.block[0] = 2000;
    refused(f, tw_ptx_simulate(m.ptx, &l, NULL, NULL), TW_BAD_ARGUMENT, "1024");
    l.block[0] = -1;
    refused(f, tw_ptx_simulate(m.ptx, &l, NULL, NULL), TW_BAD_ARGUMENT, "-1");
    l = m.launch;
    l.grid[1] = 1 << 20;
    refused(f, tw_ptx_simulate(m.ptx, &l, NULL, NULL), TW_BAD_ARGUMENT, "grid");
    refused(f, tw_ptx_from_text(f->ctx, "x.ptx", clean, 200, &none), TW_BAD_PROGRAM, "x.ptx:");
    assert_null(none);
    refused(f, tw_ptx_from_file(f->ctx, "/nowhere.ptx", &none), TW_NO_FILE, "/nowhere.ptx");
    assert_int_equal(tw_ptx_simulate(NULL, &l, NULL, NULL), TW_BAD_ARGUMENT);
}

static void set_arrays(struct fixture *f)
{
    tw_array a = array(f->a, TW_F32, 2, M, K), b = array(f->b, TW_F32, 2, K, N),
             c = array(f->c, TW_F32, 2, M, N);
    succeed(f, tw_launch_array(f->launch, "a", &a));
    succeed(f, tw_launch_array(f->launch, "b", &b));
    succeed(f, tw_launch_array(f->launch, "c", &c));
}

static void launch_for(struct fixture *f, const char *target)
{
    tw_kernel *k;
    if (!f->module)
        succeed(f, tw_module_from_text(f->ctx, "test.tile", api_matmul, strlen(api_matmul),
                                       &f->module));
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), target, &k));
    succeed(f, tw_launch_new(k, &f->launch));
    set_arrays(f);
}

static void tiles_run(void **state)
{
    struct fixture *f = *state;
    tw_sim_result r = tw_sim_result_init();
    for (int i = 0; i < 2; i++) {
        memset(f->c, 0, sizeof f->c);
        launch_for(f, i ? "sm_90" : "sm_80");
        succeed(f, tw_launch_simulate(f->launch,
                                      &(tw_sim_options){.size = sizeof(tw_sim_options),
                                                        .watch = TW_WATCH_ALL,
                                                        .seed = 5},
                                      &r));
        succeed(f, tw_launch_verify(f->launch, NULL));
        assert_non_null(strstr(r.counters_json, "test.tile"));
    }
    launch_for(f, "cpu");
    refused(f, tw_launch_simulate(f->launch, NULL, &r), TW_BAD_ARGUMENT, "no PTX");
}

/* `ensures` is about c alone: the caller's counts in n are kept and go on. */
static const char sums[] = "kernel sums(const f32 *a, f32 *c, i32 *n) grid(1) threads(32)\n{\n"
                           "    global f32 A[32] = a, C[32] = c;\n    global i32 N[32] = n;\n"
                           "    i32 i = thread.x;\n    N[i] += 1;\n    C[i] += A[i];\n    ensures "
                           "C[0 +: 8] == A[0 +: 8];\n}\n";

static void outputs_count_as_unwritten(void **state)
{
    struct fixture *f = *state;
    tw_sim_options o = {.size = sizeof o, .watch = TW_WATCH_CHECKS};
    tw_sim_result r = tw_sim_result_init();
    tw_param p = tw_param_init();
    tw_kernel *k;
    float a[32] = {1}, c[32] = {0};
    int32_t n[32] = {0};
    succeed(f, tw_module_from_text(f->ctx, "sums.tile", sums, strlen(sums), &f->module));
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_80", &k));
    for (int i = 0; i < 3; i++) {
        succeed(f, tw_kernel_param(k, i, &p));
        assert_int_equal(p.is_ensured, i == 1);
    }
    succeed(f, tw_launch_new(k, &f->launch));
    succeed(f, tw_launch_array(f->launch, "a", &tw_host_array(a, TW_F32, 32)));
    succeed(f, tw_launch_array(f->launch, "c", &tw_host_array(c, TW_F32, 32)));
    succeed(f, tw_launch_array(f->launch, "n", &tw_host_array(n, TW_I32, 32)));
    succeed(f, tw_launch_simulate(f->launch, &o, &r));
    o.watch |= TW_WATCH_OUTPUTS;
    assert_int_equal(tw_launch_simulate(f->launch, &o, &r), TW_FAULT);
    assert_int_equal(r.finding_count, 1);
    assert_string_equal(r.findings[0].kind, "uninitialised");
    assert_int_equal(r.findings[0].line, 7);
    assert_true(c[0] == 2 && n[31] == 2);
}

/* Warps pass a value through shared memory without a barrier: the order of warps decides the
 * result. */
static const char shifted[] =
    "kernel shifted(const f32 *a, f32 *c) grid(1) threads(64)\n{\n"
    "    global f32 A[64] = a, C[64] = c;\n    shared f32 s[64];\n    i32 i = thread.x;\n"
    "    s[i] = A[i];\n    C[i] = s[63 - i];\n    ensures for (i32 k < 64) C[k] == A[63 - k];\n}\n";

static void races_in_a_chosen_order(void **state)
{
    struct fixture *f = *state;
    static const tw_sim_turn first[] = {{1, 0}, {0, 0}}, few[] = {{0, 1}, {1, 1}};
    tw_sim_options o = {.size = sizeof o, .watch = TW_WATCH_RACES};
    tw_sim_result r = tw_sim_result_init();
    tw_kernel *k;
    float a[64], c[64];
    for (int i = 0; i < 64; i++)
        a[i] = (float)i + 1;
    succeed(f, tw_module_from_text(f->ctx, "shifted.tile", shifted, strlen(shifted), &f->module));
    succeed(f, tw_launch_new(tw_module_kernel_at(f->module, 0), &f->launch));
    refused(f, tw_launch_despite_races(f->launch, true), TW_BAD_ARGUMENT, "no order of warps");
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), "sm_80", &k));
    succeed(f, tw_launch_new(k, &f->launch));
    succeed(f, tw_launch_array(f->launch, "a", &tw_host_array(a, TW_F32, 64)));
    succeed(f, tw_launch_array(f->launch, "c", &tw_host_array(c, TW_F32, 64)));
    assert_int_equal(tw_launch_simulate(f->launch, &o, &r), TW_UNSYNCHRONISED);
    succeed(f, tw_launch_despite_races(f->launch, true));
    assert_int_equal(tw_launch_simulate(f->launch, &o, &r), TW_FAULT);
    assert_true(c[0] == 0 && c[63] == 1 && !r.ended); /* warp 0 came first */
    assert_int_equal(r.findings[0].code, TW_CODE_RACE);
    assert_int_equal(r.findings[0].access_count, 2);
    assert_string_equal(r.findings[0].accesses[0]->variable, "s");
    assert_string_equal(r.findings[0].accesses[1]->space, "shared");
    assert_true(r.findings[0].accesses[0]->warp != r.findings[0].accesses[1]->warp);
    assert_non_null(strstr(r.findings[0].text, "in the PTX"));
    o.source_only = true;
    assert_int_equal(tw_launch_simulate(f->launch, &o, &r), TW_FAULT);
    assert_null(strstr(r.findings[0].text, "PTX"));
    assert_non_null(strstr(r.findings[0].text, "shifted.tile:6:"));
    o.order = first;
    o.order_count = 2;
    assert_int_equal(tw_launch_simulate(f->launch, &o, &r), TW_FAULT);
    assert_true(c[0] == 64 && c[63] == 0);
    o.order = few;
    assert_int_equal(tw_launch_simulate(f->launch, &o, &r), TW_FAULT);
    assert_true(c[0] == 64 && c[63] == 1); /* both have written before either reads */
    o.seed = 1;
    refused(f, tw_launch_simulate(f->launch, &o, &r), TW_BAD_ARGUMENT,
            "cannot be combined with a seed");
    assert_int_equal(tw_launch_check(f->launch), TW_UNSYNCHRONISED); /* its message has the fix */
    succeed(f, tw_launch_despite_races(f->launch, false));
    assert_int_equal(tw_launch_check(f->launch), TW_UNSYNCHRONISED);
    o = (tw_sim_options){.size = sizeof(tw_sim_options), .watch = TW_WATCH_RACES};
    assert_int_equal(tw_launch_simulate(f->launch, &o, &r), TW_UNSYNCHRONISED);
}

static void it_can_be_cancelled(void **state)
{
    struct fixture *f = *state;
    static const char spin[] = HEAD ".visible .entry spin()\n{\nagain:\nbra again;\n}\n";
    bool cancelled = false;
    tw_config config = {
        .size = sizeof config, .cancelled = tw_flag_is_set, .cancelled_user = &cancelled};
    tw_context *ctx;
    tw_ptx *p;
    succeed(f, tw_context_new(&config, &ctx));
    assert_int_equal(tw_ptx_from_text(ctx, "spin.ptx", spin, strlen(spin), &p), TW_OK);
    cancelled = true;
    assert_int_equal(tw_ptx_simulate(p,
                                     &(tw_ptx_launch){.size = sizeof(tw_ptx_launch), .block = {32}},
                                     NULL, NULL),
                     TW_CANCELLED);
    tw_context_free(ctx);
}

/* struct { int *data; int n; }; data[tid] = data[tid + 1] for tid < n. */
static const char with_struct[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .align 8 .b8 v[16])\n{\n"
    " .reg .pred %p1; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
    " ld.param.u64 %rd1, [v]; ld.param.u32 %r1, [v+8];\n mov.u32 %r2, %tid.x;\n"
    " setp.ge.u32 %p1, %r2, %r1;\n @%p1 ret;\n mul.wide.u32 %rd2, %r2, 4;\n"
    " add.s64 %rd3, %rd1, %rd2;\n ld.global.u32 %r3, [%rd3+4];\n st.global.u32 [%rd3], %r3;\n"
    " ret;\n}\n"
    ".visible .entry broken()\n{\n .reg .f32 %f<5>; .reg .b64 %rd1;\n"
    " tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];\n ret;\n}\n";

static void structs_point(void **state)
{
    struct fixture *f = *state;
    tw_ptx *p;
    tw_ptx_param param = tw_ptx_param_init();
    tw_sim_result r = tw_sim_result_init();
    int32_t data[3] = {7, 8, 9};
    struct {
        int32_t *data;
        int32_t n;
    } value = {NULL, 1};
    enum { N_AT = sizeof value.data };
    tw_ptx_pointer pointer = {.name = "v.data", .data = data, .bytes = sizeof data};
    tw_ptx_argument a = {
        .data = &value, .bytes = sizeof value, .pointers = &pointer, .pointer_count = 1};
    tw_ptx_launch l = {
        .size = sizeof l, .kernel = "k", .block = {32}, .arguments = &a, .argument_count = 1};
    succeed(f, tw_ptx_from_text(f->ctx, "k.ptx", with_struct, strlen(with_struct), &p));
    succeed(f, tw_ptx_param_at(p, "k", 0, &param));
    assert_int_equal(param.bytes, 16);
    assert_int_equal(param.alignment, 8);
    succeed(f, tw_ptx_simulate(p, &l, NULL, &r));
    assert_int_equal(data[0], 8);
    assert_null(value.data); /* the caller's value is not changed */
    pointer.uninitialised = true;
    pointer.initialised = 2 * sizeof *data;
    succeed(f, tw_ptx_simulate(p, &l, NULL, &r));
    pointer.initialised = sizeof *data;
    assert_int_equal(tw_ptx_simulate(p, &l, NULL, &r), TW_FAULT);
    assert_string_equal(r.findings[0].kind, "uninitialised");
    assert_non_null(strstr(r.findings[0].message, "element 1 of v.data"));
    pointer.uninitialised = false;
    value.n = 2; /* thread 0 reads the element that thread 1 writes */
    assert_int_equal(tw_ptx_simulate(p, &l, NULL, &r), TW_FAULT);
    assert_string_equal(r.findings[0].kind, "race");
    value.n = 1;
    unsigned char unwritten[sizeof value] = {[N_AT] = 1, [15] = 1};
    a.unwritten = unwritten;
    assert_int_equal(tw_ptx_simulate(p, &l, NULL, &r), TW_FAULT);
    assert_int_equal(r.finding_count, 1);
    assert_string_equal(r.findings[0].kind, "uninitialised");
    assert_non_null(
        strstr(r.findings[0].message, "byte 8 of v is read, and the launch gives it no value"));
    unwritten[N_AT] = 0; /* padding remains */
    succeed(f, tw_ptx_simulate(p, &l, NULL, &r));
    pointer.offset = 9;
    assert_int_equal(tw_ptx_simulate(p, &l, NULL, &r), TW_BAD_ARGUMENT);
    l.kernel = "broken";
    l.argument_count = 0;
    assert_int_equal(tw_ptx_simulate(p, &l, NULL, &r), TW_BAD_PROGRAM);
    assert_non_null(strstr(tw_context_messages(f->ctx), "textures and surfaces"));
    tw_ptx_free(p);
}

/* A kernel with struct { char c; int i; } in local memory, its two words in %r2 and %r3, and
 * then `rest`. */
#define PADDED(rest)                                                                               \
    HEAD ".visible .entry k(.param .u64 out)\n{\n"                                                 \
         " .reg .pred %p<4>; .reg .b16 %rs1; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"                 \
         " .local .align 8 .b8 d[16]; .shared .align 8 .b8 s[256];\n"                              \
         " ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8;\n"            \
         " add.s64 %rd1, %rd1, %rd2; mov.u32 %r4, s; mad.lo.u32 %r4, %r1, 8, %r4;\n"               \
         " mov.u16 %rs1, 7; st.local.u8 [d], %rs1; st.local.u32 [d+4], %r1;\n"                     \
         " ld.local.v2.u32 {%r2, %r3}, [d];\n" rest " ret;\n}\n"
#define COPIED " st.global.v2.u32 [%rd1], {%r2, %r3};\n"
#define BRANCH " setp.eq.u32 %p1, %r2, 7; @%p1 ret;\n"

/* Copies of padding are not a finding if the array has structs; other uses of it are. */
static void padding_is_copied(void **state)
{
    static const char local[] = "byte 0x1 of local memory",
                      shared[] = "s in shared memory is read and was never given a value",
                      global[] = "out in global memory is read and was never given a value";
    static const struct {
        const char *ptx, *of_structs, *of_values; /* findings with structs, with plain values */
    } cases[] = {
        {PADDED(COPIED), NULL, local},
        {PADDED(" ld.local.u8 %rs1, [d+1];\n st.global.u8 [%rd1+1], %rs1;\n"), NULL, local},
        {PADDED(
             " st.shared.v2.u32 [%r4], {%r2, %r3}; ld.shared.v2.u32 {%r2, %r3}, [%r4];\n" COPIED),
         NULL, shared},
        {PADDED(COPIED " st.global.u32 [%rd1], %r1; ld.global.u32 %r2, [%rd1];\n" BRANCH), NULL,
         local},
        {PADDED(COPIED " ld.global.u32 %r2, [%rd1];\n" BRANCH), global, local},
        {PADDED(" st.shared.u32 [%r4], %r2; ld.shared.u32 %r2, [%r4];\n" BRANCH), shared, shared},
        {PADDED(" add.u32 %r2, %r2, 1;\n" COPIED), local, local},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < 4 * sizeof cases / sizeof *cases; i++) {
        int32_t data[64] = {0};
        tw_ptx *p;
        tw_sim_result r = tw_sim_result_init();
        tw_ptx_argument a = {.data = data,
                             .bytes = sizeof data,
                             .is_array = true,
                             .uninitialised = i & 2,
                             .structs = i & 1};
        tw_ptx_launch l = {.size = sizeof l, .block = {32}, .arguments = &a, .argument_count = 1};
        const char *ptx = cases[i / 4].ptx,
                   *found = a.structs ? cases[i / 4].of_structs : cases[i / 4].of_values;
        succeed(f, tw_ptx_from_text(f->ctx, "padded.ptx", ptx, strlen(ptx), &p));
        assert_int_equal(tw_ptx_simulate(p, &l, NULL, &r), found ? TW_FAULT : TW_OK);
        assert_int_equal(r.finding_count, found ? 1 : 0);
        if (found && !strstr(r.findings[0].message, found))
            fail_msg("case %zu: %s", i, r.findings[0].message);
        tw_ptx_free(p);
    }
}

/* Each kernel is refused for functions that it reaches, and for no others. */
static const char mixed[] =
    HEAD ".global .texref picture;\n.extern .global .align 4 .b8 away[4];\n"
         ".func broken(.param .b32 x)\n{\n .reg .f32 %f1;\n no.such.f32 %f1, %f1;\n ret;\n}\n"
         ".visible .entry plain()\n{\n ret;\n}\n"
         ".visible .entry sampled()\n{\n .reg .b64 %rd1;\n mov.u64 %rd1, picture;\n ret;\n}\n"
         ".visible .entry linked()\n{\n .reg .b64 %rd1;\n mov.u64 %rd1, away;\n ret;\n}\n"
         ".visible .entry calls()\n{\n .param .b32 p;\n .reg .b32 %r1;\n mov.u32 %r1, 0;\n"
         " st.param.b32 [p], %r1;\n call broken, (p);\n ret;\n}\n";

static void kernels_are_refused_one_by_one(void **state)
{
    static const struct {
        const char *kernel;
        tw_status status;
        const char *said;
    } cases[] = {
        {"plain", TW_OK, ""},
        {"sampled", TW_BAD_PROGRAM, "textures and surfaces are not supported: .texref"},
        {"linked", TW_BAD_ARGUMENT, "`away` is defined in another module"},
        {"calls", TW_BAD_PROGRAM, "no.such"},
        {"plain", TW_OK, ""},
    };
    struct fixture *f = *state;
    tw_ptx *p;
    tw_sim_result r = tw_sim_result_init();
    succeed(f, tw_ptx_from_text(f->ctx, "mixed.ptx", mixed, strlen(mixed), &p));
    assert_int_equal(tw_ptx_kernel_count(p), 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tw_ptx_launch l = {.size = sizeof l, .kernel = cases[i].kernel, .block = {32}};
        assert_int_equal(tw_ptx_simulate(p, &l, NULL, &r), cases[i].status);
        if (!strstr(tw_context_messages(f->ctx), cases[i].said))
            fail_msg("%s: %s", cases[i].kernel, tw_context_messages(f->ctx));
    }
    tw_ptx_free(p);
    /* no kernel of the text is sound, or an error is outside all of them: nothing is kept */
    const char *bad[] = {HEAD ".entry k()\n{\n no.such.f32 %f1;\n}\n",
                         HEAD ".entry k()\n{\n ret;\n}\n.global .what x;\n"};
    for (int i = 0; i < 2; i++)
        assert_int_equal(tw_ptx_from_text(f->ctx, "bad.ptx", bad[i], strlen(bad[i]), &p),
                         TW_BAD_PROGRAM);
}

/* Memory that two arguments share counts as one array; arrays that only touch are two. */
static void arguments_share(void **state)
{
    struct fixture *f = *state;
    struct mirror m;
    tw_sim_result r = tw_sim_result_init();
    open_mirror(f, &m, clean);
    m.arguments[1].data = m.in;
    succeed(f, tw_ptx_simulate(m.ptx, &m.launch, NULL, &r));
    for (int i = 0; i < COUNT; i++)
        assert_true(m.in[i] == COUNT - 1);
    m.arguments[0].bytes = m.arguments[1].bytes = sizeof m.in / 2;
    m.arguments[1].data = m.in + COUNT / 2;
    m.launch.block[0] = m.n = COUNT / 2;
    succeed(f, tw_ptx_simulate(m.ptx, &m.launch, NULL, &r));
    m.launch.block[0] = m.n = COUNT;
    assert_int_equal(tw_ptx_simulate(m.ptx, &m.launch, NULL, &r), TW_FAULT);
    assert_string_equal(r.findings[0].kind, "out-of-bounds");
}

/* Every allocation of a call fails once; all memory is given back (api_teardown), and the next
 * call works. */
static void memory_runs_out(void **state)
{
    struct fixture *f = *state;
    struct mirror m;
    tw_sim_result r = tw_sim_result_init();
    open_mirror(f, &m, racy);
    tw_trace_options trace = {.size = sizeof trace, .why = "out", .why_bytes = 4};
    tw_sim_options o = {.size = sizeof o, .watch = TW_WATCH_ALL, .seed = 1, .trace = &trace};
    tw_status s = TW_NO_MEMORY;
    long failures = 0;
    for (long at = 0; s == TW_NO_MEMORY; at++) {
        f->memory.fail_from = f->memory.calls + at;
        s = tw_ptx_simulate(m.ptx, &m.launch, &o, &r);
        f->memory.fail_from = -1;
        failures += s == TW_NO_MEMORY;
        if (s == TW_NO_MEMORY)
            assert_string_equal(r.report, "");
    }
    assert_int_equal(s, TW_FAULT);
    assert_true(failures > 10);
    launch_for(f, "sm_80");
    succeed(f, tw_launch_prepare(f->launch));
    s = TW_NO_MEMORY;
    for (long at = 0; s == TW_NO_MEMORY; at++) {
        f->memory.fail_from = f->memory.calls + at;
        s = tw_launch_simulate(f->launch, &o, &r);
        f->memory.fail_from = -1;
    }
    succeed(f, s);
    succeed(f, tw_launch_verify(f->launch, NULL));
    s = TW_NO_MEMORY;
    failures = 0;
    for (long at = 0; s == TW_NO_MEMORY; at++) {
        tw_explanation x = tw_explanation_init();
        f->memory.fail_from = f->memory.calls + at;
        s = tw_launch_explain(f->launch, NULL, &x);
        f->memory.fail_from = -1;
        failures += s == TW_NO_MEMORY;
    }
    succeed(f, s);
    assert_true(failures > 10);
}

/* Every allocation fails once, on either of two threads; the call after them says the same as on one
 * thread. */
static void memory_runs_out_on_two_threads(void **state)
{
    struct fixture *f = *state;
    struct mirror m;
    tw_sim_result r = tw_sim_result_init();
    tw_sim_options o = {.size = sizeof o, .watch = TW_WATCH_ALL, .seed = 1};
    tw_status s = TW_NO_MEMORY;
    long failures = 0;
    open_mirror(f, &m, racy);
    assert_int_equal(tw_ptx_simulate(m.ptx, &m.launch, &o, &r), TW_FAULT);
    char *report = strdup(r.report);
    tw_context_free(f->ctx);
    f->config.threads = 2;
    assert_int_equal(tw_context_new(&f->config, &f->ctx), TW_OK);
    open_mirror(f, &m, racy);
    for (long at = 0; s == TW_NO_MEMORY; at++) {
        f->memory.fail_from = f->memory.calls + at;
        s = tw_ptx_simulate(m.ptx, &m.launch, &o, &r);
        f->memory.fail_from = -1;
        failures += s == TW_NO_MEMORY;
    }
    assert_int_equal(s, TW_FAULT);
    assert_string_equal(r.report, report);
    assert_true(failures > 10);
    free(report);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, api_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ptx_runs),
        TEST(a_block_is_traced),
        TEST(findings_come_back),
        TEST(ends_are_told),
        TEST(wrong_launches),
        TEST(outputs_count_as_unwritten),
        TEST(races_in_a_chosen_order),
        TEST(structs_point),
        TEST(padding_is_copied),
        TEST(arguments_share),
        TEST(kernels_are_refused_one_by_one),
        TEST(tiles_run),
        TEST(it_can_be_cancelled),
        TEST(memory_runs_out),
        TEST(memory_runs_out_on_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

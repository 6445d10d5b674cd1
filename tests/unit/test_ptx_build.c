/* The builder: a kernel built with it, printed as text. */
#include "ptx/ptx_build.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"

#include <string.h>

static const char *printed(const struct ptx_module *m)
{
    struct text t;
    text_init(&t, &arena);
    ptx_print(&t, m);
    return t.data;
}

/* Checks that the module verifies, and that its text parses and prints the same. */
static void check_module(const struct ptx_module *m)
{
    struct diag d;
    struct text t;
    diag_init(&d, &arena);
    text_init(&t, &arena);
    bool fine = ptx_verify(m, &d);
    const char *text = printed(m);
    struct source source = {"b.ptx", text, strlen(text)};
    struct ptx_module *again = ptx_parse(&arena, &source, &d);
    diag_render(&t, &d, false);
    if (!fine || !again)
        fail_msg("%s", t.data);
    assert_string_equal(printed(again), text);
    assert_true(ptx_verify(again, &d));
}

static void a_kernel(void **state)
{
    (void)state;
    struct ptx_builder b;
    ptx_build_start(&b, &arena, (struct ptx_target){80, 0});
    uint32_t file = ptx_source_file(&b, "scale.tile");
    ptx_begin_kernel(&b, "scale");
    struct ptx_variable *x = ptx_parameter(&b, PTX_U64, "x");
    struct ptx_variable *n = ptx_parameter(&b, PTX_U32, "n");
    ptx_limit(&b, PTX_MAXNTID, 3, 128, 1, 1);
    struct ptx_variable *s = ptx_array(&b, MOD_SHARED, PTX_F32, "tile", 128, 16);
    ptx_source_line(&b, file, 3, 5);
    struct ptx_operand p = ptx_reg(&b, PTX_U64), i = ptx_reg(&b, PTX_U32), m = ptx_reg(&b, PTX_U32);
    struct ptx_operand inside = ptx_reg(&b, PTX_PRED), v = ptx_reg(&b, PTX_F32);
    ptx_emit(&b, "ld.param.u64", p, ptx_at_variable(x, 0));
    ptx_emit(&b, "ld.param.u32", m, ptx_at_variable(n, 0));
    ptx_emit(&b, "mov.u32", i, ptx_special(PTX_SREG_TID_X));
    ptx_emit(&b, "setp.lt.u32", inside, i, m);
    ptx_source_line(&b, file, 4, 9);
    ptx_source_line(&b, file, 4, 9);
    struct ptx_operand a = ptx_reg(&b, PTX_U64);
    ptx_emit(&b, "mad.wide.u32", a, i, ptx_int(4), p);
    struct ptx_label *skip = ptx_new_label(&b, "skip");
    ptx_when(ptx_branch(&b, skip), ptx_not(inside));
    ptx_emit(&b, "ld.global.f32", v, ptx_at(a, 0));
    ptx_emit(&b, "mul.rn.f32", v, v, ptx_f32(2));
    ptx_emit_for(&b, PTX_TYPES(PTX_F32), "st.shared.*", ptx_at_variable(s, 4), v);
    ptx_when(ptx_emit(&b, "st.global.f32", ptx_at(a, -16), v), inside);
    ptx_place(&b, skip);
    ptx_emit_plain(&b, "ret");
    ptx_end(&b);
    assert_string_equal(printed(b.module), ".version 7.0\n"
                                           ".target sm_80\n"
                                           ".address_size 64\n"
                                           "\n"
                                           ".file 1 \"scale.tile\"\n"
                                           "\n"
                                           ".visible .entry scale(\n"
                                           "    .param .u64 x,\n"
                                           "    .param .u32 n\n"
                                           ")\n"
                                           ".maxntid 128, 1, 1\n"
                                           "{\n"
                                           "    .shared .align 16 .f32 tile[128];\n"
                                           "    .reg .b64 %rd<2>;\n"
                                           "    .reg .b32 %r<2>;\n"
                                           "    .reg .pred %p<1>;\n"
                                           "    .reg .f32 %f<1>;\n"
                                           "    .loc 1 3 5\n"
                                           "    ld.param.u64 %rd0, [x];\n"
                                           "    ld.param.u32 %r1, [n];\n"
                                           "    mov.u32 %r0, %tid.x;\n"
                                           "    setp.lt.u32 %p0, %r0, %r1;\n"
                                           "    .loc 1 4 9\n"
                                           "    mad.wide.u32 %rd1, %r0, 4, %rd0;\n"
                                           "    @!%p0 bra $skip_0;\n"
                                           "    ld.global.f32 %f0, [%rd1];\n"
                                           "    mul.rn.f32 %f0, %f0, 0f40000000;\n"
                                           "    st.shared.f32 [tile+4], %f0;\n"
                                           "    @%p0 st.global.f32 [%rd1+-16], %f0;\n"
                                           "$skip_0:\n"
                                           "    ret;\n"
                                           "}\n");
    check_module(b.module);
}

static void every_kind_of_operand(void **state)
{
    (void)state;
    struct ptx_builder b;
    ptx_build_start(&b, &arena, (struct ptx_target){90, 'a'});
    struct ptx_variable *smem = ptx_dynamic_shared(&b, "smem", 128);
    const uint8_t bytes[4] = {1, 2, 254, 0};
    struct ptx_variable *data = ptx_bytes(&b, MOD_GLOBAL, "data", bytes, 4, 4);
    ptx_begin_kernel(&b, "k");
    struct ptx_variable *map = ptx_parameter_bytes(&b, "map", 128, 64);
    struct ptx_operand r[4], f[4];
    for (int i = 0; i < 4; i++) {
        r[i] = ptx_reg(&b, PTX_B32);
        f[i] = ptx_reg(&b, PTX_F32);
    }
    struct ptx_operand a = ptx_reg(&b, PTX_B64), p = ptx_reg(&b, PTX_PRED),
                       q = ptx_reg(&b, PTX_PRED);
    struct ptx_operand h = ptx_reg(&b, PTX_F16), d = ptx_reg(&b, PTX_F64);
    struct ptx_operand four = ptx_vector(&b, f, 4), two = ptx_vector(&b, r, 2);
    ptx_emit(&b, "mov.b64", a, ptx_address_of(data, 0));
    ptx_emit(&b, "mov.b64", a, ptx_address_of(map, 0));
    ptx_emit(&b, "ld.global.v4.f32", four, ptx_at(a, 32));
    ptx_emit(&b, "mov.b64", a, two);
    ptx_emit(&b, "mov.b64", two, a);
    ptx_emit(&b, "setp.lt.and.s32", p, ptx_and_also(q), r[0], ptx_int(-7), ptx_not(p));
    ptx_emit(&b, "shfl.sync.bfly.b32", r[0], ptx_and_also(p), r[1], ptx_int(16), ptx_int(31),
             ptx_int(-1));
    ptx_emit_for(&b, PTX_TYPES(PTX_F16, PTX_F32), "cvt.rn.*.*", h, f[0]);
    ptx_emit_for(&b, PTX_TYPES(PTX_F64), "add.rn.*", d, d, ptx_f64(0.1));
    ptx_emit(&b, "mbarrier.arrive.shared.b64", ptx_sink(), ptx_at_variable(smem, 8));
    ptx_emit(&b, "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
             ptx_at(r[0], 0), ptx_at_tensor(&b, a, r, 2), ptx_at_variable(smem, 0));
    ptx_emit(&b, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", four, a, a, p, ptx_int(1),
             ptx_int(-1), ptx_int(0), ptx_int(1));
    ptx_emit(&b, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", four, ptx_vector(&b, r, 4),
             two, four);
    ptx_emit_plain(&b, "ret");
    ptx_end(&b);
    check_module(b.module);
    const char *text = printed(b.module);
    assert_non_null(strstr(text, ".version 8.0\n.target sm_90a\n"));
    assert_non_null(strstr(text, ".global .align 4 .b8 data[4] = {1, 2, 254, 0};\n"));
    assert_non_null(strstr(text, "    setp.lt.and.s32 %p0|%p1, %r0, -7, !%p0;\n"));
    assert_non_null(strstr(text, "    add.rn.f64 %fd0, %fd0, 0d3FB999999999999A;\n"));
    assert_non_null(strstr(text, "[%r0], [%rd0, {%r0, %r1}], [smem];\n"));
}

static void several_kernels(void **state)
{
    (void)state;
    struct ptx_builder b;
    ptx_build_start(&b, &arena, (struct ptx_target){80, 0});
    uint32_t file = ptx_source_file(&b, "two.tile");
    for (int i = 0; i < 2; i++) {
        ptx_begin_kernel(&b, i ? "second" : "first");
        ptx_source_line(&b, file, 9, 1);
        struct ptx_operand r = ptx_reg(&b, PTX_B32);
        struct ptx_label *loop = ptx_new_label(&b, "loop");
        ptx_place(&b, loop);
        ptx_emit(&b, "add.s32", r, r, ptx_int(1));
        ptx_branch(&b, loop);
        ptx_end(&b);
    }
    check_module(b.module);
    const char *text = printed(b.module), *second = strstr(text, "second");
    assert_non_null(strstr(second, ".loc 1 9 1")); /* each function repeats its line */
    assert_non_null(strstr(second, "$loop_0:\n"));
    assert_ptr_equal(ptx_find_function(b.module, "second")->signature.parameters.data, NULL);
    assert_null(ptx_find_function(b.module, "third"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel),
        cmocka_unit_test(every_kind_of_operand),
        cmocka_unit_test(several_kernels),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}

/* The verifier: for each rule a program that keeps it and one that breaks it. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"

#include <string.h>

/* Returns the verifier's message for a text, "" if it has none; a text that does not parse fails
 * the test. */
static const char *verdict(const char *target, const char *version, const char *globals,
                           const char *body)
{
    struct diag d;
    struct text out;
    char *text = arena_printf(&arena,
                              ".version %s\n.target %s\n.address_size 64\n"
                              ".extern .shared .align 16 .b8 dynamic[];\n"
                              ".global .align 16 .b8 data[64];\n"
                              "%s\n"
                              ".entry k(.param .u64 given, .param .align 64 .b8 map[128]) {\n"
                              ".reg .pred %%p<4>; .reg .b8 %%rb<4>; .reg .b16 %%rs<9>;\n"
                              ".reg .b32 %%r<20>; .reg .b64 %%rd<9>; .reg .f32 %%f<20>;\n"
                              ".reg .f64 %%fd<9>; .reg .u32 %%u<2>; .reg .s64 %%l<2>;\n"
                              ".shared .align 4 .b8 s[32];\n"
                              "%s\nret; }\n",
                              version, target, globals, body);
    struct source *source = arena_new(&arena, struct source);
    *source = (struct source){"v.ptx", text, strlen(text)};
    diag_init(&d, &arena);
    struct ptx_module *m = ptx_parse(&arena, source, &d);
    text_init(&out, &arena);
    if (m)
        ptx_verify(m, &d);
    diag_render(&out, &d, false);
    if (!m)
        fail_msg("%s", out.data);
    return out.data;
}

struct twin {
    const char *good, *bad, *message;
};

static void check_twins(const struct twin *twins, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *good = verdict("sm_90a", "9.0", "", twins[i].good);
        if (*good)
            fail_msg("%s", good);
        const char *bad = verdict("sm_90a", "9.0", "", twins[i].bad);
        if (!strstr(bad, twins[i].message))
            fail_msg("%s\n says\n%s\n not\n%s", twins[i].bad, bad, twins[i].message);
    }
}
#define CHECK_TWINS(twins) check_twins((twins), sizeof(twins) / sizeof *(twins))

static void modifiers(void **state)
{
    (void)state;
    static const struct twin twins[] = {
        {"add.ftz.f32 %f0, %f1, %f2;", "add.ftz.s32 %r0, %r1, %r2;", "`.ftz`"},
        {"fma.rn.f32 %f0, %f1, %f2, %f3;", "fma.f32 %f0, %f1, %f2, %f3;",
         "`fma.f32` lacks one of .rn .rz .rm .rp"},
        {"setp.lo.u32 %p0, %r1, %r2;", "setp.lo.s32 %p0, %r1, %r2;",
         "`.s32` does not go here; expected one of .u16 .u32 .u64"},
        {"cvt.rn.f16.f32 %rs0, %f0;", "cvt.f16.f32 %rs0, %f0;", "lacks one of"},
        {"cvt.rn.f16x2.f32 %rd0, %f0, %f1;", "cvt.rn.bf16x2.f32 %rd0, %f0, %f1;",
         "register %rd0 (.b64) does not hold a .bf16x2"},
        {"cvt.sat.u8.s32 %rs0, %r0;", "cvt.sat.u64.u32 %rd0, %r0;", "cvt.sat.u64.u32"},
        {"ld.global.v2.b64 {%rd0, %rd1}, [%rd2];",
         "ld.global.v4.b64 {%rd0, %rd1, %rd2, %rd3}, [%rd2];", "ld.global.v4.b64"},
        {"atom.global.add.f32 %f0, [%rd0], %f1;", "atom.global.min.f32 %f0, [%rd0], %f1;",
         "atom.global.min.f32"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, "
         "%r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
         "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, "
         "%r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
         "`.row` does not go"},
    };
    CHECK_TWINS(twins);
}

static void operands(void **state)
{
    (void)state;
    static const struct twin twins[] = {
        {"add.s32 %r0, %r1, 5;", "add.s32 %r0, %r1;",
         "`add.s32` lacks an operand: a register or constant for .s32"},
        {"add.s32 %r0, %r1, %r2;", "add.s32 %r0, %r1, %r2, %r3;", "4 operands, that is too many"},
        {"add.s32 %r0, %r1, %r2;", "add.s32 5, %r1, %r2;",
         "operand 1 of `add.s32` must be a register for .s32"},
        {"ld.global.b32 {%r0}, [%rd0];", "add.s32 {%r0}, %r1, %r2;",
         "operand 1 of `add.s32` must be a register for .s32"},
        {"ld.global.b32 {%r0}, [%rd0];", "atom.global.add.u32 {%r0}, [%rd0], %r1;",
         "operand 1 of `atom.global.add.u32` must be a register for .u32"},
        {"ld.global.b32 {%r0}, [%rd0];", "ld.global.b32 %r0, {[%rd0]};",
         "operand 2 of `ld.global.b32` must be an address in brackets"},
        {"st.global.b32 [%rd0], {5};", "st.global.v2.b32 [%rd0], {%r0};",
         "operand 2 of `st.global.v2.b32` must be a vector of 2 registers for .b32"},
        {"ldu.global.b32 {%r0}, [%rd0];", "ld.global.b32 {_}, [%rd0];",
         "operand 1 of `ld.global.b32` must be a register for .b32"},
        {"lop3.b32 %r0, %r1, %r2, %r3, 255;", "lop3.b32 %r0, %r1, %r2, %r3, 256;",
         "operand 5 of `lop3.b32` must be a constant from 0 to 255"},
        {"bar.sync 15;", "bar.sync 16;", "a barrier from 0 to 15"},
        {"bar.sync 1, 64;", "bar.sync 1, 65;", "a register or a multiple of 32"},
        {"bar.arrive 1, 64;", "bar.arrive 1, 65;", "a register or a multiple of 32"},
        {"vadd4.u32.u32.u32 %r0, %r1, %r2, %r3;", "vadd4.u32.u32.u32 %r0, %r1, %r2, 3;",
         "operand 4 of `vadd4.u32.u32.u32` must be a register for .u32"},
        {"cp.async.ca.shared.global [%r0], [%rd0], 8;",
         "cp.async.ca.shared.global [%r0], [%rd0], 12;", "the constant 4, 8 or 16"},
        {"setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg.dec.sync.aligned.u32 41;",
         "a multiple of 8"},
        {"setp.eq.s32 %p0|%p1, %r0, %r1;", "add.s32 %r0|%p1, %r0, %r1;", "operand 2 of `add.s32`"},
        {"and.pred %p0, %p1, !%p2;", "and.pred %p0, %p1, %r2;", "must be a predicate"},
        {"ld.global.v4.f32 {%f0, %f1, _, %f3}, [%rd0];",
         "ld.global.v4.f32 {%f0, %f1, %f2}, [%rd0];", "a vector of 4 registers"},
        {"ld.global.f32 %f0, [%rd0];", "ld.global.f32 %f0, %rd0;", "an address in brackets"},
        {"ld.global.L2::cache_hint.f32 %f0, [%rd0], %rd1;",
         "ld.global.L2::cache_hint.f32 %f0, [%rd0];", "lacks an operand"},
        {"mbarrier.arrive.shared.b64 _, [%r0];", "add.s32 _, %r0, %r1;", "operand 1 of `add.s32`"},
        {"bra L; L:", "brx.idx %r0, L; L:", "does not name branch targets"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %p0, "
         "1, -1, 0, 1;",
         "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, %p0, "
         "1, 0, 0, 1;",
         "operand 6"},
        {"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {%r0, %r1}], [%r2];",
         "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {%r0, %r1, %r3}], [%r2];",
         "takes 2 coordinates, found 3"},
    };
    CHECK_TWINS(twins);
}

static void types(void **state)
{
    (void)state;
    static const struct twin twins[] = {
        {"add.s32 %r0, %u0, %r1;", "add.s32 %f0, %r1, %r2;",
         "register %f0 (.f32) does not hold a .s32"},
        {"add.f32 %f0, %r0, 0f3F800000;", "add.f32 %f0, %u0, %f1;", "%u0 (.u32)"},
        {"add.f32 %f0, %f0, 1.5;", "add.f32 %f0, %f0, 1;", "this constant is not a .f32"},
        {"mov.b32 %r0, 0f3F800000;", "mov.u32 %r0, 0f3F800000;", "this constant is not a .u32"},
        {"shl.b64 %rd0, %rd1, %r0;", "shl.b64 %rd0, %rd1, %rd2;",
         "%rd2 (.b64) does not hold a .u32"},
        {"mul.wide.s32 %rd0, %r0, 4;", "mul.wide.s32 %r0, %r0, 4;", "does not hold a .s64"},
        {"ld.global.u8 %r0, [%rd0];", "ld.global.u8 %f0, [%rd0];", "%f0 (.f32)"},
        {"ld.global.b8 %rb0, [%rd0];", "ld.global.b16 %rb0, [%rd0];", "%rb0 (.b8)"},
        {"add.f16x2 %r0, %r1, %r2;", "add.f16x2 %f0, %r1, %r2;", "%f0 (.f32)"},
        {"cvt.rn.bf16x2.f32 %r0, %f0, %f1;", "cvt.rn.bf16x2.f32 %rs0, %f0, %f1;",
         "does not hold a .bf16x2"},
        {"mov.b64 %rd0, {%r0, %f1};", "mov.b64 %rd0, {%rs0, %rs1};", "does not hold a .b32"},
        {"mov.b64 {%rs0, %rs1, %rs2, %rs3}, %rd0;", "mov.b64 {%r0, %r1, %r2}, %rd0;",
         "3 parts do not make up a .b64"},
        {"mov.u32 %r0, %tid.x;", "mov.u64 %rd0, %tid.x;", "%tid.x is a .u32"},
        {"mov.u64 %rd0, %clock64;", "mov.u32 %r0, %clock64;", "%clock64 is a .u64"},
        {"cvt.u64.u32 %rd0, %laneid;", "mov.f32 %f0, %laneid;", "%laneid is a .u32"},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%r2];",
         "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1, %r2, %r3}, [%r2];",
         "takes 2 registers here, found 4"},
        {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, "
         "%fd1};",
         "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%r2}, {%fd3}, {%fd0, "
         "%fd1};",
         "does not hold a .f64"},
        {"ld.global.v2.b32 {%r0, %f1}, [%rd0];", "ld.global.v2.b32 {%r0, %rd1}, [%rd0];",
         "the registers of a vector are equally wide"},
        {"ld.global.v2.b32 {_, %r1}, [%rd0];", "ld.global.v2.b32 {5, %r1}, [%rd0];",
         "writes here: a register is needed"},
        {"st.global.v2.b32 [%rd0], {%r0, 5};", "st.global.v2.b32 [%rd0], {%r0, _};",
         "there is no `_` here"},
        {"and.b64 %rd0, %rd1, 1.5;", "and.b32 %r0, %r1, 1.5;", "this constant is not a .b32"},
        {"ld.global.b32 %r0, [%l0];", "ld.global.b32 %r0, [%f0];", "does not hold an address"},
    };
    CHECK_TWINS(twins);
}

static void memory(void **state)
{
    (void)state;
    static const struct twin twins[] = {
        {"ld.global.b32 %r0, [data+4];", "ld.shared.b32 %r0, [data+4];",
         "`ld.shared.b32` is for .shared; `data` is in .global"},
        {"ld.param.b32 %r0, [map];", "ld.b32 %r0, [map];", "`map` in .param has none"},
        {"ld.local.b32 %r0, [16];", "ld.shared.b32 %r0, [16];", "only in .local is a number"},
        {"ld.b32 %r0, [data];", "ld.const.b32 %r0, [data];", "`data` is in .global"},
        {"ld.shared::cta.b32 %r0, [s];", "ld.param.b32 %r0, [s];", "`s` is in .shared"},
        {"ld.global.b32 %r0, [data+8];", "ld.global.b32 %r0, [data+6];", "a multiple of 4"},
        {"ld.shared.b32 %r0, [s+4];", "ld.shared.v2.b32 {%r0, %r1}, [s+8];", "`s` is aligned to 4"},
        {"ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [dynamic+1024];",
         "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [dynamic+1032];", "the offset is 1032"},
        {"ld.global.b32 %r0, [data+60];", "ld.global.b32 %r0, [data+64];",
         "warning: `ld.global.b32` reaches beyond `data`, which has 64 bytes"},
        {"ld.global.b32 %r0, [data];", "ld.global.b32 %r0, [data+-4];", "reaches beyond"},
        {"cvta.global.u64 %rd0, data;", "cvta.shared.u64 %rd0, data;", "`data` is in .global"},
        {"prefetch.tensormap [%rd0];", "ld.global.b32 %r0, [k];", "a function is not data"},
    };
    CHECK_TWINS(twins);
}

static void targets_and_versions(void **state)
{
    (void)state;
    static const struct {
        const char *target, *version, *body, *message;
    } cases[] = {
        {"sm_80", "9.0", "fence.proxy.async;", "the target is sm_80"},
        {"sm_80", "9.0", "add.bf16 %rs0, %rs1, %rs2;",
         "`add.bf16` needs sm_90; the target is sm_80"},
        {"sm_90", "9.0", "wgmma.fence.sync.aligned;", "needs sm_90a; the target is sm_90"},
        {"sm_100a", "9.0", "wgmma.fence.sync.aligned;", "needs sm_90a; the target is sm_100a"},
        {"sm_90a", "9.0", "tcgen05.wait::ld.sync.aligned;",
         "needs sm_100a/f, sm_103a/f, sm_110a/f"},
        {"sm_120a", "9.0", "tcgen05.wait::ld.sync.aligned;", "the target is sm_120a"},
        {"sm_80", "9.0", "ld.shared::cluster.b32 %r0, [%r1];",
         "`.shared::cluster` of `ld.shared::cluster.b32` needs sm_90"},
        {"sm_80", "7.0", "ld.global.L1::no_allocate.b32 %r0, [%rd1];",
         "needs .version 7.4; the module says 7.0"},
        {"sm_80", "9.0", "mov.u32 %r0, %cluster_ctarank;", "%cluster_ctarank needs sm_90"},
        {"sm_90", "7.8", "mov.u32 %r0, %aggr_smem_size;", "needs .version 8.1"},
        {"sm_90", "7.0", "", "sm_90 needs .version 7.8; the module says 7.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *said = verdict(cases[i].target, cases[i].version, "", cases[i].body);
        if (!strstr(said, cases[i].message))
            fail_msg("%s\n says\n%s\n not\n%s", cases[i].body, said, cases[i].message);
    }
    assert_string_equal(verdict("sm_100f", "9.0", "", "tcgen05.wait::ld.sync.aligned;"), "");
    assert_string_equal(verdict("sm_103a", "9.0", "", "tcgen05.wait::ld.sync.aligned;"), "");
}

static void constants_in_range(void **state)
{
    (void)state;
    static const struct twin twins[] = {
        {"bfe.u32 %r0, %r1, 255, 0;", "bfe.u32 %r0, %r1, 256, 0;",
         "operand 3 of `bfe.u32` must be from 0 to 255, not 256"},
        {"bfe.s64 %rd0, %rd1, 4, 255;", "bfe.s64 %rd0, %rd1, 4, -1;",
         "must be from 0 to 255, not -1"},
        {"bfi.b32 %r0, %r1, %r2, 255, 0;", "bfi.b32 %r0, %r1, %r2, 256, 0;",
         "operand 4 of `bfi.b32` must"},
        {"bfi.b64 %rd0, %rd1, %rd2, 0, 255;", "bfi.b64 %rd0, %rd1, %rd2, 0, 300;",
         "operand 5 of `bfi.b64` must"},
        {"cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], 1048560;",
         "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], 1048576;",
         "must be from 0 to 1048560, not 1048576"},
        {"cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], 0;",
         "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r0], -16;",
         "must be from 0 to 1048560, not -16"},
        {"cp.async.bulk.prefetch.L2.global [%rd0], 16;",
         "cp.async.bulk.prefetch.L2.global [%rd0], 2097152;", "must be from 0 to 1048560"},
        {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r0], 16;",
         "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0], [%r0], 1048576;",
         "must be from 0 to 1048560"},
        {"mbarrier.init.shared.b64 [%r0], 1;", "mbarrier.init.shared.b64 [%r0], 0;",
         "operand 2 of `mbarrier.init.shared.b64` must be from 1 to 1048575, not 0"},
        {"mbarrier.init.shared.b64 [%r0], 1048575;", "mbarrier.init.shared.b64 [%r0], 1048576;",
         "must be from 1 to 1048575"},
        {"mbarrier.arrive.shared.b64 %rd0, [%r0], 2;", "mbarrier.arrive.shared.b64 %rd0, [%r0], 0;",
         "must be from 1 to 1048575"},
        {"mbarrier.arrive_drop.shared.b64 %rd0, [%r0], 2;",
         "mbarrier.arrive_drop.shared.b64 %rd0, [%r0], 0;", "must be from 1 to 1048575"},
        {"mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 0;",
         "mbarrier.arrive.expect_tx.shared.b64 %rd0, [%r0], 1048576;",
         "must be from -1048575 to 1048575"},
        {"mov.b64 %rd0, {%r0, %tid.x};", "mov.b32 %r0, {%rs0, %tid.x};", "%tid.x is a .u32"},
        {"st.global.v2.b32 [%rd0], {%r0, %tid.x};", "ld.global.v2.b32 {%r0, %tid.x}, [%rd0];",
         "writes here: a register is needed"},
        {"cvt.rn.relu.f16.f32 %r0, %f0;", "cvt.rn.relu.bf16.f32 %r0, %f0;",
         "does not hold a .bf16"},
    };
    CHECK_TWINS(twins);
}

static void calls(void **state)
{
    (void)state;
    static const char functions[] =
        ".func (.param .b32 r) f(.param .b32 a, .param .align 8 .b8 b[16]) { ret; }\n"
        ".func (.reg .b32 r) g(.reg .b64 a) { mov.b32 r, 1; ret; }\n"
        ".func h() { ret; }\n"
        ".func (.reg .v2 .f32 r) v(.reg .v2 .f32 a) { mov.v2.f32 r, a; ret; }\n"
        ".global .u64 table[2] = {0, g}; .global .u64 numbers[1] = {1};\n";
    static const struct twin twins[] = {
        {".param .b32 r; .param .b32 a; .param .align 8 .b8 b[16]; call (r), f, (a, b);",
         ".param .b32 r; .param .b32 a; call (r), f, (a);",
         "the call has 1 argument, the function 2"},
        {".param .b32 r; .param .b32 a; .param .align 8 .b8 b[16]; call (r), f, (a, b);",
         ".param .b32 r; .param .b32 a; .param .align 8 .b8 b[12]; call (r), f, (a, b);",
         "`b` has 12 bytes, parameter `b` has 16"},
        {"call (%r0), g, (%rd0);", "call (%r0), g, (%r1);", "does not hold parameter `a`, a .b64"},
        {"call (%r0), g, (7);", "call g, (%rd0);", "the call has 0 results, the function 1"},
        {"call h;", "call h, (1);", "the call has 1 argument, the function 0"},
        {"P: .callprototype _ (.param .b32 _); .param .b32 a; call %rd0, (a), P;",
         "P: .callprototype _ (.param .b64 _); .param .b32 a; call %rd0, (a), P;",
         "`a` has 4 bytes, parameter `_` has 8"},
        {"T: .calltargets h; call %rd0, T;", "call h; T: call %rd0, T;",
         "`T` names neither a prototype nor call targets"},
        {"call h;", "call k, (%rd0, map);", "`k` is a kernel, which is not called"},
        {"call (%r0), %rd0, (%rd1), table;", "call %rd0, (%rd1), table;",
         "the call has 0 results, the function 1"},
        {"call (%r0), %rd0, (%rd1), table;", "call (%r0), %rd0, (%rd1), numbers;",
         "`numbers` is not initialised with functions"},
        {"call (%r0), %rd0, (%rd1), table;", "call (%r0), %rd0, (%rd1), table+8;",
         "for a register its targets"},
        {".reg .v2 .f32 x; .reg .v2 .b32 y; call (x), v, (y);",
         ".reg .v2 .f32 x; .reg .v4 .f32 y; call (x), v, (y);",
         "register y.x (.f32) does not hold parameter `a`, a .v2 .f32"},
        {".reg .v2 .f32 x; call (_), v, (x);", ".reg .v2 .f32 x; call (%rd0), v, (x);",
         "register %rd0 (.b64) does not hold parameter `r`, a .v2 .f32"},
        {".reg .v2 .f32 x; call (x), v, (x);", ".reg .v2 .f32 x; call (x), v, (1.0);",
         "parameter `a` is a vector: a constant cannot be passed for it"},
        {".reg .v2 .f32 x; call (x), v, (x);", ".reg .v2 .f32 x; call (x), v, (%tid);",
         "parameter `a` is given neither a variable, a register nor a constant"},
        {".reg .v2 .b32 x; call (%r0), g, (x);", ".reg .v2 .b64 x; call (%r0), g, (x.y);",
         "an element of a vector, x.y (.b64), is not passed"},
    };
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        assert_string_equal(verdict("sm_90", "9.0", functions, twins[i].good), "");
        const char *bad = verdict("sm_90", "9.0", functions, twins[i].bad);
        if (!strstr(bad, twins[i].message))
            fail_msg("%s\n says\n%s\n not\n%s", twins[i].bad, bad, twins[i].message);
    }
}

static void declarations(void **state)
{
    (void)state;
    static const struct twin twins[] = {
        {".global .u32 x[2] = {1, 2};", ".global .u32 x[2] = {1, 2, 3};",
         "`x` has 2 elements, the initialiser 3"},
        {".global .u32 x[] = {1, 2};", ".global .u32 x[];", "`x` has no extent"},
        {".const .u32 x = 1;", ".shared .u32 x = 1;", "`x` is in .shared, where nothing can be"},
        {".extern .global .u32 x;", ".extern .global .u32 x = 1;", "defined elsewhere"},
        {".entry a() .blocksareclusters { ret; }", ".extern .global .u32 x[2][];",
         "`x`: only the first extent may be left out"},
        {".func (.param .b32 r) a() { ret; }", ".entry (.param .b32 r) a() { ret; }",
         "kernel `a` cannot give a result"},
        {".global .f32 x[2] = {1.0, 0f3f800000};", ".global .f32 x[2] = {1.0, 1};",
         "`x`: an integer cannot initialise a .f32"},
        {".global .b32 x[2] = {1.0, 2};", ".global .u32 x[2] = {1.0, 2};",
         "`x`: a float cannot initialise a .u32"},
        {".global .f16 x[2];", ".global .f16 x[2] = {0x3c00, 0};", "a .f16 cannot be initialised"},
        {".global .u64 x[2] = {data, generic(data)+4};", ".global .b64 x[1] = {data};",
         "`x`: an address cannot initialise a .b64"},
        {".global .u8 x[1] = {0xff00(data)};", ".global .u8 x[1] = {data};",
         "an address cannot initialise a .u8"},
        {".global .u64 x[1] = {data};", ".global .u64 x[1] = {dynamic};",
         "`dynamic` is in .shared; its address is not a constant"},
        {".func a() { ret; } .global .u64 x = a;", ".func a() { ret; } .global .u64 x = a+8;",
         "of function `a` only the address itself can be taken"},
        {".global .u32 x = 1;", ".global .u32 x = {1};", "`x` is no array or vector"},
        {".global .v2 .u32 x = {1, 2};", ".global .v2 .u32 x = 1;", "`x` is an array or vector"},
        {".global .v4 .f32 x;", ".global .v4 .f64 x;", "a vector has at most 128 bits"},
        {".const .b8 x[65535]; .const .b8 y; .extern .const .b8 z[9];",
         ".const .b8 x[65535]; .const .b16 y;",
         "with `y` the module has 65537 bytes in .const; 65536 are possible"},
        {".entry a() .maxntid 32 .maxnreg 32 { ret; }",
         ".entry a() .maxntid 32 .reqntid 32 { ret; }", ".reqntid does not go with .maxntid"},
        {".entry a() .reqnctapercluster 2 { ret; }",
         ".entry a() .reqnctapercluster 2 .maxclusterrank 4 { ret; }",
         ".maxclusterrank does not go with .reqnctapercluster"},
        {".entry a() .maxntid 1 { ret; }", ".entry a() .maxntid 0 { ret; }",
         ".maxntid takes numbers from 1"},
        {".func a() .noreturn { ret; }", ".func a() .maxntid 32 { ret; }",
         ".maxntid is for kernels"},
        {".func a(.reg .v2 .f32 x) { ret; }", ".func a(.param .v2 .f32 x) { ret; }",
         "`x`: there are no vectors in .param"},
        {".func a(.reg .b32 x) { ret; }", ".entry a(.reg .b32 x) { ret; }",
         "parameter `x` of a kernel must be a .param"},
    };
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        assert_string_equal(verdict("sm_90", "9.0", twins[i].good, ""), "");
        const char *bad = verdict("sm_90", "9.0", twins[i].bad, "");
        if (!strstr(bad, twins[i].message))
            fail_msg("%s\n says\n%s\n not\n%s", twins[i].bad, bad, twins[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modifiers),    cmocka_unit_test(operands),
        cmocka_unit_test(types),        cmocka_unit_test(memory),
        cmocka_unit_test(calls),        cmocka_unit_test(targets_and_versions),
        cmocka_unit_test(declarations), cmocka_unit_test(constants_in_range),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}

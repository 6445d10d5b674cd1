#include "bounds_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ARRAY = 1,
    VARIABLE = 2,
    CONSTANT = 4,
    SHARED = 8,
    DYNAMIC = 16,
    CLUSTER = 32,
    LOCAL = 64,
    PARAM = 128,
    TO_GLOBAL = 256,
    TO_SHARED = 512,
    TO_LOCAL = 1024,
    TO_CONST = 2048,
    TO_PARAM = 4096,
    IN_CALLEE = 8192, /* a function's parameter and result; a call's argument and result */
    RESULT = 16384,
    PASSED = 32768,
    RECEIVED = 65536
};
enum { O = BOUNDS_OBJECT };

#define GLOBALS (ARRAY | VARIABLE)
#define SHAREDS (SHARED | DYNAMIC | CLUSTER)
#define GENERICS (TO_GLOBAL | TO_SHARED | TO_LOCAL | TO_CONST | TO_PARAM)
#define READABLE (GLOBALS | CONSTANT | SHAREDS | LOCAL | PARAM | GENERICS | IN_CALLEE | RECEIVED)
#define WRITABLE (GLOBALS | SHAREDS | LOCAL | GENERICS | RESULT | PASSED)
#define ORDERED (GLOBALS | SHAREDS | TO_GLOBAL | TO_SHARED)

const struct bounds_space bounds_spaces[] = {
    {"array", ".global", NULL, "mov.u64 %base, %data;", ARRAY, 0, O, false, false, true},
    {"variable", ".global", "gv", "mov.u64 %base, gv;", VARIABLE, 0, O, false, false, true},
    {"constant", ".const", "cv", "mov.u64 %base, cv;", CONSTANT, 0, O, true, false, true},
    {"shared", ".shared", "sv", "mov.u64 %base, sv;", SHARED, 0, O, false, true, false},
    {"dynamic", ".shared", "dv", "mov.u64 %base, dv;", DYNAMIC, 0, O, false, true, false},
    {"cluster", ".shared::cluster", "sv", "mov.u64 %base, sv;", CLUSTER, 0, O, false, true, false},
    {"local", ".local", "lv", "mov.u64 %base, lv;", LOCAL, 0, O, false, true, false},
    {"param", ".param", "p", "mov.b64 %base, p;", PARAM, BOUNDS_HEAD, O + BOUNDS_HEAD, true, false,
     false},
    {"generic global", "", NULL, "cvta.global.u64 %base, %data;", TO_GLOBAL, 0, O, false, false,
     true},
    {"generic shared", "", NULL, "mov.u64 %base, sv; cvta.shared.u64 %base, %base;", TO_SHARED, 0,
     O, false, false, true},
    {"generic local", "", NULL, "mov.u64 %base, lv; cvta.local.u64 %base, %base;", TO_LOCAL, 0, O,
     false, false, true},
    {"generic const", "", NULL, "mov.u64 %base, cv; cvta.const.u64 %base, %base;", TO_CONST, 0, O,
     true, false, true},
    {"generic param", "", NULL, "mov.b64 %base, p; cvta.param.u64 %base, %base;", TO_PARAM,
     BOUNDS_HEAD, O + BOUNDS_HEAD, true, false, true},
    /* The kernel's frame has two objects; the function's frame, above it, has two more. */
    {"parameter", ".param", "fp", NULL, IN_CALLEE, 2 * O, 4 * O, false, false, false},
    {"result", ".param", "fr", NULL, RESULT, 3 * O, 4 * O, false, false, false},
    {"passed", ".param", "cp", NULL, PASSED, 0, 2 * O, false, false, false},
    {"received", ".param", "cr", NULL, RECEIVED, O, 2 * O, false, false, false},
};
const size_t bounds_space_count = sizeof bounds_spaces / sizeof *bounds_spaces;

#define ALL_LANES UINT32_MAX
#define LOAD(form, to, bytes)                                                                      \
    {                                                                                              \
        "ld" form " " to ", [%A];", bytes, bytes, 0, READABLE, ALL_LANES                           \
    }
#define STORE(form, of, bytes)                                                                     \
    {                                                                                              \
        "st" form " [%A], " of ";", bytes, bytes, BOUNDS_WRITES, WRITABLE, ALL_LANES               \
    }
#define STRONG_LOAD(form, to, bytes)                                                               \
    {                                                                                              \
        "ld" form " " to ", [%A];", bytes, bytes, 0, ORDERED, ALL_LANES                            \
    }
#define STRONG_STORE(form, of, bytes)                                                              \
    {                                                                                              \
        "st" form " [%A], " of ";", bytes, bytes, BOUNDS_WRITES, ORDERED, ALL_LANES                \
    }
#define UPDATE(text, bytes, spaces)                                                                \
    {                                                                                              \
        text, bytes, bytes, BOUNDS_WRITES, spaces, ALL_LANES                                       \
    }
#define ROWS(text, flags, lanes)                                                                   \
    {                                                                                              \
        text, 16, 16, BOUNDS_WHOLE | (flags), SHARED | DYNAMIC | TO_SHARED, lanes                  \
    }
#define MBARRIER(text)                                                                             \
    {                                                                                              \
        text, 8, 8, BOUNDS_WRITES, SHARED | DYNAMIC | TO_SHARED, ALL_LANES                         \
    }
#define OF_WARP(text, bytes, flags)                                                                \
    {                                                                                              \
        text, bytes, 4, BOUNDS_WHOLE | BOUNDS_UNIFORM | (flags),                                   \
            GLOBALS | SHARED | DYNAMIC | TO_GLOBAL | TO_SHARED, ALL_LANES                          \
    }

const struct bounds_family bounds_families[] = {
    LOAD("%S.u8", "%h0", 1),
    LOAD("%S.u16", "%h0", 2),
    LOAD("%S.u32", "%r0", 4),
    LOAD("%S.s32", "%d0", 4),
    LOAD("%S.u64", "%d0", 8),
    LOAD("%S.v2.u8", "{%h0, %h1}", 2),
    LOAD("%S.v2.b32", "{%r0, %r1}", 8),
    LOAD("%S.v4.u16", "{%h0, %h1, %h2, %h3}", 8),
    LOAD("%S.v4.f32", "{%f0, %f1, %f2, %f3}", 16),
    LOAD("%S.v2.b64", "{%d0, %d1}", 16),
    LOAD("%S.b128", "%q0", 16),
    STRONG_LOAD(".volatile%S.u32", "%r0", 4),
    STRONG_LOAD(".volatile%S.v2.f64", "{%g0, %g1}", 16),
    STRONG_LOAD(".relaxed.gpu%S.u64", "%d0", 8),
    STRONG_LOAD(".acquire.cta%S.v4.u32", "{%r0, %r1, %r2, %r3}", 16),
    STORE("%S.u8", "%h0", 1),
    STORE("%S.b16", "%h0", 2),
    STORE("%S.u32", "%r0", 4),
    STORE("%S.b64", "%d0", 8),
    STORE("%S.v2.u16", "{%h0, %h1}", 4),
    STORE("%S.v2.f32", "{%f0, 0f3f800000}", 8),
    STORE("%S.v4.b32", "{%r0, %r1, %r2, %r3}", 16),
    STORE("%S.v2.u64", "{%d0, %d1}", 16),
    STORE("%S.b128", "%q0", 16),
    STRONG_STORE(".volatile%S.u32", "%r0", 4),
    STRONG_STORE(".relaxed.sys%S.v2.u64", "{%d0, %d1}", 16),
    STRONG_STORE(".release.gpu%S.u16", "%h0", 2),
    {"ld.global.v8.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [%A];", 32, 32, 0, GLOBALS,
     ALL_LANES},
    {"st.global.v4.u64 [%A], {%d0, %d1, %d2, %d3};", 32, 32, BOUNDS_WRITES, GLOBALS, ALL_LANES},
    {"ldu.global.v2.u32 {%r0, %r1}, [%A];", 8, 8, 0, GLOBALS, ALL_LANES},
    {"ld.global.nc.u32 %r0, [%A];", 4, 4, 0, GLOBALS, ALL_LANES},
    UPDATE("atom%S.add.u32 %r0, [%A], %r1;", 4, ORDERED),
    UPDATE("atom%S.max.s64 %d0, [%A], %d1;", 8, ORDERED),
    UPDATE("atom%S.cas.b16 %h0, [%A], %h1, %h2;", 2, ORDERED),
    UPDATE("atom%S.cas.b64 %d0, [%A], %d1, %d2;", 8, ORDERED),
    UPDATE("atom%S.exch.b128 %q0, [%A], %q1;", 16, ORDERED),
    UPDATE("atom.global.v4.f32.add {%f0, %f1, %f2, %f3}, [%A], {%f4, %f5, %f6, %f7};", 16, GLOBALS),
    UPDATE("red%S.add.f32 [%A], %f0;", 4, ORDERED),
    UPDATE("red%S.or.b64 [%A], %d0;", 8, ORDERED),
    UPDATE("red.global.add.noftz.v8.f16 [%A], {%h0, %h1, %h2, %h3, %h4, %h5, %h6, %h7};", 16,
           GLOBALS),
    UPDATE("cp.async.ca.shared.global [%A], [%data], 4;", 4, SHARED | DYNAMIC),
    UPDATE("cp.async.ca.shared.global [%A], [%data], 8;", 8, SHARED | DYNAMIC),
    UPDATE("cp.async.cg.shared.global [%A], [%data], 16;", 16, SHARED | DYNAMIC),
    UPDATE("cp.async.ca.shared.global [%A], [%data], 16, 0;", 16, SHARED | DYNAMIC),
    {"cp.async.ca.shared.global [sv], [%A], 4;", 4, 4, 0, GLOBALS, ALL_LANES},
    {"cp.async.ca.shared.global [sv+16], [%A], 16; cp.async.wait_all;", 16, 16, 0, GLOBALS,
     ALL_LANES},
    {"cp.async.ca.shared.global [sv], [%A], 16, 4; cp.async.commit_group;", 4, 16, 0, GLOBALS,
     ALL_LANES},
    {"cp.async.ca.shared.global [sv], [%A], 8, 0;", 8, 8, BOUNDS_NO_ACCESS, GLOBALS, ALL_LANES},
    MBARRIER("mbarrier.init%S.b64 [%A], 3;"),
    MBARRIER("mbarrier.inval%S.b64 [%A];"),
    MBARRIER("mbarrier.arrive%S.b64 %d0, [%A];"),
    MBARRIER("mbarrier.arrive_drop%S.b64 %d0, [%A];"),
    MBARRIER("mbarrier.arrive.expect_tx.relaxed.cta%S.b64 %d0, [%A], 16;"),
    MBARRIER("mbarrier.test_wait%S.b64 %p2, [%A], %d1;"),
    MBARRIER("mbarrier.try_wait.parity%S.b64 %p2, [%A], %r1;"),
    MBARRIER("cp.async.mbarrier.arrive.noinc%S.b64 [%A];"),
    ROWS("ldmatrix.sync.aligned.m8n8.x1%S.b16 {%r0}, [%A];", 0, 0xff),
    ROWS("ldmatrix.sync.aligned.m8n8.x2.trans%S.b16 {%r0, %r1}, [%A];", 0, 0xffff),
    ROWS("ldmatrix.sync.aligned.m8n8.x4%S.b16 {%r0, %r1, %r2, %r3}, [%A];", 0, ALL_LANES),
    ROWS("stmatrix.sync.aligned.m8n8.x1%S.b16 [%A], {%r0};", BOUNDS_WRITES, 0xff),
    ROWS("stmatrix.sync.aligned.m8n8.x4.trans%S.b16 [%A], {%r0, %r1, %r2, %r3};", BOUNDS_WRITES,
         ALL_LANES),
    OF_WARP(
        "wmma.load.a.sync.aligned.row.m16n16k16%S.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, "
        "[%A], 16;",
        512, 0),
    OF_WARP("wmma.load.b.sync.aligned.col.m16n16k16%S.s8 {%r0, %r1}, [%A];", 256, 0),
    OF_WARP(
        "wmma.store.d.sync.aligned.row.m16n16k16%S.f32 [%A], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, "
        "%f7}, 16;",
        1024, BOUNDS_WRITES),
    {"prefetch.global.L2 [%A];", 1, 1, BOUNDS_NO_ACCESS, GLOBALS, ALL_LANES},
    {"isspacep.shared %p2, %R;", 1, 1, BOUNDS_NO_ACCESS, GENERICS, ALL_LANES},
    {"cvta.to.global.u64 %d0, %R;", 1, 1, BOUNDS_NO_ACCESS, GENERICS, ALL_LANES},
};
const size_t bounds_family_count = sizeof bounds_families / sizeof *bounds_families;

/* --- text --- */

static void add_instruction(struct text *out, const struct bounds_space *s,
                            const struct bounds_family *f, const char *address, const char *reg)
{
    text_add(out, "@%p0 ");
    for (const char *at = f->text; *at; at++) {
        const char *put = at[0] != '%'   ? NULL
                          : at[1] == 'S' ? s->suffix
                          : at[1] == 'A' ? address
                          : at[1] == 'R' ? reg
                                         : NULL;
        if (put) {
            text_add(out, put);
            at++;
        } else {
            text_add_char(out, *at);
        }
    }
    text_add(out, "\n");
}

static const char head[] = ".version 8.8\n.target sm_100\n.address_size 64\n"
                           ".global .align 32 .b8 gv[2048];\n.const .align 32 .b8 cv[2048];\n"
                           ".shared .align 32 .b8 sv[2048];\n.extern .shared .align 32 .b8 dv[];\n";

#define REGISTERS                                                                                  \
    ".reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b16 %h<9>; .reg .f32 %f<9>; .reg .f64 %g<3>;\n"       \
    ".reg .b128 %q<2>; .reg .pred %p<3>; .reg .b32 %short, %lane; .reg .b64 %base, %long, %data, " \
    "%table;\n"

static const char kernel[] =
    ".visible .entry k(.param .u64 table, .param .u64 data, .param .u32 guard, .param .u32 branch, "
    ".param .align 16 .b8 p[2048])\n{\n" REGISTERS;

static const char masks[] =
    "mov.u32 %lane, %laneid; ld.param.u64 %table, [table]; ld.param.u64 %data, [data];\n"
    "mad.wide.u32 %table, %lane, 8, %table; ld.global.u64 %long, [%table];\n"
    "ld.param.u32 %r0, [guard]; shr.u32 %r0, %r0, %lane; and.b32 %r0, %r0, 1;\n"
    "setp.ne.u32 %p0, %r0, 0;\n"
    "ld.param.u32 %r0, [branch]; shr.u32 %r0, %r0, %lane; and.b32 %r0, %r0, 1;\n"
    "setp.eq.u32 %p1, %r0, 0;\n";

static const char passing[] = ".param .align 16 .b8 cp[2048]; .param .align 16 .b8 cr[2048];\n";

bool bounds_kernel(struct text *out, const struct bounds_space *s, const struct bounds_family *f,
                   enum bounds_way way, int64_t immediate)
{
    char address[96];
    const char *reg = way == BOUNDS_SHORT_REGISTER ? "%short" : "%long";
    const bool callee = (s->set & (IN_CALLEE | RESULT)) != 0;
    const bool calls = callee || (s->set & (PASSED | RECEIVED)) != 0;
    if (!(f->spaces & s->set) || (way == BOUNDS_SHORT_REGISTER && !s->narrow) ||
        (way == BOUNDS_IMMEDIATE ? !s->symbol : !s->base) ||
        (strstr(f->text, "%R") && way != BOUNDS_REGISTER))
        return false;
    snprintf(address, sizeof address, "%s", reg);
    if (way == BOUNDS_IMMEDIATE || way == BOUNDS_BOTH)
        snprintf(address, sizeof address, "%s+%" PRId64, way == BOUNDS_BOTH ? reg : s->symbol,
                 immediate);
    text_add(out, head);
    if (calls) {
        text_add(
            out,
            ".func (.param .align 16 .b8 fr[2048]) f(.param .align 16 .b8 fp[2048])\n{\n" REGISTERS
            "setp.eq.u32 %p0, 0, 0;\n");
        if (callee)
            add_instruction(out, s, f, address, reg);
        text_add(out, "ret;\n}\n");
    }
    text_add(out, kernel);
    text_add(out, s->set & (LOCAL | TO_LOCAL) ? ".local .align 32 .b8 lv[2048];\n" : "");
    text_add(out, masks);
    text_printf(out, "%s\nadd.s64 %%long, %%long, %%base; cvt.u32.u64 %%short, %%long;\n",
                s->base ? s->base : "mov.u64 %base, 0;");
    text_add(out, "@%p1 bra end;\n");
    text_add(out, calls ? "{\n" : "");
    text_add(out, calls ? passing : "");
    if (!calls || s->set & PASSED)
        add_instruction(out, s, f, address, reg);
    text_add(out, calls ? "call (cr), f, (cp);\n" : "");
    if (s->set & RECEIVED)
        add_instruction(out, s, f, address, reg);
    text_add(out, calls ? "}\n" : "");
    text_add(out, "end: ret;\n}\n");
    return true;
}

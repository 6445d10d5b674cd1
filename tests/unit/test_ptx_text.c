/* PTX text: texts that are read and printed again, and refused texts with their messages. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "arena_helper.h"

#include <stdlib.h>
#include <string.h>

/* The source must outlive everything that points into it: the arena keeps it. */
static struct ptx_module *parse(const char *text, struct diag *d)
{
    struct source *source = arena_new(&arena, struct source);
    *source = (struct source){"t.ptx", text, strlen(text)};
    diag_init(d, &arena);
    return ptx_parse(&arena, source, d);
}

static const char *messages(const struct diag *d)
{
    struct text t;
    text_init(&t, &arena);
    diag_render(&t, d, false);
    return t.data;
}

static const char *printed(const struct ptx_module *m)
{
    struct text t;
    text_init(&t, &arena);
    ptx_print(&t, m);
    return t.data;
}

static const char *print_again(const char *text)
{
    struct diag d;
    struct ptx_module *m = parse(text, &d);
    if (!m)
        fail_msg("%s", messages(&d));
    return printed(m);
}

/* --- our own text prints as it is --- */

static const char ours[] =
    ".version 8.0\n"
    ".target sm_90\n"
    ".address_size 64\n"
    "\n"
    ".file 1 \"scale.tile\"\n"
    ".file 2 \"\\303\\251 \\042\\134\\012.tile\"\n"
    ".extern .shared .align 16 .b8 smem[];\n"
    ".const .align 4 .f32 factors[3] = {0f3F800000, 0fC0000000, 0d3FF8000000000000};\n"
    ".visible .global .align 8 .u64 table[2][2] = {{1, -2}, {factors+4, generic(factors)}};\n"
    ".func (.param .b32 r) twice(\n"
    "    .param .b32 x\n"
    ");\n"
    "\n"
    ".visible .entry scale(\n"
    "    .param .u64 .ptr .global .align 16 p,\n"
    "    .param .align 8 .b8 s[24],\n"
    "    .param .u32 n\n"
    ")\n"
    ".maxntid 128, 1, 1\n"
    ".minnctapersm 2\n"
    "{\n"
    "    .local .align 4 .b8 room[16];\n"
    "    .reg .pred %p<3>;\n"
    "    .reg .b32 %r<6>;\n"
    "    .reg .b64 %rd<4>;\n"
    "    .reg .f32 %f<4>;\n"
    "    .loc 1 3 5\n"
    "    ld.param.u64 %rd0, [p];\n"
    "    ld.param.v2.b32 {%r0, %r1}, [s+8];\n"
    "    mov.u32 %r2, %tid.x;\n"
    "    cvta.to.global.u64 %rd1, %rd0;\n"
    "    setp.lt.u32 %p0|%p1, %r2, 4;\n"
    "    @!%p0 bra $done;\n"
    "$again:\n"
    "    .loc 1 4 9, function_name $name+2, inlined_at 1 3 5\n"
    "    ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f0, %f1, %f2, _}, [%rd1+-16];\n"
    "    fma.rn.f32 %f0, %f1, 0f40000000, %f2;\n"
    "    .pragma \"nounroll\";\n"
    "    @%p1 bra $again;\n"
    "    {\n"
    "        .param .b32 given;\n"
    "        .param .b32 taken;\n"
    "        st.param.b32 [taken], %r2;\n"
    "        call.uni (given), twice, (taken);\n"
    "        ld.param.b32 %r3, [given];\n"
    "    }\n"
    "    mov.b64 %rd2, {%r0, %r1};\n"
    "    mov.u64 %rd3, table+8;\n"
    "    bar.sync 0;\n"
    "    st.shared.b32 [smem+4], -1;\n"
    "    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0, "
    "{%r1, %r2}], [%r3];\n"
    "$table: .branchtargets $again, $done;\n"
    "    brx.idx %r2, $table;\n"
    "$done:\n"
    "    ret;\n"
    "}\n"
    ".section .debug_str\n"
    "{\n"
    "$name:\n"
    ".b8 95, 90, 0\n"
    ".b32 .debug_abbrev\n"
    ".b64 $name+3\n"
    "}\n";

static void print_is_the_inverse_of_parse(void **state)
{
    (void)state;
    struct diag d;
    struct ptx_module *m = parse(ours, &d);
    if (!m || !ptx_verify(m, &d))
        fail_msg("%s", messages(&d));
    /* the line of branch targets is indented */
    char *expected = arena_string(&arena, ours, strlen(ours));
    const char *table = strstr(expected, "$table: .b");
    struct text t;
    text_init(&t, &arena);
    text_add_n(&t, expected, (size_t)(table - expected));
    text_printf(&t, "    %s", table);
    assert_string_equal(printed(m), t.data);
    assert_string_equal(print_again(t.data), t.data);
}

/* --- meanings of names --- */

static const struct ptx_function *only_function(const struct ptx_module *m)
{
    for (size_t i = 0; i < m->items.count; i++)
        if (m->items.data[i].kind == PTX_ITEM_FUNCTION)
            return m->items.data[i].function;
    return NULL;
}

static const struct ptx_instruction *nth_instruction(const struct ptx_function *f, int n)
{
    for (size_t i = 0; i < f->body.count; i++)
        if (f->body.data[i].kind == PTX_AT_INSTRUCTION && n-- == 0)
            return f->body.data[i].instruction;
    return NULL;
}

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

static void inner_names_hide_outer_ones(void **state)
{
    (void)state;
    struct diag d;
    struct ptx_module *m = parse(HEAD ".entry k() {\n"
                                      ".reg .b32 %r<3>, x;\n"
                                      "{ .reg .b32 %r<2>; .reg .b32 x;\n"
                                      "  mov.b32 %r1, 1; mov.b32 %r2, 2; mov.b32 x, 3; }\n"
                                      "mov.b32 %r1, 4; mov.b32 x, 5;\n"
                                      "ret; }\n",
                                 &d);
    assert_non_null(m);
    const struct ptx_function *f = only_function(m);
    assert_int_equal(f->registers.count, 7);
    const int registers[] = {5, 2, 6, 1, 3};
    for (int i = 0; i < 5; i++)
        assert_int_equal(nth_instruction(f, i)->operands[0].reg, registers[i]);
    assert_string_equal(ptx_register_name(&arena, f, 5), "%r1");
    assert_string_equal(ptx_register_name(&arena, f, 6), "x");
}

static void labels_belong_to_braces(void **state)
{
    (void)state;
    struct diag d;
    struct ptx_module *m = parse(HEAD ".entry k() {\n"
                                      "{ bra L; L: bra out; }\n"
                                      "{ L: bra L; }\n"
                                      "out: ret; }\n",
                                 &d);
    assert_non_null(m);
    const struct ptx_function *f = only_function(m);
    const struct ptx_label *first = nth_instruction(f, 0)->operands[0].label;
    const struct ptx_label *out = nth_instruction(f, 1)->operands[0].label;
    const struct ptx_label *second = nth_instruction(f, 2)->operands[0].label;
    assert_ptr_not_equal(first, second);
    assert_string_equal(out->name, "out");
    assert_int_equal(f->body.data[out->statement].label == out, true);
    assert_true(first->defined && second->defined && out->defined);
    assert_int_equal(f->labels.count, 3);
    for (size_t i = 0; i < f->labels.count; i++)
        assert_true(f->body.data[f->labels.data[i]->statement].label == f->labels.data[i]);
}

static void lines_of_instructions(void **state)
{
    (void)state;
    struct diag d;
    struct ptx_module *m = parse(HEAD ".entry k() {\n.reg .b32 r;\nmov.b32 r, 0;\n.loc 1 7 3\n"
                                      "mov.b32 r, 1;\nmov.b32 r, 2;\nret; }\n",
                                 &d);
    assert_non_null(m);
    const struct ptx_function *f = only_function(m);
    assert_null(nth_instruction(f, 0)->line);
    assert_int_equal(nth_instruction(f, 1)->line->line, 7);
    assert_ptr_equal(nth_instruction(f, 1)->line, nth_instruction(f, 2)->line);
}

static void constants(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"0x7fffffffU", 0x7fffffff},
                 {"-1", -1},
                 {"0b101", 5},
                 {"017", 15},
                 {"0", 0},
                 {"2+3*4", 14},
                 {"(2+3)*4", 20},
                 {"-7/2", -3},
                 {"-7 % 4", 1}, /* in .u64, like ptxas */
                 {"7%4", 3},
                 {"1<<4|3", 19},
                 {"~0", -1},
                 {"!5", 0},
                 {"3>2?7:8", 7},
                 {"1==1&&2!=2", 0},
                 {"-8>>1", -4},
                 {"18446744073709551615", -1},
                 {"WARP_SZ*2", 64},
                 {"(.s64)5", 5},
                 {"1<<99", 0},
                 {"0xffffffffffffffff/2", INT64_MAX},
                 {"-1/2U", INT64_MAX},
                 {"0x8000000000000000>>4", 0x0800000000000000},
                 {"(.u64)(-16)>>60", 15},
                 {"~0>>63", 1},
                 {"0xffffffffffffffff>1", 1},
                 {"-1>1U", 1},
                 {"(-5&12)/-2", -4},
                 {"(1?-5:0U)>>4", -1},
                 {"1?2:0?4:5", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag d;
        struct ptx_module *m =
            parse(arena_printf(&arena, HEAD ".global .u64 x = %s;\n", cases[i].text), &d);
        assert_non_null(m);
        assert_int_equal((int64_t)ptx_find_variable(m, "x")->initial->bits, cases[i].value);
    }
}

static void floats(void **state)
{
    (void)state;
    const char *text = print_again(HEAD ".global .f64 x[3] = {1.5, -0d4000000000000000, 1e3};\n"
                                        ".global .f32 y = -0f3f800000;\n");
    assert_non_null(strstr(text, "{0d3FF8000000000000, 0dC000000000000000, 0d408F400000000000}"));
    assert_non_null(strstr(text, "y = 0fBF800000;"));
}

static uint64_t locate(void *user, const struct ptx_variable *variable,
                       const struct ptx_function *function, bool generic)
{
    (void)user;
    (void)variable;
    return (function ? 0x9000 : 0x1200) + (generic ? 0x70000000u : 0);
}

static void images(void **state)
{
    (void)state;
    struct diag d;
    struct ptx_module *m = parse(HEAD ".func f() { ret; }\n"
                                      ".global .u8 a[4] = {1, -2, 300};\n"
                                      ".global .u16 b[2][2] = {{1}, {2, 3}};\n"
                                      ".global .u16 c[2][2] = {1, 2, 3};\n"
                                      ".global .f32 e[] = {1.5, 0f40000000};\n"
                                      ".global .v2 .u8 g[2] = {{1, 2}, {3}};\n"
                                      ".global .u64 p[3] = {a+4, generic(a), f};\n"
                                      ".global .u8 q[3] = {0xFF(a), 0xFF00(generic(a)+3), 7};\n",
                                 &d);
    assert_non_null(m);
    static const struct {
        const char *name;
        size_t size;
        const char *bytes;
    } cases[] = {{"a", 4, "\x01\xfe\x2c\0"},
                 {"b", 8, "\1\0\0\0\2\0\3\0"},
                 {"c", 8, "\1\0\2\0\3\0\0\0"},
                 {"e", 8, "\0\0\xc0\x3f\0\0\0\x40"},
                 {"g", 4, "\1\2\3\0"},
                 {"p", 24, "\x04\x12\0\0\0\0\0\0\0\x12\0\x70\0\0\0\0\0\x90\0\0\0\0\0\0"},
                 {"q", 3, "\0\x12\7"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[32];
        const struct ptx_variable *v = ptx_find_variable(m, cases[i].name);
        assert_int_equal(ptx_variable_size(v), cases[i].size);
        ptx_variable_image(v, bytes, locate, NULL);
        assert_memory_equal(bytes, cases[i].bytes, cases[i].size);
    }
}

static void modifiers_are_put_in_order(void **state)
{
    (void)state;
    const char *text = print_again(HEAD ".entry k() { .reg .b64 a; .reg .b32 r;\n"
                                        "atom.global.add.relaxed.gpu.u32 r, [a], 1;\n"
                                        "ld.nc.global.u32 r, [a]; ret; }\n");
    assert_non_null(strstr(text, "atom.relaxed.gpu.global.add.u32 r, [a], 1;"));
    assert_non_null(strstr(text, "ld.global.nc.u32 r, [a];"));
}

static void versions(void **state)
{
    (void)state;
    struct diag d;
    static const struct {
        const char *target, *body;
        int version;
    } cases[] = {
        {"sm_80", "ret;", 70},
        {"sm_86", "ret;", 71},
        {"sm_90", "ret;", 78},
        {"sm_120a", "ret;", 87},
        {"sm_80", ".reg .b32 r; ld.shared::cta.b32 r, [r]; ret;", 78},
        {"sm_80", ".reg .b64 a; .reg .b32 r; ld.global.L1::no_allocate.b32 r, [a]; ret;", 74},
        {"sm_90", ".reg .b128 q; ret;", 83},
        {"sm_90", ".reg .b32 r; mov.u32 r, %aggr_smem_size; ret;", 81},
        {"sm_90", "barrier.cluster.arrive.release; ret;", 80},
        {"sm_80", ".loc 1 1 1, function_name a, inlined_at 1 2 3\nret;", 72}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ptx_module *m = parse(arena_printf(&arena,
                                                  ".version 9.0\n.target %s\n.address_size 64\n"
                                                  ".entry k() { %s }\n",
                                                  cases[i].target, cases[i].body),
                                     &d);
        assert_non_null(m);
        assert_int_equal(ptx_lowest_version(m), cases[i].version);
    }
}

/* --- text that prints in another form --- */

/* Vectors of registers print as declared; their uses print as their elements. */
static void vectors_of_registers(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {".reg .v4 .f32 v;", ".reg .v4 .f32 v;"},
        {".reg .v2 .b64 %v<3>; mov.b64 %v2.x, %v1.y;",
         ".reg .v2 .b64 %v<3>;\n    mov.b64 %v2.x, %v1.y;"},
        {".reg .v2 .b32 v; add.u32 v.r, v.g, 1;", "add.u32 v.x, v.y, 1;"},
        {".reg .v2 .b32 v; mov.b64 q, v;", "mov.b64 q, {v.x, v.y};"},
        {".reg .v4 .b32 v; ld.global.v4.b32 v, [q];",
         "ld.global.v4.b32 {v.x, v.y, v.z, v.w}, [q];"},
        {".reg .v2 .b32 v, w; mov.v2.b32 v, w;", "mov.b32 v.x, w.x;\n    mov.b32 v.y, w.y;"},
        {".reg .v2 .b32 v; mov.v2.b32 v, {v.y, r};", "mov.b32 v.x, v.y;\n    mov.b32 v.y, r;"},
        {".reg .v2 .b32 v; mov.v2.b32 v, {r, v.x};", "mov.b32 v.y, v.x;\n    mov.b32 v.x, r;"},
        {".reg .v2 .b32 v; mov.v2.b32 v, {v.y, v.x};",
         "    {\n        .reg .b32 %kept0;\n        mov.b32 %kept0, v.x;\n        mov.b32 v.x, "
         "v.y;\n"
         "        mov.b32 v.y, %kept0;\n    }\n"},
        {".reg .b32 a, b, c; mov.v4.b32 {r, a, b, c}, {a, r, c, b};",
         "        mov.b32 a, %kept0;\n        .reg .b32 %kept1;\n        mov.b32 %kept1, b;\n"
         "        mov.b32 b, c;\n        mov.b32 c, %kept1;\n    }\n"},
        {".reg .b32 a, b, c; mov.v4.b32 {r, a, b, c}, {a, b, c, r};",
         "        mov.b32 r, a;\n        mov.b32 a, b;\n        mov.b32 b, c;\n"
         "        mov.b32 c, %kept0;\n    }\n"},
        {".reg .b16 %kept<2>; mov.v2.u16 {%kept0, %kept1}, {%kept1, %kept0};",
         ".reg .b16 %kept2;\n        mov.u16 %kept2, %kept0;"},
        {".reg .pred p; .reg .b32 a; @p mov.v2.b32 {r, a}, {a, r};",
         "mov.b32 %kept0, r;\n        @p mov.b32 r, a;\n        @p mov.b32 a, %kept0;"},
        {".reg .b32 a; mov.v4.b32 {r, a, r, _}, {a, r, 5, 7};",
         ".reg .b32 a;\n    mov.b32 a, r;\n    mov.b32 r, 5;\n}"},
        {".reg .v2 .b32 v; { .reg .b32 v; mov.b32 v, 3; }", "mov.b32 v, 3;"},
        {".reg .v4 .u32 v; mov.v4.u32 {r, _, _, v.x}, %tid;",
         "    mov.u32 r, %tid.x;\n    mov.u32 v.x, 0;\n"},
        {"mov.u32 r, %ntid.w;", "mov.u32 r, 0;"},
        {"mov.b64 q, {r, %tid.x};", "mov.b64 q, {r, %tid.x};"},
        {"st.global.v2.u32 [q], {%laneid, r};", "st.global.v2.u32 [q], {%laneid, r};"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag d;
        struct ptx_module *m = parse(
            arena_printf(&arena, HEAD ".entry k() { .reg .b32 r; .reg .b64 q; %s }", cases[i][0]),
            &d);
        if (!m || !ptx_verify(m, &d))
            fail_msg("%s\n%s", cases[i][0], messages(&d));
        const char *text = printed(m);
        if (!strstr(text, cases[i][1]))
            fail_msg("%s\n is not in\n%s", cases[i][1], text);
        assert_string_equal(print_again(text), text);
    }
}

/* As parameters, vectors are passed whole, by their names. */
static void vectors_as_parameters(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        ".func (.reg .v2 .f32 o) f(\n    .reg .v2 .f32 i\n);",
        ".func (.reg .v2 .f32 o) f(\n    .reg .v2 .f32 i\n)\n{\n",
        "mov.f32 o.x, i.y;",
        "call (v1), f, (w);",
        "call (v0), q, (v1), p;",
        "p: .callprototype (.reg .v2 .f32 _) _ (.reg .v2 .f32 _);",
    };
    struct diag d;
    struct ptx_module *m =
        parse(HEAD ".func (.reg .v2 .f32 o) f(.reg .v2 .f32 i);\n"
                   ".func (.reg .v2 .f32 o) f(.reg .v2 .f32 i)\n"
                   "{ mov.f32 o.x, i.y; mov.f32 o.y, i.x; ret; }\n"
                   ".entry k() { .reg .v2 .f32 v<2>; .reg .v2 .u32 w; .reg .b64 q;\n"
                   "call (v1), f, (w); mov.b64 q, f;\n"
                   "p: .callprototype (.reg .v2 .f32 _) _ (.reg .v2 .f32 _);\n"
                   "call (v0), q, (v1), p; }",
              &d);
    if (!m || !ptx_verify(m, &d))
        fail_msg("%s", messages(&d));
    const char *text = printed(m);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(text, wanted[i]))
            fail_msg("%s\n is not in\n%s", wanted[i], text);
    assert_string_equal(print_again(text), text);
}

static void other_ways_to_write(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {".pragma \"a\", \"b\";", ".pragma \"a\";\n    .pragma \"b\";"},
        {".reg .b32 %0, %1a; mov.b32 %0, %1a;", "mov.b32 %0, %1a;"},
        {".reg .b32 %0; mov.b32 %0, 7 % 4;", "mov.b32 %0, 3;"},
        {"mov.f64 d, 1.;", "mov.f64 d, 0d3FF0000000000000;"},
        {"mov.f64 d, .5;", "mov.f64 d, 0d3FE0000000000000;"},
        {"mov.f64 d, -5.e-1;", "mov.f64 d, 0dBFE0000000000000;"},
        {"mov.f64 d, .5e+1;", "mov.f64 d, 0d4014000000000000;"},
        {"cvt.rn.relu.f16.f32 r, f;", "cvt.rn.relu.f16.f32 r, f;"},
        {"call (r), q, (r), table;", "call (r), q, (r), table;"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag d;
        struct ptx_module *m = parse(
            arena_printf(&arena,
                         HEAD ".func (.reg .b32 y) g(.reg .b32 x) { mov.b32 y, x; ret; }\n"
                              ".global .u64 table[1] = {g};\n"
                              ".entry k() { .reg .b32 r; .reg .b64 q; .reg .f32 f; .reg .f64 d; %s "
                              "}",
                         cases[i][0]),
            &d);
        if (!m || !ptx_verify(m, &d))
            fail_msg("%s\n%s", cases[i][0], messages(&d));
        if (!strstr(printed(m), cases[i][1]))
            fail_msg("%s\n is not in\n%s", cases[i][1], printed(m));
    }
    const char *text = print_again(".version 7.0\n.target sm_80, debug, texmode_independent\n"
                                   ".address_size 64\n");
    assert_non_null(strstr(text, ".target sm_80, texmode_independent, debug\n"));
    text = print_again(HEAD ".pragma \"a\", \"b\"; .entry k() .pragma \"c\", \"d\"; { ret; }");
    assert_non_null(strstr(text, ".pragma \"a\";\n.pragma \"b\";\n"));
    assert_non_null(strstr(text, "\n.pragma \"c\";\n.pragma \"d\";\n{"));
}

/* --- refused texts --- */

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "t.ptx:1:1: error: expected .version"},
        {".version 9", "t.ptx:1:10: error: expected a version like 8.0, found `9`"},
        {".version 9.0\n.target sm_91\n", "t.ptx:2:9: error: unknown target `sm_91`"},
        {".version 9.0\n.target sm_90b\n", "the nearest is sm_90"},
        {".version 9.0\n.target sm_90\n.address_size 32\n", "only programs with 64-bit addresses"},
        {HEAD ".entry k() { foo.s32 a; }", "t.ptx:4:14: error: unknown instruction `foo`"},
        {HEAD ".entry k() { ad.s32 a; }", "the nearest is `add`"},
        {HEAD ".entry k() { add.s33 a; }", "t.ptx:4:17: error: unknown modifier `.s33` of `add`"},
        {HEAD ".entry k() { add.s33 a; }", "the nearest is `.s3"},
        {HEAD ".entry k() { .reg .b32 %r<2>; mov.b32 %r1, %r2; }", "unknown name `%r2`"},
        {HEAD ".entry k() { .reg .b32 first; mov.b32 frist, 1; }", "the nearest is `first`"},
        {HEAD ".entry k() { bra L; }", "t.ptx:4:18: error: unknown label `L`"},
        {HEAD ".entry k() { { L: } bra L; }", "unknown label `L`"},
        {HEAD ".entry k() { L: L: ret; }", "label `L` is already defined"},
        {HEAD ".entry k() { .reg .b32 a; .reg .b32 a; }", "`a` is declared already"},
        {HEAD ".entry k() { ret }", "expected an operand, found `}`"},
        {HEAD ".entry k() { .reg .b32 r; mov.b32 r, 1 }", "expected `;` after the instruction"},
        {HEAD ".entry k() { ret; ", "this brace is not closed"},
        {HEAD ".entry k() { .reg .b32 a; @a ret; }", "a guard is a predicate register"},
        {HEAD ".entry k() { .reg .v4 .f64 a; }", "there are no registers of type .v4 .f64"},
        {HEAD ".entry k() { .reg .v2 .pred a; }", "there are no registers of type .v2 .pred"},
        {HEAD ".entry k() { .reg .v2 .b32 a; mov.b32 a.x, a.z; }",
         "t.ptx:4:45: error: `a` is a vector of 2 registers"},
        {HEAD ".entry k() { .reg .v2 .b64 a; prefetch.global.L1 [a.x]; }",
         "an element of a vector cannot be an address"},
        {HEAD ".global .b32 x; .entry k() { prefetch.global.L1 [x+140737488355328]; }",
         "t.ptx:4:51: error: an offset of 2^47 or more bytes"},
        {HEAD ".func f(.reg .v2 .pred a) { ret; }", "there are no registers of type .v2 .pred"},
        {HEAD ".func f(.reg .v2 .b32 a) { call f, ({a.x, a.y}); }",
         "expected an argument, found `{`"},
        {HEAD ".entry k() { .reg .v2 .b32 a; mov.v2.b32 a, %tid; }", "`mov.v2` takes two vectors"},
        {HEAD ".entry k() { .reg .v2 .pred a; mov.v4.b64 a, %tid; }", "of type .v2 .pred"},
        {HEAD ".entry k() { .reg .f64 d; mov.f64 d, .e5; }", "found `.e5`"},
        {HEAD ".entry k() { tex.2d.v4.f32.f32 a; }",
         "t.ptx:4:14: error: textures and surfaces are not supported: tex\n"},
        {HEAD ".entry k() { sust.b.2d.b32.trap a; }",
         "textures and surfaces are not supported: sust\n"},
        {HEAD ".entry k() { vadd.s32.s32.s32 a; }",
         "scalar video instructions are not supported: vadd\n"},
        {HEAD ".global .u32 x = 1/0;", "division by zero"},
        {HEAD ".global .u32 x = 99999999999999999999;", "does not fit 64 bits"},
        {HEAD ".global .u32 x = 0f3f8;", "expected 8 hexadecimal digits after 0f"},
        {HEAD ".global .u32 x = 12ab;", "this is not a number"},
        {HEAD ".global .align 3 .u32 x;", "an alignment is a power of two"},
        {HEAD ".global .texref x;", "textures and surfaces are not supported: .texref"},
        {HEAD ".global .foo x;", "expected the type of a variable"},
        {HEAD "/* no end", "this comment has no end"},
        {HEAD ".file 1 \"a", "this text has no closing quote"},
        {HEAD ".entry k() { ` }", "this character has no place in PTX"},
        {HEAD ".entry k() { ret; } .entry k() { ret; }", "`k` is defined already"},
        {HEAD ".entry k() { .reg .b32 %r<4000000000>; }",
         "more registers than a text of this size"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diag d;
        assert_null(parse(cases[i].text, &d));
        if (!strstr(messages(&d), cases[i].message))
            fail_msg("%s\n says\n%s\n not\n%s", cases[i].text, messages(&d), cases[i].message);
    }
}

static void offsets_from_names_have_48_bits(void **state)
{
    (void)state;
    const int64_t end = INT64_C(1) << 47;
    const int64_t fit[] = {0, 1, -1, INT64_C(1) << 32, -(INT64_C(1) << 32) - 1, end - 1, -end};
    struct ptx_operand o = {.kind = PTX_ADDRESS, .base = PTX_BASE_VARIABLE};
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++) {
        assert_true(ptx_set_offset(&o, fit[i]));
        assert_int_equal(ptx_offset(&o), fit[i]);
    }
    assert_false(ptx_set_offset(&o, end));
    assert_false(ptx_set_offset(&o, -end - 1));
    o.base = PTX_BASE_NONE;
    assert_true(ptx_set_offset(&o, INT64_MIN));
    assert_int_equal(ptx_offset(&o), INT64_MIN);
}

static void several_errors_at_once(void **state)
{
    (void)state;
    struct diag d;
    assert_null(parse(HEAD ".entry a() { foo; ret; bar x; }\n"
                           ".entry b() { .reg .b32 r; mov.b32 r, s; ret; }\n"
                           ".global .u33 c;\n"
                           ".entry d() { ret; }\n",
                      &d));
    assert_int_equal(d.errors, 4);
}

static const char *repeat(const char *what, int times)
{
    struct text t;
    text_init(&t, &arena);
    while (times--)
        text_add(&t, what);
    return t.data;
}

static void nesting_has_limits(void **state)
{
    (void)state;
    struct diag d;
    const int deep = 100000;
    assert_null(parse(arena_printf(&arena, HEAD ".entry k() %s", repeat("{", deep)), &d));
    assert_non_null(strstr(messages(&d), "braces are nested too deeply"));
    assert_null(parse(arena_printf(&arena, HEAD ".global .u32 x = %s1;", repeat("(", deep)), &d));
    assert_non_null(strstr(messages(&d), "this constant is nested too deeply"));
    assert_null(parse(arena_printf(&arena, HEAD ".global .u32 x = %s1;", repeat("-", deep)), &d));
    assert_null(parse(arena_printf(&arena, HEAD ".global .u32 x = %s;", repeat("{", deep)), &d));
    assert_null(
        parse(arena_printf(&arena, HEAD ".entry k() { mov.b32 %s }", repeat("{", deep)), &d));
    assert_null(parse(arena_printf(&arena, HEAD ".entry k() { add%s; }", repeat(".s32", 50)), &d));
    assert_non_null(strstr(messages(&d), "too many modifiers"));
    assert_null(parse(arena_printf(&arena, HEAD ".entry k() { add 1%s; }", repeat(", 1", 50)), &d));
    assert_non_null(strstr(messages(&d), "more than 16 operands"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(print_is_the_inverse_of_parse),
        cmocka_unit_test(inner_names_hide_outer_ones),
        cmocka_unit_test(labels_belong_to_braces),
        cmocka_unit_test(lines_of_instructions),
        cmocka_unit_test(constants),
        cmocka_unit_test(floats),
        cmocka_unit_test(images),
        cmocka_unit_test(modifiers_are_put_in_order),
        cmocka_unit_test(versions),
        cmocka_unit_test(vectors_of_registers),
        cmocka_unit_test(vectors_as_parameters),
        cmocka_unit_test(other_ways_to_write),
        cmocka_unit_test(refused),
        cmocka_unit_test(offsets_from_names_have_48_bits),
        cmocka_unit_test(several_errors_at_once),
        cmocka_unit_test(nesting_has_limits),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}

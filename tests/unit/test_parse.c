/* The parser: trees of right texts, messages for wrong ones, and proof that no text makes it crash
 * or hang.
 *
 * A tree is printed as (operator operand …); messages as "line:column text", with notes after "
 * | ". */
#include "lang/scan.h"
#include "lang/syntax.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct parsed {
    struct arena arena;
    struct diag diag;
    struct source source;
    struct node *module;
    struct text text;
};

static void parse_text_n(struct parsed *out, const char *text, size_t length)
{
    static jmp_buf failed;
    arena_init(&out->arena, &allocator_libc, &failed);
    if (setjmp(failed) != 0)
        fail_msg("out of memory");
    diag_init(&out->diag, &out->arena);
    out->source = (struct source){"t", text, length};
    out->module = parse_module(&out->arena, &out->diag, &out->source);
    text_init(&out->text, &out->arena);
    text_add(&out->text, "");
}

/* --- trees as text --- */

static void show(struct text *t, const struct node *n);

static void show_list(struct text *t, const char *name, const struct node *list)
{
    if (!list)
        return;
    text_printf(t, " %s:", name);
    for (; list; list = list->next)
        show(t, list);
}

static void show_part(struct text *t, const char *name, const struct node *n)
{
    if (!n)
        return;
    text_printf(t, " %s:", name);
    show(t, n);
}

static void show_type(struct text *t, const struct node *n)
{
    if (n->a) {
        text_add(t, "typeof ");
        show(t, n->a);
    } else {
        text_add(t, n->text);
    }
}

static void show_index(struct text *t, const struct node *n)
{
    text_add(t, "[");
    if (n->a)
        show(t, n->a);
    if (n->i == INDEX_SLICE) {
        text_add(t, " +: ");
        show(t, n->b);
        text_add(t, n->inside ? " inside" : "");
    } else if (n->i != INDEX_VALUE) {
        text_add(t, n->i == INDEX_ALL ? ":" : "[:]");
    }
    text_add(t, "]");
}

static bool show_expr(struct text *t, const struct node *n)
{
    switch (n->kind) {
    case N_INT:
        n->above_i64 ? text_printf(t, "%llu", (unsigned long long)n->i)
                     : text_printf(t, "%lld", (long long)n->i);
        return true;
    case N_FLOAT: text_add_double(t, n->f, false); return true;
    case N_BOOL: text_add(t, n->i ? "true" : "false"); return true;
    case N_STRING: text_printf(t, "\"%s\"", n->text); return true;
    case N_NAME: text_add(t, n->text); return true;
    case N_TYPE: show_type(t, n); return true;
    case N_INDEX: show_index(t, n); return true;
    case N_MEMBER:
        show(t, n->a);
        text_printf(t, ".%s", n->text);
        return true;
    case N_ACCESS:
        show(t, n->a);
        for (const struct node *i = n->list; i; i = i->next)
            show(t, i);
        show_part(t, "else", n->b);
        return true;
    default: return false;
    }
}

static const char *kind_name(const struct node *n)
{
    static const char *const names[] = {
        [N_SELECT] = "?:",
        [N_CAST] = "cast",
        [N_BITS] = "bits",
        [N_TUPLE] = "tuple",
        [N_ELSE] = "else",
        [N_RESULT] = "result",
        [N_DECL] = "decl",
        [N_DECLS] = "decls",
        [N_DESTRUCT] = "destruct",
        [N_ASSIGN] = "=",
        [N_ASYNC] = "async",
        [N_EXPR] = "do",
        [N_IF] = "if",
        [N_FOR] = "for",
        [N_WHILE] = "while",
        [N_BLOCK] = "block",
        [N_BREAK] = "break",
        [N_CONTINUE] = "continue",
        [N_RETURN] = "return",
        [N_ENSURES] = "ensures",
        [N_EMPTY] = "empty",
        [N_CONST] = "const",
        [N_TUNE] = "tune",
        [N_TYPEVAR] = "type",
        [N_REQUIRE] = "require",
        [N_STATIC_ASSERT] = "static_assert",
        [N_FN] = "fn",
        [N_KERNEL] = "kernel",
        [N_PARAM] = "param",
        [N_CALL] = "call",
        [N_NAMED] = "named",
    };
    return n->kind == N_UNARY || n->kind == N_BINARY ? op_table[n->op].text : names[n->kind];
}

static void show_flags(struct text *t, const struct node *n)
{
    static const char *const storage[] = {"", " global", " shared", " reg"};
    if (n->kind == N_DECL || n->kind == N_PARAM || n->kind == N_RESULT || n->kind == N_DESTRUCT)
        text_add(t, storage[n->i]);
    if (n->kind == N_ASSIGN && n->op != OP_COUNT)
        text_printf(t, " op%s", op_table[n->op].text);
    text_add(t, n->is_static ? " static" : "");
    text_add(t, n->is_const ? " const" : "");
    text_add(t, n->is_do ? " after" : "");
    text_add(t, n->has_unroll ? " unroll" : "");
    if (n->text)
        text_printf(t, n->is_pointer ? " *%s" : " %s", n->text);
}

static void show(struct text *t, const struct node *n)
{
    if (show_expr(t, n))
        return;
    text_printf(t, "(%s", kind_name(n));
    show_flags(t, n);
    show_part(t, "type", n->kind == N_RESULT ? NULL : n->type);
    for (int k = 0; k < 3; k++) {
        const struct node *part = k == 0 ? n->a : k == 1 ? n->b : n->c;
        if (part)
            text_add(t, " ");
        if (part)
            show(t, part);
    }
    show_list(t, "dims", n->dims);
    show_list(t, "names", n->names);
    if (n->kind == N_FN || n->kind == N_KERNEL)
        show_list(t, "params", n->params);
    show_list(t, "attr", n->attributes);
    show_part(t, "result", n->result);
    for (const struct node *one = n->kind == N_BLOCK     ? NULL
                                  : n->kind == N_ENSURES ? n->over
                                                         : n->list;
         one; one = one->next) {
        text_add(t, " ");
        show(t, one);
    }
    show_list(t, "init", n->init);
    show_list(t, "step", n->step);
    show_part(t, "factor", n->unroll);
    show_part(t, "stages", n->stages);
    show_part(t, "at", n->at);
    show_list(t, "strides", n->strides);
    show_list(t, "body", n->body);
    show_part(t, "otherwise", n->otherwise);
    text_add(t, ")");
}

/* --- checks --- */

static void add_messages(struct parsed *p)
{
    for (const struct diagnostic *one = p->diag.first; one; one = one->next) {
        int line, column;
        loc_line_column(one->loc, &line, &column);
        text_printf(&p->text, "%d:%d %s", line, column, one->message);
        for (const struct diagnostic *more = one->notes; more; more = more->next)
            text_printf(&p->text, " | %s", more->message);
        text_add(&p->text, "\n");
    }
}

static void check_tree(const char *text, const char *want)
{
    struct parsed p;
    parse_text_n(&p, text, strlen(text));
    add_messages(&p);
    for (const struct node *n = p.module; n; n = n->next)
        show(&p.text, n);
    assert_string_equal(p.text.data, want);
    arena_free(&p.arena);
}

/* Checks one expression, as the value of a constant. */
static void check_expr(const char *text, const char *want)
{
    struct text t;
    struct parsed p;
    parse_text_n(&p, "", 0);
    text_init(&t, &p.arena);
    text_printf(&t, "type T = {f16, f32}; const i32 X = %s;", text);
    struct parsed q;
    parse_text_n(&q, t.data, t.length);
    add_messages(&q);
    if (q.diag.errors == 0)
        show(&q.text, q.module->next->init);
    assert_string_equal(q.text.data, want);
    arena_free(&q.arena);
    arena_free(&p.arena);
}

/* Checks statements within a kernel whose body begins at line 1; prints the tree of the body
 * alone. */
static void check_body(const char *text, const char *want)
{
    struct parsed p, q;
    parse_text_n(&p, "", 0);
    text_printf(&p.text, "type T = {f16}; kernel k() grid(1) warps(1) { %s\n}", text);
    parse_text_n(&q, p.text.data, p.text.length);
    add_messages(&q);
    for (const struct node *n = q.diag.errors ? NULL : q.module->next->body->body; n; n = n->next)
        show(&q.text, n);
    assert_string_equal(q.text.data, want);
    arena_free(&q.arena);
    arena_free(&p.arena);
}

static void check_messages(const char *text, const char *want)
{
    struct parsed p;
    parse_text_n(&p, text, strlen(text));
    add_messages(&p);
    assert_string_equal(p.text.data, want);
    arena_free(&p.arena);
}

static void check_body_messages(const char *text, const char *want)
{
    struct parsed p, q;
    parse_text_n(&p, "", 0);
    text_printf(&p.text, "kernel k() grid(1) warps(1) {\n%s\n}\n", text);
    parse_text_n(&q, p.text.data, p.text.length);
    add_messages(&q);
    assert_string_equal(q.text.data, want);
    arena_free(&q.arena);
    arena_free(&p.arena);
}

/* --- expressions --- */

static void test_precedence(void **state)
{
    (void)state;
    check_expr("1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)");
    check_expr("a || b && c | d ^ e & f == g < h << i + j * -k",
               "(|| a (&& b (| c (^ d (& e (== f (< g (<< h (+ i (* j (- k)))))))))))");
    check_expr("a ? b : c ? d : e", "(?: a b (?: c d e))");
    check_expr("a ? b ? c : d : e", "(?: a (?: b c d) e)");
    check_expr("-!~x", "(- (! (~ x)))");
    check_expr("(a + b) * c", "(* (+ a b) c)");
    check_expr("a - b - c", "(- (- a b) c)");
    check_expr("a % b / c", "(/ (% a b) c)");
}

static void test_literals(void **state)
{
    (void)state;
    check_expr("0x1F + 10 + 0", "(+ (+ 31 10) 0)");
    check_expr("1.5 + 1e-3 + .5 + 2.", "(+ (+ (+ 1.5 0.001) 0.5) 2.0)");
    check_expr("true != false", "(!= true false)");
    check_expr("-inf + nan", "(+ (- inf) nan)");
    check_expr("18446744073709551615", "18446744073709551615");
    check_expr("-9223372036854775808", "-9223372036854775808");
    check_expr("0xffffffffffffffff", "18446744073709551615");
    check_expr("print(\"a\\n\\\"b\\\"\", x)", "(call print \"a\n\"b\"\" x)");
}

static void test_casts(void **state)
{
    (void)state;
    check_expr("(f32) x * y", "(* (cast type:f32 x) y)");
    check_expr("(T)(x)", "(cast type:T x)");
    check_expr("(T) -x", "(cast type:T (- x))");
    check_expr("(n)(x)", "1:39 expected ';' after the constant, saw '('\n");
    check_expr("(n) - x", "(- n x)");
    check_expr("(n) * x", "(* n x)");
    check_expr("(f33) x", "(cast type:f33 x)"); /* the checker names the nearest type */
    check_expr("(half) - x + (u4) * y", "(+ (- half x) (* u4 y))"); /* names like any other */
    check_expr("(f16) (f32) x", "(cast type:f16 (cast type:f32 x))");
    check_expr("(typeof(a[0])) x", "(cast type:typeof a[0] x)");
    check_expr("bits<u32>(x) + 1", "(+ (bits type:u32 x) 1)");
    check_expr("bits<typeof(y)>(x)", "(bits type:typeof y x)");
    check_expr("bits < x", "(< bits x)");
}

static void test_access(void **state)
{
    (void)state;
    check_expr("A[i +: BM][p +: BK]", "A[i +: BM][p +: BK]");
    check_expr("A[i][:][0 +: 4 inside]", "A[i][:][0 +: 4 inside]");
    check_expr("A[(n) +: (m) inside]", "A[n +: m inside]");
    check_expr("A[idx[:]][j +: N]", "A[idx[:]][j +: N]");
    check_expr("A[idx[0]]", "A[idx[0]]");
    check_expr("A[c ? 1 : 2]", "A[(?: c 1 2)]");
    check_expr("X[r][0 +: W] else -inf", "X[r][0 +: W] else:(- inf)");
    check_expr("X[r] else 1 + 2", "(+ X[r] else:1 2)");
    check_expr("f(x) else 0", "(else (call f x) 0)");
    check_expr("(X[r]) else 0", "(else X[r] 0)");
    check_expr("block.x + thread.y", "(+ block.x thread.y)");
}

static void test_calls(void **state)
{
    (void)state;
    check_expr("max(x, axis = 1)", "(call max x (named axis 1))");
    check_expr("scan(add, x, axis = 0, exclusive = true)",
               "(call scan add x (named axis 0) (named exclusive true))");
    check_expr("iota()", "(call iota)");
    check_expr("dot((f16) e, trans(sk))", "(call dot (cast type:f16 e) (call trans sk))");
}

/* --- statements --- */

static void test_declarations(void **state)
{
    (void)state;
    check_body("i32 i = 0, j;", "(decls (decl i type:i32 init:0) (decl j type:i32))");
    check_body("f32 v[4][R] = 0;", "(decls (decl v type:f32 dims:4R init:0))");
    check_body("const i32 W = 4;", "(decls (decl const W type:i32 init:4))");
    check_body(
        "shared T sa[4] at(16), sb[2] = A[0];",
        "(decls (decl shared sa type:T dims:4 at:16) (decl shared sb type:T dims:2 init:A[0]))");
    check_body(
        "global f32 A[m][k] = a + 3 strides(lda, 1), W[m] = 0;",
        "(decls (decl global A type:f32 dims:mk init:(+ a 3) strides:lda1) (decl global W type:f32 "
        "dims:m init:0))");
    check_body("reg typeof(x) y[4];", "(decls (decl reg y type:typeof x dims:4))");
    check_body("i32 (i, j) = f(t);", "(destruct type:i32 (call f t) i j)");
    check_body("f33 x = 1;", "(decls (decl x type:f33 init:1))");
    check_body("T at = 1; at = 2;", "(decls (decl at type:T init:1))(= at 2)");
}

static void test_assignments(void **state)
{
    (void)state;
    check_body("x = 1; A[i] += 2; s <<= 1;", "(= x 1)(= op+ A[i] 2)(= op<< s 1)");
    check_body("x++; --y;", "(= op+ x 1)(= op- y 1)");
    check_body("sync(); async_wait(0);", "(do (call sync))(do (call async_wait 0))");
    check_body("async sa[s] = A[i +: 4] hint(evict_first);", "(async evict_first sa[s] A[i +: 4])");
    check_body("free(sa); assume(k % 4 == 0);",
               "(do (call free sa))(do (call assume (== (% k 4) 0)))");
    check_body("static_assert(4 < 5, \"why\"); require(x);",
               "(static_assert why (< 4 5))(require x)");
    check_body(";{}", "(empty)(block)");
}

static void test_control_flow(void **state)
{
    (void)state;
    check_body("if (a) x = 1; else if (b) { y = 2; } else z = 3;",
               "(if a body:(= x 1) otherwise:(if b body:(block body:(= y 2)) otherwise:(= z 3)))");
    check_body("if (a) if (b) x = 1; else y = 2;",
               "(if a body:(if b body:(= x 1) otherwise:(= y 2)))");
    check_body(
        "for (i32 p = 0, s = 0; p < k; p += B, s = (s + 1) % S) x = 1;",
        "(for (< p k) init:(decls (decl p type:i32 init:0) (decl s type:i32 init:0)) step:(= op+ p "
        "B)(= s (% (+ s 1) S)) body:(= x 1))");
    check_body("for (;;) break;", "(for body:(break))");
    check_body("for (i = 0, j = 1; ; i++) continue;",
               "(for init:(= i 0)(= j 1) step:(= op+ i 1) body:(continue))");
    check_body("unroll for (;;) ;", "(for unroll body:(empty))");
    check_body("unroll(4) for (;;) ;", "(for unroll factor:4 body:(empty))");
    check_body("pipeline(3) for (;;) ;", "(for stages:3 body:(empty))");
    check_body("while (a) x = 1; do x = 2; while (b);",
               "(while a body:(= x 1))(while after b body:(= x 2))");
    check_body("return;", "(return)");
    check_body("ensures C == dot(A, B);", "(ensures C (call dot A B))");
    check_body(
        "ensures for (i32 h < heads, i32 g < 3) O[h][g] == A[h] + 1;",
        "(ensures O[h][g] (+ A[h] 1) (decl h type:i32 init:heads) (decl g type:i32 init:3))");
}

static void test_module(void **state)
{
    (void)state;
    check_tree("const i32 A = 1, B = A + 1;",
               "(const A type:i32 init:1)(const B type:i32 init:(+ A 1))");
    check_tree("tune BK = {16, 32};", "(tune names:BK 16 32)");
    check_tree("tune(sm_90) (BM, BN) = {(1, 2), (3, 4 * 2)};",
               "(tune sm_90 names:BMBN (tuple 1 2) (tuple 3 (* 4 2)))");
    check_tree("tune (A, B) = {(1, 2)};", "(tune names:AB (tuple 1 2))");
    check_tree("tune(cpu) A = {(1 + 2) * 3};", "(tune cpu names:A (* (+ 1 2) 3))");
    check_tree("type T = {f16, bf16, f32};", "(type T f16 bf16 f32)");
    check_tree("require(A < B); static_assert(A == 1);",
               "(require (< A B))(static_assert (== A 1))");
    check_tree("fn reg f32[M][N] gelu(reg T x[M][N], i32 n) { return (T)(x); }",
               "(fn gelu params:(param reg x type:T dims:MN)(param n type:i32) result:(result reg "
               "f32 dims:MN) "
               "body:(block body:(return (cast type:T x))))");
    check_tree(
        "fn (i32, reg f32[M]) two(i32 a) { return (a, 1); }",
        "(fn two params:(param a type:i32) result:(result (result i32) (result reg f32 dims:M)) "
        "body:(block body:(return (tuple a 1))))");
    check_tree(
        "kernel k(i32 m, static i32 n, const T *a, f32 *b) grid(cdiv(m, 4), 1) threads(8, 8) "
        "cooperative target(sm_90a) { }",
        "(kernel k params:(param m type:i32)(param static n type:i32)(param const *a type:T)(param "
        "*b "
        "type:f32) attr:(call grid (call cdiv m 4) 1)(call threads 8 8)(call cooperative)(call "
        "target "
        "sm_90a) body:(block))");
}

/* --- messages --- */

static void test_missing_semicolon(void **state)
{
    (void)state;
    check_body_messages("x = 1\ny = 2;\nz = ;", "2:6 expected ';' after the assignment, saw 'y'\n"
                                                "4:5 expected an expression, saw ';'\n");
    check_body_messages("sync()", "2:7 expected ';' after the call, saw '}'\n");
    check_body_messages("i32 i = 0 j = 2; x = ;",
                        "2:10 expected ';' after the declaration, saw 'j'\n"
                        "2:22 expected an expression, saw ';'\n");
    check_body_messages("if (a) x = f(y)\nelse x = 2;",
                        "2:16 expected ';' after the assignment, saw 'else'\n");
    check_messages("tune A = {1}\ntype T = {f16};",
                   "1:13 expected ';' after the list of values, saw 'type'\n");
}

static void test_slips(void **state)
{
    (void)state;
    check_body_messages("if (a = 1) x = 2;",
                        "2:7 `=` assigns; this is a condition | a comparison is `==`\n");
    check_body_messages("x = A[i, j];", "2:8 each index has its own brackets | write `A[i][j]`\n");
    check_body_messages(
        "x = A[i:j] + A[:4];",
        "2:8 a slice has a start and an extent | write `A[i +: n]`: n elements from i on\n"
        "2:16 a slice has a start and an extent | write `A[i +: n]`: n elements from i on\n");
    check_body_messages("x = 1.5f; y = 2u; z = 3LL; w = 4.0h;",
                        "2:8 numbers have no suffix | write `1.5`: a literal takes the type of "
                        "what it meets, or `(f32) 1.5`\n"
                        "2:16 numbers have no suffix | write `2`: a literal takes the type of "
                        "what it meets, or `(u32) 2`\n"
                        "2:24 numbers have no suffix | write `3`: a literal takes the type of "
                        "what it meets, or `(i64) 3`\n"
                        "2:35 numbers have no suffix | write `4.0`: a literal takes the type of "
                        "what it meets, or `(f16) 4.0`\n");
    check_body_messages("int x; unsigned long y; half z[4];",
                        "2:1 `int` is not a type here | write `i32`\n"
                        "2:8 `unsigned long` is not a type here | write `u64`\n"
                        "2:25 `half` is not a type here | write `f16`\n");
    check_body_messages(
        "__shared__ f32 s[4]; __syncthreads();",
        "2:1 there is no `__shared__` | write `shared`\n"
        "2:22 there is no `__syncthreads` | the barrier of the block is `sync()`\n");
    check_body_messages(
        "for (auto i = 0; i < 3; i++) x = 1;",
        "2:6 there is no `auto` | write the type (`i32`, `f32`, …), or `typeof(x)`\n");
    check_body_messages(
        "x = f32(y);",
        "2:5 `f32` is a type: it is not called | a conversion is written `(f32) x`\n");
    check_body_messages("x = y++ + 1;",
                        "2:6 '++' is a statement, not a value | write it as a statement of its "
                        "own, before or after this one\n");
    check_body_messages(
        "i32 type = 1; x == 2;",
        "2:5 expected a name to declare, saw 'type' | `type` is a word of the language: choose "
        "another name\n"
        "2:17 `==` compares: its value is not used here | an assignment is `=`\n");
}

static void test_slips_of_declarations(void **state)
{
    (void)state;
    check_messages("i32 N = 4;\nconst f32 X[2] = 1;",
                   "1:1 a module has no variables | a constant is `const i32 N = 4;`\n"
                   "2:18 expected '{' before the values, saw '1'\n");
    check_messages("fn void f(i32 x) { }",
                   "1:4 a `fn` gives a value | write its type: `fn f32 name(…)`; a "
                   "function without a result is written out in the kernel\n");
    check_messages("fn f(i32 x) { return x; }",
                   "1:4 the type of the result is missing | write `fn f32 f(…)`\n");
    check_messages("fn f32[4] f(const f32 x, f32 *y) { return x; }",
                   "1:8 a tile as a result is `reg` | write `reg f32[…]`\n"
                   "1:13 a parameter of a `fn` takes no `const` | scalars and `reg` tiles are "
                   "copies; a view is "
                   "const when its pointer is\n"
                   "1:30 a `fn` takes no pointers | it takes views: `global f32 A[M][N]`\n");
    check_messages(
        "kernel void k(const i32 n, static f32 *a, f32 A[4], global f32 V[2]) grid(1) warps(1);",
        "1:8 a kernel has no result | leave out `void`\n"
        "1:25 `const` belongs to pointers | `static i32 n` is compiled in; any scalar may be left "
        "unassigned\n"
        "1:39 a pointer cannot be `static`\n"
        "1:48 a parameter has no extents | take `f32 *a`, and in the body `global f32 A[m][n] = "
        "a;`\n"
        "1:53 a kernel takes scalars and pointers, no tiles | take `f32 *a`, and in the body "
        "`global "
        "f32 A[m][n] = a;`\n"
        "1:86 a kernel has a body | there are no prototypes: kernels and fns may be used before "
        "they are declared\n");
    check_messages("shared f32 s[4];\nstruct s { i32 x; };\n;",
                   "1:1 'shared' declares within a kernel | move it into the kernel's body\n"
                   "2:1 there is no `struct` | write one parameter or array for each member; a "
                   "function may return "
                   "several values: `fn (f32, f32) minmax(…)`\n"
                   "3:1 ';' ends nothing\n");
    check_body_messages(
        "f16 *p = x; reg f32 a[4] at(0); i32 v[2] = {1, 2}; i32 w[] = 0;",
        "2:5 there are no pointer variables | a view of a parameter is `global f32 A[m][n] = a;`\n"
        "2:26 `at` gives a place to `shared` tiles and mbarriers only\n"
        "2:44 a list of values makes a constant table | write `const T NAME[N] = {…};`, or "
        "start from one value (`= 0`) and assign the elements\n"
        "2:58 expected the extent, saw ']' | every axis has an extent: `A[m][k]`\n");
    check_body_messages(
        "const shared f32 s[4]; i32 a[2, 3]; static i32 x = 0; tune A = {1}; sa = 1;",
        "2:7 `const` is only for scalars and arrays | a view is const when its parameter is: "
        "`const f32 *a`\n"
        "2:31 each extent has its own brackets | write `A[m][n]`\n"
        "2:37 `static` belongs to parameters of kernels | leave it out; a value known to the "
        "compiler is `const i32 N = …;`\n"
        "2:55 'tune' belongs at the top level of the file, outside kernels and fns | move it "
        "before the kernel\n");
}

static void test_foreign(void **state)
{
    (void)state;
    check_body_messages("switch (x) { case 1: x = 2; break; }\nx = ;",
                        "2:1 there is no `switch` | write `if (…) … else if (…) … else …`\n"
                        "3:5 expected an expression, saw ';'\n");
    check_body_messages("goto out;",
                        "2:1 there is no `goto` | write a loop with `break` and `continue`, or an "
                        "`if`\n");
    check_messages("#define N 4\nconst i32 M = 4;",
                   "1:1 there is no preprocessor | name a constant: `const i32 N = 4;`, a choice: "
                   "`tune N = {4, "
                   "8};`, a function: `fn`\n");
    check_messages("__global__ void k(int n) { x = 1; }\nconst i32 A = ;",
                   "1:1 this is CUDA C, not Tilewright's language | save it in a file whose name "
                   "ends in .cu: `tilewright check k.cu` takes CUDA C as it is\n");
    check_messages("@triton.jit\ndef k(x):\n    x = 1\n",
                   "1:1 this is Python, not Tilewright's language | a kernel is written `kernel "
                   "name(i32 n, const f32 *a, f32 *c) grid(…) warps(4) { … }`; "
                   "docs/not-in-the-language.md lists Triton's words and what to write\n");
    check_messages(
        "__global__ void k(int n) { x = 1; }\nfn f32 f() { return 1; }\nconst i32 A = ;",
        "1:1 expected a declaration, saw '__global__' | this is CUDA C: `tilewright check` takes "
        "it as "
        "it is from a file whose name ends in .cu; in Tilewright's language write `kernel name(…) "
        "grid(…) threads(x, y) { … }`\n"
        "1:19 `int` is not a type here | write `i32`\n"
        "3:15 expected an expression, saw ';'\n");
}

/* One message for each word; the rest is parsed. */
static void test_later_constructs(void **state)
{
    (void)state;
    check_body_messages(
        "mbarrier full[S](1), more[2](1) ready;\nmbarrier x(1) at(16);\n"
        "warps(0 +: 4) regs(40) { x = ; }\nwarps(4 +: 8) for (i32 g < 2) { one_thread { y = ; } }\n"
        "z = ;",
        "4:30 expected an expression, saw ';'\n"
        "5:50 expected an expression, saw ';'\n"
        "6:5 expected an expression, saw ';'\n");
    check_body_messages(
        "async(full[s]) sa = A[0];\nasync() sa = A[0];\nmbarrier x;\nwarps(4) { }",
        "3:7 expected the mbarrier on which the copy completes, saw ')'\n"
        "4:11 expected '(' and the number of arrivals: `mbarrier full[3](1)`, saw "
        "';'\n"
        "5:8 expected '+:' after the role's first warp: `warps(4 +: 8)`, saw ')'\n");
    check_body_messages(
        "shared u4 s[4]; shared u4 t[4];",
        "2:8 `u4`, a type of less than 8 bits, is not available yet | there are f64, f32, "
        "tf32, f16, bf16, e4m3, e5m2, i64, i32, i16, i8, u64, u32, u16, u8 and bool\n");
    check_messages("fn i32 wait(i32 x) { return x; } kernel k() grid(1) warps(1) cluster(1) { i32 "
                   "y = wait(1); }",
                   "");
}

static void test_lexical(void **state)
{
    (void)state;
    check_messages("/* open", "1:1 the comment does not end | close it with `*/`\n");
    check_body_messages("print(\"abc);",
                        "2:7 the string does not end | close it with '\"' on the same line\n");
    check_body_messages("x = 1 @ 2; y = ;", "2:7 the character '@' has no meaning here | "
                                            "the product of two matrices is `dot(a, b)`\n"
                                            "2:16 expected an expression, saw ';'\n");
    check_body_messages("x = a × b;", "2:7 the character '×' has no meaning here | write `*`\n");
    check_body_messages("x = a\xff\xfe;",
                        "2:6 the byte 0xFF is not a character (the text is not UTF-8)\n");
    check_body_messages("x = \xE2\x80\xAE;", "2:5 the character U+202E has no meaning here\n");
    check_body_messages("x = 99999999999999999999;",
                        "2:5 the integer is too large for any type | the largest "
                        "is 18446744073709551615 (0xffffffffffffffff)\n");
    check_body_messages("x = 1e999 + 1e-999;",
                        "2:5 the number is too large for any type | infinity is written `inf`\n"
                        "2:13 the number is too small for any type | write 0.0\n");
    check_body_messages(
        "x = 017 + 12ab;",
        "2:5 a decimal number does not begin with 0 | C would read it as octal: write it without "
        "the 0, or in hexadecimal\n"
        "2:11 '12ab' is not a number | numbers are written 12, 0x1f, 1.5, 1e-3\n");
    check_body_messages(
        "x = 'a';", "2:5 there are no character constants | write the number; text is written in "
                    "\"…\"\n");
}

static void test_nul_byte(void **state)
{
    (void)state;
    static const char text[] = "const i32 A = 1\0;\nconst i32 B = ;";
    struct parsed p;
    parse_text_n(&p, text, sizeof text - 1);
    add_messages(&p);
    assert_string_equal(p.text.data,
                        "1:16 a NUL byte in the text\n2:15 expected an expression, saw ';'\n");
    arena_free(&p.arena);
}

/* One message for each error; parsing goes on after it. */
static void test_recovery(void **state)
{
    (void)state;
    check_body_messages("for (i32 i = 0; i < ; i++) { x = ; }\nif (a < b { y = ; }\nz = ;",
                        "2:21 expected an expression, saw ';'\n"
                        "2:34 expected an expression, saw ';'\n"
                        "3:11 expected ')' after the condition, saw '{' | '(' was opened here\n"
                        "3:17 expected an expression, saw ';'\n"
                        "4:5 expected an expression, saw ';'\n");
    check_messages(
        "kernel a() grid(1) warps(1) {\n  x = 1;\n  {\nkernel b() grid(1) warps(1) { x = ; }",
        "4:1 expected '}' at the end of the block, saw 'kernel' | '{' was opened here\n"
        "4:35 expected an expression, saw ';'\n");
    check_messages("kernel a(i32 , f32 *x) grd(1) warps(1) { x = ; }",
                   "1:14 expected the parameter's name, saw ','\n"
                   "1:24 `grd` is not an attribute of a kernel | did you mean `grid`?\n"
                   "1:46 expected an expression, saw ';'\n");
    check_messages("tune A = {1, ;}; const i32 B = ;", "1:14 expected an expression, saw ';'\n"
                                                       "1:32 expected an expression, saw ';'\n");
    check_messages("}\nconst i32 A = ;",
                   "1:1 '}' closes nothing\n2:15 expected an expression, saw ';'\n");
    check_body_messages(
        "x = f(a b) + ; y = (1, 2);",
        "2:9 expected ')' after the arguments, saw 'b' | '(' was opened here\n"
        "2:14 expected an expression, saw ';'\n"
        "2:22 several values in parentheses are only for `tune` and `return` | a cast is "
        "written `(f32) x`, a call `f(a, b)`\n");
}

/* --- depth and size --- */

/* Checks the first message for a kernel's body of head, then middle `count` times, then tail. */
static void check_deep(const char *middle, size_t count, const char *want)
{
    struct parsed p, q;
    parse_text_n(&p, "", 0);
    text_add(&p.text, "kernel k() grid(1) warps(1) { ");
    for (size_t i = 0; i < count; i++)
        text_add(&p.text, middle);
    parse_text_n(&q, p.text.data, p.text.length);
    assert_non_null(q.diag.first);
    if (want)
        assert_string_equal(q.diag.first->message, want);
    arena_free(&q.arena);
    arena_free(&p.arena);
}

static void test_depth(void **state)
{
    (void)state;
    static const char deep[] = "nested more than 256 levels deep";
    static const char *const nested[] = {
        "{",   "x = (", "if (a) ", "if (a) x = 1; else ", "while (1) ", "for (;;) ", "x = A[0][B",
        "do ", "else ", "x = f(",
    };
    for (size_t i = 0; i < sizeof nested / sizeof *nested; i++)
        check_deep(nested[i], 100000, NULL);
    check_deep("{", 100000, deep);
    check_deep("if (a) x = 1; else ", 100000, deep);
    static const char *const in_value[] = {
        "(",        "-",          "!",          "(f32) ",       "A[", "f(",  "a ? ",
        "a ? b : ", "A[0] else ", "bits<u32>(", "(typeof(x)) ", "++", "f32("};
    for (size_t i = 0; i < sizeof in_value / sizeof *in_value; i++) {
        struct text t;
        struct parsed p, q;
        parse_text_n(&p, "", 0);
        text_init(&t, &p.arena);
        text_add(&t, "const i32 A = ");
        for (int k = 0; k < 100000; k++)
            text_add(&t, in_value[i]);
        parse_text_n(&q, t.data, t.length);
        assert_in_range(q.diag.errors, 1, 20);
        arena_free(&q.arena);
        arena_free(&p.arena);
    }
}

/* Checks the first message, or "" for none, for a 1 inside `levels` of `open` and `close`. */
static void check_levels(const char *open, const char *close, int levels, const char *want)
{
    struct parsed p, q;
    parse_text_n(&p, "", 0);
    text_add(&p.text, "const i32 A = ");
    for (int i = 0; i < levels; i++)
        text_add(&p.text, open);
    text_add(&p.text, "1");
    for (int i = 0; i < levels; i++)
        text_add(&p.text, close);
    text_add(&p.text, ";");
    parse_text_n(&q, p.text.data, p.text.length);
    assert_string_equal(q.diag.first ? q.diag.first->message : "", want);
    arena_free(&q.arena);
    arena_free(&p.arena);
}

/* Each bracket and each prefix operator counts as one level. */
static void test_levels(void **state)
{
    (void)state;
    static const char *const around[][2] = {
        {"(", ")"},         {"A[", "]"},         {"f(", ")"},
        {"- ", ""},         {"(f32) ", ""},      {"0 ? 0 : ", ""},
        {"B[0] else ", ""}, {"bits<u32>(", ")"}, {"bits<typeof(", ")>(0)"}};
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        check_levels(around[i][0], around[i][1], 256, "");
        check_levels(around[i][0], around[i][1], 257, "nested more than 256 levels deep");
        check_levels(around[i][0], around[i][1], 20000, "nested more than 256 levels deep");
    }
}

static void test_long_chains(void **state)
{
    (void)state;
    struct parsed p, q;
    parse_text_n(&p, "", 0);
    text_add(&p.text, "const i32 A = 1");
    for (int i = 0; i < 900; i++)
        text_add(&p.text, " + 1");
    text_add(&p.text, ";");
    parse_text_n(&q, p.text.data, p.text.length);
    assert_int_equal(q.diag.errors, 0);
    arena_free(&q.arena);
    p.text.length--;
    for (int i = 0; i < 100000; i++)
        text_add(&p.text, " * 1");
    for (int i = 0; i < 2000; i++)
        text_add(&p.text, " + 1");
    parse_text_n(&q, p.text.data, p.text.length);
    assert_int_equal(q.diag.errors, 1);
    arena_free(&q.arena);
    arena_free(&p.arena);
}

static void test_large_text(void **state)
{
    (void)state;
    struct parsed p, q;
    parse_text_n(&p, "", 0);
    text_add(&p.text, "kernel k() grid(1) warps(1) {\n");
    for (int i = 0; i < 50000; i++)
        text_printf(&p.text, "x%d = A[i][%d +: 4] * 2; // %d\n", i, i, i);
    text_add(&p.text, "}\n");
    parse_text_n(&q, p.text.data, p.text.length);
    assert_int_equal(q.diag.errors, 0);
    arena_free(&q.arena);
    arena_free(&p.arena);
}

/* Unpaired brackets of all kinds, in any number, are parsed in linear time. */
static void test_brackets(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"(", "]"}, {"[", "}"}, {"(", "}"}, {"{(", ")}"}, {"{", ")"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct parsed p, q;
        parse_text_n(&p, "", 0);
        for (int k = 0; k < 200000; k++)
            text_add(&p.text, pairs[i][0]);
        for (int k = 0; k < 200000; k++)
            text_add(&p.text, pairs[i][1]);
        parse_text_n(&q, p.text.data, p.text.length);
        assert_true(q.diag.errors > 0);
        arena_free(&q.arena);
        arena_free(&p.arena);
    }
}

/* A text cut anywhere, or with any one byte replaced, gives messages and does no other harm. */
static void test_damaged(void **state)
{
    (void)state;
    static const char whole[] =
        "type T = {f16, f32}; tune (A, B) = {(1, 2)}; fn T f(reg T x[M]) { return (T)(x[0]); }\n"
        "kernel k(i32 m, const T *a) grid(cdiv(m, 4)) warps(4) {\n"
        "  global T V[m][m] = a strides(m, 1); shared T s[4][4] at(0); reg i32 (p, q) = f(1);\n"
        "  pipeline(2) for (i32 i = 0, j = 1; i < m; i += 4, j++) { s = V[i +: 4][0 +: 4 inside] "
        "else -inf; }\n"
        "  if (m > 1 && !(p == 2)) async s = V[s[:]][:] hint(x); else if (q) sync(); else "
        "print(\"a\", bits<u32>(q));\n"
        "  do { x <<= 1; } while (max(s, axis = 1) ? 1.5 : 0x10); ensures for (i32 h < 3) V[h] == "
        "f(V[h]);\n}\n";
    static const char bytes[] = "()[]{};,=+:\"'/*#x0 \n\xC3";
    char *copy = malloc(sizeof whole);
    for (size_t i = 0; i < sizeof whole; i++) {
        struct parsed p;
        parse_text_n(&p, whole, i);
        arena_free(&p.arena);
        for (size_t k = 0; k < sizeof bytes && i + 1 < sizeof whole; k++) {
            memcpy(copy, whole, sizeof whole);
            copy[i] = bytes[k];
            parse_text_n(&p, copy, sizeof whole - 1);
            arena_free(&p.arena);
        }
    }
    free(copy);
    check_messages(whole, "");
}

static void test_utf8(void **state)
{
    (void)state;
    uint32_t code = 0;
    assert_int_equal(scan_utf8_decode("\xE2\x82\xAC", 3, &code), 3);
    assert_int_equal(code, 0x20AC);
    assert_int_equal(scan_utf8_decode("\xE2\x82", 2, &code), 0);
    assert_int_equal(scan_utf8_decode("\xC0\x80", 2, &code), 0);
    assert_int_equal(scan_utf8_decode("\xED\xA0\x80", 3, &code), 0);
    assert_int_equal(scan_utf8_decode("\xF4\x90\x80\x80", 4, &code), 0);
    assert_int_equal(scan_utf8_decode("\x80", 1, &code), 0);
    assert_int_equal(scan_utf8_decode("", 0, &code), 0);
    assert_true(scan_unicode_printable('a') && !scan_unicode_printable(0x1B) &&
                !scan_unicode_printable(0x202E));
}

/* The scanner's table of operators agrees with the table of ops. */
static void test_operator_table(void **state)
{
    (void)state;
    for (int k = 0; k < TOK_COUNT; k++) {
        enum op op = token_table[k].infix;
        if (op == OP_COUNT)
            continue;
        assert_int_equal(op_table[op].form, FORM_INFIX);
        assert_string_equal(op_table[op].text, token_table[k].text);
        assert_true(op_precedence(op) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_casts),
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_assignments),
        cmocka_unit_test(test_control_flow),
        cmocka_unit_test(test_module),
        cmocka_unit_test(test_missing_semicolon),
        cmocka_unit_test(test_slips),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_slips_of_declarations),
        cmocka_unit_test(test_later_constructs),
        cmocka_unit_test(test_lexical),
        cmocka_unit_test(test_nul_byte),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_long_chains),
        cmocka_unit_test(test_large_text),
        cmocka_unit_test(test_brackets),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_operator_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Values of single threads, as PTX: elements, slices, arrays. The PTX is executed thread by
 * thread (lockstep.h), and gives the same bits as the CPU engine. */
#include "lockstep.h"
#include "emit_program.h"

#include "cpu/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_PARAMS = 16, SIZES = 3 };

/* A kernel with its arguments, for the engine or for lockstep. */
struct side {
    struct program program;
    struct cpu_argument args[MOST_PARAMS];
};

static void open_side(struct side *s, const char *text, int64_t n, int divisor)
{
    memset(s, 0, sizeof *s);
    s->program.statics = n;
    s->program.divisor = divisor;
    program_open(&s->program, text);
    if (!program_check(&s->program, 0))
        fail_msg("%s\n%s", text, program_messages(&s->program));
    for (const struct param *p = s->program.kernel->params; p; p = p->next)
        if (!p->sym->is_pointer)
            s->args[p->sym->index].scalar.i = n;
}

static void close_side(struct side *s)
{
    for (int i = 0; i < MOST_PARAMS; i++)
        free(s->args[i].data);
    program_free(&s->program);
}

static int64_t known(const struct side *s, const struct expr *e)
{
    struct literal values[MOST_PARAMS];
    bool all[MOST_PARAMS];
    int64_t value = 1;
    for (int i = 0; i < MOST_PARAMS; i++) {
        values[i] = s->args[i].scalar;
        all[i] = true;
    }
    struct scalar_env env = {values, all, MOST_PARAMS};
    if (e && !eval_int(e, &env, &value))
        fail_msg("a size that is not known");
    return value;
}

static void fill(struct cpu_argument *arg, enum dtype t, uint32_t random)
{
    for (size_t i = 0; i < arg->bytes / dtype_size(t); i++) {
        random = random * 1664525 + 1013904223;
        int value = (int)(random >> 24) % 15 - 7;
        dtype_store_i64(t, (char *)arg->data + i * dtype_size(t),
                        t == DT_BOOL                                          ? value & 1
                        : dtype_is_float(t) || dtype_table[t].kind == DK_SINT ? value
                                                                              : value + 7);
    }
}

/* Makes arrays as large as their first views. */
static void make_arrays(struct side *s)
{
    for (const struct param *p = s->program.kernel->params; p; p = p->next) {
        struct cpu_argument *arg = &s->args[p->sym->index];
        if (!p->sym->is_pointer)
            continue;
        for (const struct sym *v = s->program.kernel->symbols; v && !arg->data; v = v->next)
            if (v->storage == ST_VIEW && v->base == p->sym) {
                int64_t elements = 1;
                for (int i = 0; i < v->type.rank; i++)
                    elements *= known(s, v->dims[i]);
                arg->bytes = (size_t)elements * dtype_size(p->sym->type.dtype);
                arg->data = aligned_alloc(16, (arg->bytes + 31) / 16 * 16);
                assert_non_null(arg->data);
            }
        fill(arg, p->sym->type.dtype, (uint32_t)p->sym->index * 7919 + 1);
    }
}

static void run_on_engine(struct side *s, const char *text)
{
    const char *why = NULL;
    struct cpu_options options = {0};
    struct cpu_fault fault = {.kind = CPU_OK};
    if (!program_passes(&s->program, NULL))
        fail_msg("%s\n%s", text, program_messages(&s->program));
    make_arrays(s);
    struct cpu_program *program = cpu_compile(&s->program.arena, s->program.kernel, false, &why);
    if (!program)
        fail_msg("%s\n%s", text, why);
    if (cpu_launch(program, s->args, &options, &fault) != CPU_OK)
        fail_msg("%s\n%s", text, fault.message);
}

static void pass_argument(struct side *s, struct lockstep *machine, int i,
                          const struct lowered_param *p)
{
    if (p->kind == LOWERED_SCALAR) {
        machine->args[i] = (uint64_t)s->args[p->sym->index].scalar.i;
    } else if (p->kind == LOWERED_POINTER) {
        struct cpu_argument *arg = &s->args[p->sym->index];
        machine->args[i] = (uint64_t)(uintptr_t)arg->data;
        machine->arrays[machine->array_count++] = (struct lockstep_array){arg->data, arg->bytes};
    } else {
        fail_msg("workspace");
    }
}

static const char *run_emitted(struct side *s, const char *text)
{
    struct lowered lowered = {0};
    if (!program_emit(&s->program, "sm_80", &lowered))
        fail_msg("%s\n%s", text, program_messages(&s->program));
    make_arrays(s);
    struct lockstep machine = {.arena = &s->program.arena, .function = lowered.function};
    for (int i = 0; i < 3; i++) {
        machine.block[i] = lowered.block[i];
        machine.grid[i] = (int)known(s, s->program.kernel->grid[i]);
    }
    machine.shared_bytes = lowered.shared_bytes;
    for (size_t i = 0; i < lowered.params.count; i++)
        pass_argument(s, &machine, (int)i, &lowered.params.data[i]);
    const char *ptx = emitted_text(&s->program, &lowered), *why = lockstep_run(&machine);
    if (why)
        fail_msg("%s\n%s\n%s", why, text, ptx);
    return ptx;
}

/* Compares the text's one kernel: all its scalars are `n`, and the compiler knows that `divisor`
 * divides it. */
static void compare(const char *text, int64_t n, int divisor)
{
    struct side engine, lowered;
    open_side(&engine, text, n, divisor);
    run_on_engine(&engine, text);
    open_side(&lowered, text, n, divisor);
    const char *ptx = run_emitted(&lowered, text);
    for (const struct param *p = engine.program.kernel->params; p; p = p->next) {
        const struct cpu_argument *a = &engine.args[p->sym->index];
        const struct cpu_argument *b = &lowered.args[p->sym->index];
        if (p->sym->is_pointer && memcmp(a->data, b->data, a->bytes) != 0)
            fail_msg("n = %lld, divisor %d: `%s` differs\n%s\n%s", (long long)n, divisor,
                     p->sym->name, text, ptx);
    }
    close_side(&engine);
    close_side(&lowered);
}

/* Compares statements of a kernel of 32 threads a block, for ragged and even sizes; x is a
 * thread's column, `type` the type of the elements. */
static void same_for(const char *type, const char *statements)
{
    char text[4096];
    snprintf(text, sizeof text,
             "kernel f(i32 n, const %s *pa, %s *pc) grid(cdiv(n, 32), 3) threads(16, 2)\n{\n"
             "    global %s A[n][n] = pa, C[n][n] = pc;\n    shared %s S[8][48];\n"
             "    i32 x = block.x * 32 + thread.x + 16 * thread.y, r = block.y;\n%s\n}\n",
             type, type, type, type, statements);
    compare(text, 37, 0);
    compare(text, 48, 16);
    compare(text, 64, 0);
}

static void same(const char *statements)
{
    same_for("f32", statements);
}

/* --- slices --- */

static void slices_of_views(void **state)
{
    (void)state;
    same("f32 v[4] = A[r][x * 4 +: 4];\n C[r][x * 4 +: 4] = v;");
    same("f32 v[4] = A[r][x * 4 - 6 +: 4] else 9;\n C[r][x * 4 - 6 +: 4] = v * 2;");
    same("f32 v[7] = A[r][x * 7 +: 7];\n C[r][x * 7 +: 7] = v;");
    same("f32 v[2][3] = A[2 * r +: 2][x * 3 +: 3];\n C[2 * r +: 2][x * 3 +: 3] = v + 1;");
    same("f32 v[3] = A[x +: 3][r];\n C[x +: 1][r] = sum(v);");
    same("f32 v[8] = A[r][x * 8 +: 8];\n C[r][x * 8 + 8 +: 8] = v;");
    same("f32 v[4] = x % 2 == 0 ? A[r][4 * x +: 4] : C[r][4 * x +: 4] * 2;\n"
         "C[r][4 * x +: 4] = v + 1;");
    same("if (x % 3 == 1) {\n f32 v[4] = A[r][x * 4 +: 4];\n C[r][x * 4 +: 4] = v;\n}");
    same("i64 far = 9223372036854775807;\n f32 v[4] = A[r][far - x +: 4] else 3;\n"
         "C[r][far - x +: 4] = v;\n C[r][x * 4 +: 4] = v;");
    same("i32 q[3];\n for (i32 i = 0; i < 3; i++)\n q[i] = x * 3 - i * 2;\n"
         "f32 v[3][2] = A[q[:]][r +: 2] else 5;\n if (x < n) C[r][x] = sum(v);");
}

static void slices_of_every_type(void **state)
{
    static const char *const types[] = {"f64", "f16", "bf16", "i64", "i32", "i16",
                                        "i8",  "u64", "u32",  "u16", "u8",  "bool"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[512];
        const char *t = types[i];
        snprintf(text, sizeof text,
                 "%s v[4] = A[r][x * 4 +: 4], w[16] = A[r + 3][x * 16 +: 16], one = A[r][0];\n"
                 "C[r][x * 4 +: 4] = v;\n C[r + 3][x * 16 +: 16] = w;\n"
                 "if (x < n)\n C[r + 6][x] = x %% 2 == 0 ? A[r][x] : one;",
                 t);
        same_for(t, text);
    }
}

static void slices_of_shared_tiles(void **state)
{
    (void)state;
    same("i32 t = thread.x + 16 * thread.y;\n S[t / 4][t % 4 * 12 +: 12] = A[r][t % 4 * 3 +: 12];\n"
         "sync();\n f32 v[4] = S[thread.x / 2][thread.x % 2 * 4 +: 4], w[2] = S[t / 4][t +: 2];\n"
         "if (x < n) C[r][x] = sum(v) + w[1];");
    same("if (thread.y == 0 && thread.x < 8)\n S[thread.x] = 1;\n sync();\n"
         "f32 v[3][3] = S[thread.x - 4 +: 3][x +: 3] else 4;\n if (x < n) C[r][x] = sum(v);");
}

/* --- arrays --- */

static void arrays_in_registers(void **state)
{
    (void)state;
    same("f32 v[4] = A[r][x * 4 +: 4];\n v = v * 2 + v[0] * 0 + v[3];\n C[r][x * 4 +: 4] = v;");
    same("f32 v[2][3] = A[r +: 2][x * 3 +: 3];\n v[1] = v[0] + 1;\n v[0][1 +: 2] = v[1][0 +: 2];\n"
         "C[r][x * 3 +: 3] = v[0];\n C[r + 3][x * 3 +: 3] = v[1];");
    same("f32 v[4] = A[r][x * 4 +: 4];\n v[0 +: 3] = v[1 +: 3];\n C[r][x * 4 +: 4] = v;");
    same("f32 v[2][2] = A[r +: 2][x * 2 +: 2];\n v = trans(v) - v;\n C[r][x * 4 +: 4] = "
         "reshape(v, 4);");
    same("f32 v[3];\n unroll for (i32 i = 0; i < 3; i++)\n v[i] = i * x;\n"
         "for (i32 k = 0; k < n; k++)\n unroll for (i32 i = 0; i < 3; i++)\n"
         "v[i] += v[(i + 1) % 3] * 0.5;\n C[r][x * 3 +: 3] = v;");
    same("bool b[4] = A[r][x * 4 +: 4] > 0;\n b[1] = !b[1];\n if (x % 2 == 0)\n b[0] = true;\n"
         "C[r][x * 4 +: 4] = where(b, 1, -1);");
}

static void arrays_with_free_indices(void **state)
{
    (void)state;
    same("f32 v[5] = A[r][x * 5 +: 5];\n for (i32 i = 0; i < 5; i++)\n v[(x + i) % 5] += i;\n"
         "if (x < n) C[r][x] = v[x % 5] + v[(x + 2) % 5];");
    same("f32 v[40] = 1;\n for (i32 i = 0; i < 40; i++)\n v[(x + i) % 40] += i * x;\n"
         "v[3 +: 4] = A[r][x * 4 +: 4];\n v = v + v[5];\n"
         "if (x < n) C[r][x] = v[x % 40] + v[4];\n C[r + 3][x * 4 +: 4] = v[x % 37 +: 4];");
    same("f16 h[20] = (f16) x;\n bool b[20] = false;\n h[x % 20] = 2;\n b[x % 19] = x > 4;\n"
         "if (x < n) C[r][x] = (f32) h[(x + 1) % 20] + (f32) b[x % 20] + (f32) sum((i32) b);");
    same("f32 v[4] = 0;\n if (x % 4 != 2)\n v[x % 4] = A[r][0];\n C[r][x * 4 +: 4] = v;");
}

/* Arrays too large for registers: an assignment to all of their elements is a loop. */
static void large_arrays(void **state)
{
    (void)state;
    same("f32 v[300] = x;\n v[x] = 5;\n v = v * 2 + v[x + 1];\n"
         "if (x % 3 == 1)\n v = v + A[r][x % n];\n C[r][x * 4 +: 4] = v[x +: 4];");
    same("f32 v[300] = A[r][x - 7 +: 300] else 3, w[300];\n w = v;\n v[1 +: 280] = v[0 +: 280];\n"
         "w[x +: 290] = v[5 +: 290] * A[0][3];\n C[r][x * 4 +: 4] = v[x +: 4] + w[x + 2 +: 4];");
    same("f32 v[20][20] = iota(20, 1) * x + iota(1, 20), w[20][20], u[3][10][20];\n w = trans(v) - "
         "v;\n"
         "w[3 +: 15] = v[2 +: 15] + w[x % 20][0 +: 20];\n u = v[x % 10 +: 10];\n"
         "v[0 +: 18] = v[1 +: 18];\n C[r][x * 4 +: 4] = w[x % 20][3 +: 4] + u[x % 3][x % 10][1 +: "
         "4] "
         "+ v[x % 18][0 +: 4];");
    same("i32 q[300] = 7;\n f32 v[260] = A[x % n][0 +: 260], w[300];\n"
         "for (i32 i = 0; i < 300; i++)\n q[i] = i * x % 270;\n w = v[q[:]] else -1;\n"
         "bool b[300] = w > 0 && q > 5;\n w = where(b, w, 2);\n"
         "C[r][x * 4 +: 4] = w[x +: 4] + (f32) b[x * 2];");
    same("f32 v[300] = 1;\n i64 far = 9223372036854775807;\n v[3 +: 290] = A[r][far - x +: 290] "
         "else 4;\n"
         "v[x - 40 +: 280] = 9;\n if (r == 0 && x < n)\n C[x][x - 5 +: 300] = v + x;\n"
         "if (r == 1 && x < n)\n C[x][n - 1] = v[x];");
    same("f32 v[300] = iota(), w[20][20] = iota(20, 1) * 3 - iota(1, 20);\n v[x +: 260] += 2;\n"
         "w = trans(w) - w;\n v[x +: 260] = v[1 +: 260] - v[x +: 260] * 2;\n"
         "i32 q[280] = iota() / 2;\n v[q[:]] = v[q[:]] + iota();\n"
         "C[r][x * 4 +: 4] = v[x * 2 +: 4] + w[x % 20][5 +: 4];");
    same("f32 v[300] = x;\n if (r == 0 && x < n) {\n C[x][3 +: 290] *= v[2 +: 290] + 1;\n"
         "C[x][2 +: 290] = C[x][1 +: 290] + v[0];\n }");
    same("f16 w[8][40] = (f16) x;\n if (x == 5) S[0 +: 8][2 +: 40] = (f32) w + 1;\n sync();\n"
         "f32 v[8][40] = S[0 +: 8][1 +: 40];\n if (x < n && block.x == 0) C[r][x] = v[x % 8][x % "
         "30 + 3];");
}

static void expressions_over_arrays(void **state)
{
    (void)state;
    same("f32 v[2][3] = A[r +: 2][x * 3 +: 3];\n f32 s[2][1] = sum(v, axis = 1), m[1][3] = "
         "max(v, axis = 0);\n C[r][x * 3 +: 3] = reshape(m, 3) + s[1][0] - min(v);");
    same("f32 v[4] = A[r][x * 4 +: 4];\n f32 s[4] = scan(add, v, axis = 0), e[4] = scan(max, v, "
         "axis = 0, exclusive = true);\n C[r][x * 4 +: 4] = s + where(e < -100, 0, e);");
    same("f32 a[2][3] = A[r +: 2][x * 3 +: 3], b[3][2] = A[r +: 3][x +: 2], c[2][2] = dot(a, b);\n"
         "c = dot(a, b, c);\n C[r][x * 4 +: 4] = reshape(c, 4);");
    same("f32 v[2] = A[r][x * 2 +: 2];\n C[r][x * 4 +: 4] = repeat(v, 2);\n"
         "C[r + 3][x * 4 +: 4] = repeat_interleave(v, 2) + iota();");
    same("i32 v[4] = (i32) A[r][x * 4 +: 4];\n C[r][x * 4 +: 4] = (f32) ((v << 2 | 1) % 5 + (v >> "
         "(i64) 1));");
    same("f32 v[4] = A[r][x * 4 +: 4];\n if (any(v > 3) && !all(v > 0))\n "
         "C[r][x * 4 +: 4] = x > 5 ? v : v * 2;");
}

/* --- loads --- */

/* Checks the number of occurrences of each text in the PTX of these statements. */
static void expect_counts(const char *statements, ...)
{
    struct side s;
    char text[2048];
    snprintf(text, sizeof text,
             "kernel f(i32 n, const f32 *pa, f32 *pc) grid(1) threads(32)\n{\n"
             "    global f32 A[n][n] = pa, C[n][n] = pc;\n    shared f32 S[32][32];\n"
             "    i32 x = thread.x;\n%s\n}\n",
             statements);
    open_side(&s, text, 64, 16);
    const char *ptx = run_emitted(&s, text);
    va_list list;
    va_start(list, statements);
    expect_occurrences(text, ptx, list);
    va_end(list);
    close_side(&s);
}

static void loads_as_wide_as_they_may_be(void **state)
{
    (void)state;
    expect_counts("f32 v[8] = A[0][x * 8 +: 8];\n C[0][x * 8 +: 8] = v;", "ld.global.nc.v4.f32", 2,
                  "st.global.v4.f32", 2, "setp", 2, NULL);
    expect_counts("f32 v[4] = A[0][x * 2 +: 4];\n C[0][x * 4 + 1 +: 4] = v;", "ld.global.nc.v2.f32",
                  2, "st.global.f32", 4, NULL);
    expect_counts("f32 v[4] = A[0][x * 4 +: 4 inside];\n C[0][x * 4 +: 4 inside] = v;",
                  "ld.global.nc.v4.f32", 1, "setp", 0, NULL);
    expect_counts("f32 v[4] = S[x][x % 8 * 4 +: 4];\n C[0][x * 4 +: 4 inside] = v;",
                  "ld.shared.v4.f32", 1, "setp", 0, NULL);
}

static void loads_once(void **state)
{
    (void)state;
    /* neighbouring loads become one; loaded elements are not loaded again */
    expect_counts("C[0][x] = S[x][0] * S[x][1] + S[x][2] * S[x][3] + S[x][0];", "ld.shared.v4.f32",
                  1, "ld.shared.f32", 0, NULL);
    expect_counts("C[0][x] = S[x][1] + S[x][2];", "ld.shared.f32", 2, NULL);
    expect_counts("C[0][x] = S[x][3] + S[x][2];", "ld.shared.v2.f32", 1, NULL);
    /* not across stores, barriers, branches */
    expect_counts("f32 a = S[x][0];\n S[x][1] = a;\n C[0][x] = a + S[x][0] + S[x][1];",
                  "ld.shared.f32", 1, "ld.shared.v2.f32", 1, NULL);
    expect_counts("f32 a = S[x][0];\n sync();\n C[0][x] = a + S[x][0];", "ld.shared.f32", 2, NULL);
    expect_counts("f32 a = S[x][0];\n if (x > 3)\n a += S[x][1];\n C[0][x] = a;", "ld.shared.f32",
                  2, NULL);
    expect_counts("f32 a = A[x][0];\n C[0][x] = a;\n C[1][x] = A[x][0] + C[0][x];",
                  "ld.global.nc.f32", 1, "ld.global.f32", 1, NULL);
    same("f32 v = 0;\n for (i32 i = 0; i < n; i++)\n v += A[r][i] * A[i][r] + A[r][i];\n"
         "if (x < n) C[r][x] = v;");
    same("i32 t = thread.x + 16 * thread.y;\n S[t % 8][t] = x;\n S[t % 8][t + 1] = 3;\n"
         "f32 v = S[t % 8][t];\n S[t % 8][t] = v + 1;\n"
         "if (x < n) C[r][x] = S[t % 8][t] * 8 + S[t % 8][t + 1] + v;");
}

/* --- conditions --- */

/* An `if` with a few cheap assignments has no branch; the elements that it does not load need
 * not exist. */
static void ifs_without_branches(void **state)
{
    (void)state;
    expect_counts("f32 v[4] = 0;\n if (x < 9)\n v = A[0][x * 8 +: 4];\n C[0][x * 4 +: 4] = v;",
                  "bra", 0, "    ld.global", 0, "ld.global.nc.v4.f32", 1, NULL);
    expect_counts(
        "f32 v = 0;\n if (x < 9)\n v += A[0][x * 8];\n else\n v = A[1][x];\n C[0][x] = v;", "bra",
        0, "    ld.global", 0, NULL);
    same("f32 v[4] = 1, w[4] = A[r][x * 4 +: 4];\n if (x % 2 == 0)\n v = A[r][x * 4 +: 4] else 5;\n"
         "if (w[0] > 0 && r < 2)\n w = A[r + 1][x * 4 +: 4];\n else\n w[1] = v[2] + w[3];\n"
         "C[r][x * 4 +: 4] = v + w;");
    same("f32 v = 3;\n if (x < n)\n v = A[r][x];\n if (x < n && A[r][x] > 0)\n v += A[r + 1][x];\n"
         "if (x < n) C[r][x] = v;");
    same("f32 v = x;\n if (x + 40 * r < n) {\n i32 q = (i32) A[r][x + 40 * r];\n"
         "v = A[q * q % 8][x + 40 * r] + q;\n }\n if (x < n) C[r][x] = v;");
}

/* The condition keeps the value that it had when it was evaluated. */
static void conditions_that_the_arms_change(void **state)
{
    (void)state;
    same("i32 i = x % 7, j = 0;\n if (i < 3) {\n i = i + 5;\n j = i * 2;\n } else {\n i = 1;\n"
         "j += 4;\n }\n if (x < n) C[r][x] = i * 100 + j;");
    same("i32 i = x % 5, j = x % 3;\n if (i > j) {\n i -= j;\n if (i > 2)\n j = i;\n else if (j == "
         "1)\n"
         "i = 9;\n j++;\n }\n if (x < n) C[r][x] = i * 100 + j;");
    same("i32 i = x % 4, j = 0;\n for (i32 p = 0; p < n; p++) {\n if (i == 3) {\n i = 0;\n j += "
         "p;\n }\n"
         "else\n i++;\n if (j > 99)\n break;\n }\n if (x < n) C[r][x] = i * 1000 + j;");
    same("f32 v[2] = A[r][x * 2 +: 2];\n if (v[0] > v[1]) {\n f32 t = v[0];\n v[0] = v[1];\n v[1] "
         "= t;\n"
         "}\n C[r][x * 2 +: 2] = v;");
    same("f32 v[2][2] = A[r +: 2][x * 2 +: 2];\n if (x % 3 > 0)\n v = trans(v);\n if (x % 2 > 0)\n"
         "v[0][0] = sum(v);\n if (x % 5 > 1) {\n v = v * v[0][1] + 1;\n }\n C[r][x * 4 +: 4] = "
         "reshape(v, 4);");
    same("f32 v = 0;\n bool b = x > 3;\n for (i32 p = 0; p < n; p++)\n if (p % 3 == x % 3) {\n"
         "v += A[r][p];\n b = !b;\n }\n if (x < n) C[r][x] = b ? v : -v;");
}

static void conditions_of_every_type(void **state)
{
    static const char *const types[] = {"f64", "f16", "bf16", "i64", "i32", "i16",
                                        "i8",  "u64", "u32",  "u16", "u8",  "bool"};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[512];
        const char *t = types[i];
        snprintf(
            text, sizeof text,
            "%s v[4] = 1, w[2] = A[r][x * 2 +: 2], one = 0;\n if (x %% 3 < 2)\n"
            "v = A[r][x * 4 +: 4];\n if (x < n && x %% 2 == 0) {\n one = A[r][x];\n"
            "w[1] = v[2];\n } else\n w = v[1 +: 2];\n"
            "C[r][x * 4 +: 4] = v;\n C[r + 3][x * 2 +: 2] = w;\n if (x < n) C[r + 6][x] = one;",
            t);
        same_for(t, text);
    }
}

/* --- atomics, warps --- */

static void atomics_on_slices(void **state)
{
    (void)state;
    compare("kernel f(i32 n, const i32 *a, i32 *c) grid(2) threads(16)\n{\n"
            "    global i32 A[n] = a, C[n] = c;\n    i32 x = thread.x;\n"
            "    i32 v[3] = A[x * 3 - 4 +: 3];\n    atomic_add(C[x * 2 +: 3], v);\n"
            "    atomic_max(C[-2 +: 2], 5);\n}\n",
            19, 0);
    compare(
        "kernel f(i32 n, const i32 *a, i32 *c) grid(2) threads(16)\n{\n"
        "    global i32 A[n] = a, C[n] = c;\n    atomic_max(C[0 +: 2], 5);\n"
        "    if (thread.x == 7) {\n        i32 old[2] = atomic_add(C[4 + block.x * 4 +: 2], 1);\n"
        "        C[12 + block.x * 4 +: 2] = old;\n    }\n}\n",
        19, 0);
}

static void arrays_of_a_block(void **state)
{
    (void)state;
    compare(
        "kernel f(i32 n, const f32 *a, f32 *c) grid(2) warps(2)\n{\n"
        "    global f32 A[n] = a, C[n] = c;\n    f32 v[4] = A[0 +: 4];\n"
        "    for (i32 i = 0; i < 4; i++)\n        v[i] += A[i] + block.x;\n"
        "    if (block.x == 1)\n        C[8 +: 4] = v;\n    else\n        C[0 +: 4] = v * v[n % "
        "4];\n    C[12 + block.x] = sum(v);\n}\n",
        17, 0);
    compare("kernel f(i32 n, const f32 *a, f32 *c) grid(1) warps(2)\n{\n"
            "    global f32 A[n] = a, C[n] = c;\n    reg f32 t[32] = A[0 +: 32];\n"
            "    f32 v[4] = 0;\n    for (i32 i = 0; i < 4; i++)\n        v[i] = sum(t * i);\n"
            "    C[0 +: 32] = t + reshape(broadcast(reshape(v, 4, 1), 4, 8), 32);\n"
            "    f32 w[8] = t[8 +: 8];\n    C[32] = w[n % 8];\n}\n",
            40, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_of_views),
        cmocka_unit_test(slices_of_every_type),
        cmocka_unit_test(slices_of_shared_tiles),
        cmocka_unit_test(arrays_in_registers),
        cmocka_unit_test(arrays_with_free_indices),
        cmocka_unit_test(large_arrays),
        cmocka_unit_test(expressions_over_arrays),
        cmocka_unit_test(loads_as_wide_as_they_may_be),
        cmocka_unit_test(loads_once),
        cmocka_unit_test(ifs_without_branches),
        cmocka_unit_test(conditions_that_the_arms_change),
        cmocka_unit_test(conditions_of_every_type),
        cmocka_unit_test(atomics_on_slices),
        cmocka_unit_test(arrays_of_a_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

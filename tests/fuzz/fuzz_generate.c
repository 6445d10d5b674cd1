/* Random modules. The generator knows its declarations, with types and extents, and writes what
 * fits; so most of its programs compile and reach the late stages. */
#include "fuzz_gen.h"

static void line(struct gen *g)
{
    gen_put(g, "\n");
    for (int i = 0; i < g->indent * INDENT; i++)
        gen_put(g, " ");
}

static struct var *pick_writable(struct gen *g, enum storage_kind storage)
{
    for (int tries = 0; tries < 6; tries++) {
        struct var *v = gen_pick(g, storage, NULL, false);
        if (v && v->writable)
            return v;
    }
    return NULL;
}

/* --- statements --- */

static void statements(struct gen *g, int count);

static void body(struct gen *g, int count)
{
    int vars = g->var_count;
    gen_put(g, "{");
    g->indent++;
    statements(g, count);
    g->indent--;
    g->var_count = vars;
    line(g);
    gen_put(g, "}");
}

static void sync(struct gen *g)
{
    if (g->varying > 0 || g->pipelined || gen_slip(g))
        return;
    line(g);
    gen_put(g, "sync();");
}

static void declare_scalar(struct gen *g)
{
    enum dtype t = gen_some_type(g, gen_some_class(g));
    line(g);
    bool constant = gen_chance(g, 15);
    int n = g->names;
    gen_printf(g, "%s%s x%d = ", constant ? "const " : "", gen_type_name(t), n);
    gen_value(g, t, &scalar_shape);
    gen_put(g, ";");
    g->names = n;
    struct var *v = gen_add_var(g, V_SCALAR, t, scalar_shape);
    v->writable = !constant;
    v->varying = g->threads;
}

static void declare_tile(struct gen *g)
{
    enum storage_kind storage = g->threads ? V_ARRAY : V_REG;
    enum dtype t = gen_some_type(g, gen_some_class(g));
    struct shape s = gen_some_shape(g);
    int n = g->names;
    line(g);
    gen_printf(g, "%s%s %c%d", storage == V_REG ? "reg " : "", gen_type_name(t),
               storage == V_REG ? 'r' : 'a', n);
    gen_put_extents(g, &s);
    gen_put(g, " = ");
    gen_value(g, t, &s);
    gen_put(g, ";");
    g->names = n;
    gen_add_var(g, storage, t, s);
}

/* Declares a shared tile, filled before it is read. */
static void declare_shared(struct gen *g)
{
    enum dtype t = gen_some_type(g, gen_some_class(g));
    struct shape s = gen_some_shape(g);
    if (g->varying > 0 || g->pipelined || (g->threads && !gen_slip(g)))
        return;
    line(g);
    int n = g->names;
    gen_printf(g, "shared %s s%d", gen_type_name(t), n);
    gen_put_extents(g, &s);
    gen_put(g, ";");
    line(g);
    gen_printf(g, "s%d = ", n);
    gen_value(g, t, &s);
    gen_put(g, ";");
    g->names = n;
    gen_add_var(g, V_SHARED, t, s);
    sync(g);
}

static void assign_op(struct gen *g, enum dtype t)
{
    static const char *const ops[] = {"+=", "-=", "*="};
    gen_put(g, gen_chance(g, 75) || t != DT_F32 ? " = " : "");
    if (g->out->data[g->out->length - 1] != ' ')
        gen_printf(g, " %s ", ops[gen_below(g, 3)]);
}

static void assign(struct gen *g)
{
    enum storage_kind kinds[] = {V_SCALAR, V_SCALAR, V_REG, V_REG, V_ARRAY, V_SHARED};
    struct var *v = pick_writable(g, kinds[gen_below(g, 6)]);
    if (!v || (v->storage == V_SHARED && (g->varying > 0 || g->pipelined)))
        return;
    if (v->storage == V_SHARED)
        sync(g);
    line(g);
    gen_put(g, v->name);
    assign_op(g, v->dtype);
    gen_value(g, v->dtype, &v->shape);
    gen_put(g, ";");
    if (v->storage == V_SHARED)
        sync(g);
}

/* Writes a store to a view: a tile, or an element at thread level. */
static void store(struct gen *g)
{
    struct var *v = pick_writable(g, V_VIEW);
    if (!v)
        return;
    struct shape s = {0, {1, 1, 1}};
    bool tile = !g->threads || gen_slip(g);
    if (tile)
        s = gen_some_shape(g);
    if (s.rank > v->shape.rank)
        s.rank = v->shape.rank;
    line(g);
    bool atomic = gen_chance(g, 15) && (v->dtype == DT_I32 || v->dtype == DT_F32);
    gen_printf(g, "%s%s", atomic ? "atomic_add(" : "", v->name);
    gen_put_indices(g, v, &s);
    gen_put(g, atomic ? ", " : " = ");
    gen_value(g, v->dtype, &s);
    gen_put(g, atomic ? ");" : ";");
}

static void count_loop(struct gen *g)
{
    int n = g->names++;
    line(g);
    if (gen_chance(g, 15))
        gen_put(g, gen_chance(g, 50) ? "unroll " : "unroll(2) ");
    gen_printf(g, "for (i32 x%d = 0; x%d < %d; x%d%s) ", n, n, 1 + gen_below(g, 5), n,
               gen_chance(g, 70) ? "++" : " += 2");
    int vars = g->var_count, names = g->names;
    g->names = n;
    struct var *v = gen_add_var(g, V_SCALAR, DT_I32, scalar_shape);
    v->writable = false;
    g->names = names;
    g->loops++;
    body(g, 1 + gen_below(g, 3));
    g->loops--;
    g->var_count = vars;
}

static void while_loop(struct gen *g)
{
    int n = g->names++, limit = 1 + gen_below(g, 4);
    line(g);
    gen_printf(g, "i32 x%d = 0;", n);
    line(g);
    bool after = gen_chance(g, 40);
    if (after)
        gen_put(g, "do ");
    else
        gen_printf(g, "while (x%d < %d) ", n, limit);
    gen_put(g, "{");
    g->indent++;
    line(g);
    gen_printf(g, "x%d++;", n);
    g->loops++;
    statements(g, 1 + gen_below(g, 2));
    g->loops--;
    g->indent--;
    line(g);
    gen_put(g, "}");
    if (after)
        gen_printf(g, " while (x%d < %d);", n, limit);
}

static void branch(struct gen *g)
{
    line(g);
    gen_put(g, "if (");
    gen_expr(g, C_BOOL, &scalar_shape, 2);
    gen_put(g, ") ");
    g->varying += g->threads;
    body(g, 1 + gen_below(g, 2));
    if (gen_chance(g, 40)) {
        gen_put(g, " else ");
        body(g, 1 + gen_below(g, 2));
    }
    g->varying -= g->threads;
}

static struct var *const_view(struct gen *g)
{
    for (int tries = 0; tries < 8; tries++) {
        struct var *v = gen_pick(g, V_VIEW, NULL, false);
        if (v && !v->writable && v->shape.rank == 2)
            return v;
    }
    return NULL;
}

/* Writes a shared tile filled by an asynchronous copy, and the wait. */
static void async_copy(struct gen *g)
{
    struct var *from = const_view(g);
    if (!from || g->threads || g->varying > 0 || g->pipelined)
        return;
    struct shape s = {2, {gen_some_extent(g), gen_some_extent(g), 1}};
    int n = g->names;
    line(g);
    gen_printf(g, "shared %s s%d", gen_type_name(from->dtype), n);
    gen_put_extents(g, &s);
    gen_put(g, ";");
    line(g);
    gen_printf(g, "async s%d = %s[", n, from->name);
    gen_small_int(g, 0, 1);
    gen_printf(g, " +: %d][", s.extent[0]);
    gen_small_int(g, 0, 1);
    gen_printf(g, " +: %d];", s.extent[1]);
    line(g);
    gen_put(g, gen_chance(g, 50) ? "async_commit();" : "");
    line(g);
    gen_put(g, gen_slip(g)              ? "async_wait(1);"
               : gen_below(g, 200) == 0 ? "async_wait(9223372036854775807); async_wait(0);"
                                        : "async_wait(0);");
    sync(g);
    gen_add_var(g, V_SHARED, from->dtype, s);
}

static void pipeline(struct gen *g)
{
    struct var *from = const_view(g);
    if (!from || g->threads || g->varying > 0 || g->pipelined)
        return;
    int k = gen_some_extent(g), rows = gen_some_extent(g), p = g->names++;
    struct shape s = {2, {rows, k, 1}};
    line(g);
    gen_printf(g, "pipeline(%d) for (i32 x%d = 0; x%d < n; x%d += %d) {", 1 + gen_below(g, 4), p, p,
               p, k);
    int vars = g->var_count;
    bool before = g->pipelined;
    g->pipelined = true;
    g->loops++;
    g->indent++;
    line(g);
    gen_printf(g, "shared %s s%d[%d][%d] = %s[", gen_type_name(from->dtype), g->names, rows, k,
               from->name);
    gen_small_int(g, 0, 0);
    gen_printf(g, " +: %d][x%d +: %d];", rows, p, k);
    gen_add_var(g, V_SHARED, from->dtype, s);
    statements(g, 1 + gen_below(g, 3));
    g->indent--;
    g->loops--;
    g->pipelined = before;
    g->var_count = vars;
    line(g);
    gen_put(g, "}");
}

/* At thread level: writes a shared array, an element a thread. */
static void exchange(struct gen *g)
{
    enum dtype t = gen_some_type(g, gen_some_class(g));
    if (!g->threads || g->varying > 0)
        return;
    int n = g->names++, m = g->names++;
    line(g);
    gen_printf(g, "shared %s s%d[%d][%d];", gen_type_name(t), n, g->block[1],
               g->block[0] + gen_below(g, 2));
    line(g);
    gen_printf(g, "s%d[thread.y][thread.x] = ", n);
    gen_value(g, t, &scalar_shape);
    gen_put(g, ";");
    sync(g);
    line(g);
    gen_printf(g, "%s x%d = s%d[thread.y][(thread.x + 1) %% %d];", gen_type_name(t), m, n,
               g->block[0]);
    sync(g);
    g->names = m;
    gen_add_var(g, V_SCALAR, t, scalar_shape)->varying = true;
}

/* Writes blocks that run one after the other, in the order of their ids. */
static void in_turn(struct gen *g)
{
    if (g->threads || g->varying > 0 || g->pipelined || g->loops > 0 || g->names == 0)
        return;
    int n = g->names++;
    line(g);
    gen_printf(g, "global i32 V%d[8] = 0;", n);
    line(g);
    gen_printf(g, "lock(V%d[block.y], block.x);", n);
    store(g);
    line(g);
    gen_printf(g, "unlock(V%d[block.y], block.x + 1);", n);
}

/* Writes blocks that count themselves. The number depends on their order, so nothing uses it. */
static void arrive(struct gen *g)
{
    if (g->varying > 0 || g->pipelined || g->loops > 0 || g->names == 0) {
        gen_put(g, ";");
        return;
    }
    int n = g->names++;
    gen_printf(g, "global %s V%d[8] = 0;", gen_chance(g, 50) ? "i32" : "u64", n);
    line(g);
    if (gen_chance(g, 50))
        gen_printf(g, "arrive(V%d[block.y]);", n);
    else
        gen_printf(g, "if (arrive(V%d[block.y], %d) == 0) { }", n, 1 + gen_below(g, 3));
}

static void small_statement(struct gen *g)
{
    line(g);
    switch (gen_below(g, 10)) {
    case 0:
        gen_put(g, "print(\"v\\n\", ");
        gen_expr(g, gen_some_class(g), &scalar_shape, 1);
        gen_put(g, ");");
        break;
    case 1: gen_put(g, "assume(n >= 0);"); break;
    case 7: in_turn(g); break;
    case 8: arrive(g); break;
    case 2: gen_put(g, "static_assert(1 + 1 == 2, \"sums\");"); break;
    case 3:
        gen_put(g, g->loops > 0 && g->varying == 0 && gen_chance(g, 30) ? "if (block.x > 0) break;"
                                                                        : ";");
        break;
    case 4:
        gen_put(g, g->loops > 0 && g->varying == 0 && gen_chance(g, 30)
                       ? "if (block.y > 0) continue;"
                       : "{ }");
        break;
    case 5:
        if (g->has_pair && !g->threads) {
            gen_printf(g, "i32 (x%d, x%d) = pair(block.x);", g->names, g->names + 1);
            gen_add_var(g, V_SCALAR, DT_I32, scalar_shape);
            gen_add_var(g, V_SCALAR, DT_I32, scalar_shape);
        }
        break;
    case 6: {
        struct var *v = g->loops == 0 && g->varying == 0 && g->indent == 1
                            ? gen_pick(g, V_SHARED, NULL, false)
                            : NULL;
        if (v && !g->threads) {
            gen_printf(g, "free(%s);", v->name);
            v->live = false;
        }
        break;
    }
    default: gen_put(g, "// nothing");
    }
}

static void statement(struct gen *g)
{
    int deep = g->indent > 4;
    switch (gen_below(g, 20)) {
    case 0:
    case 1: declare_scalar(g); break;
    case 2:
    case 3:
    case 4: declare_tile(g); break;
    case 5: declare_shared(g); break;
    case 6:
    case 7:
    case 8: assign(g); break;
    case 9:
    case 10:
    case 11: store(g); break;
    case 12:
        if (!deep)
            count_loop(g);
        break;
    case 13:
        if (!deep)
            branch(g);
        break;
    case 14: async_copy(g); break;
    case 15:
        if (!deep)
            pipeline(g);
        break;
    case 16: exchange(g); break;
    case 17:
        if (!deep && gen_chance(g, 40))
            while_loop(g);
        break;
    default: small_statement(g);
    }
}

static void statements(struct gen *g, int count)
{
    for (int i = 0; i < count; i++)
        statement(g);
}

/* --- the module --- */

static void module_head(struct gen *g)
{
    static const int values[] = {2, 4, 8, 3};
    int count = gen_below(g, 4);
    for (int i = 0; i < count; i++) {
        struct constant *c = &g->consts[g->const_count++];
        c->name[0] = "BKWS"[i];
        c->name[1] = "MN"[gen_below(g, 2)];
        c->value = values[gen_below(g, 4)];
        bool tuned = gen_chance(g, 50);
        if (tuned)
            gen_printf(g, "tune %s = {%d, %d};\n", c->name, c->value, c->value * 2);
        else
            gen_printf(g, "const i32 %s = %d;\n", c->name, c->value);
        if (tuned && gen_chance(g, 15))
            gen_printf(g, "tune(%s) %s = {%d};\n", gen_chance(g, 50) ? "cpu" : "sm_90", c->name,
                       c->value);
    }
    g->type_variable = gen_chance(g, 30);
    if (g->type_variable)
        gen_put(g, "type T = {f32, f16, f64};\n");
    if (g->const_count > 0 && gen_chance(g, 20))
        gen_printf(g, "require(%s >= 1);\n", g->consts[0].name);
    g->has_fn = gen_chance(g, 40);
    if (g->has_fn)
        gen_put(
            g,
            "fn reg U[M][N] twice(reg U x[M][N])\n{\n    reg U y[M][N] = x + x;\n    return y;\n}\n"
            "fn U half(U x) { return x / 2; }\n");
    g->has_pair = gen_chance(g, 30);
    if (g->has_pair)
        gen_put(g, "fn (i32, i32) pair(i32 t) { i32 q = t / 3; return (q, t % 3); }\n");
}

/* Writes three arrays, each with a view or two. */
static void kernel_views(struct gen *g, const enum dtype *types, const bool *writable)
{
    static const char *const dims[] = {"m", "n", "m", "n", "48", "40", "m + 2", "n * 2"};
    for (int i = 0; i < 3; i++) {
        struct shape s = {gen_chance(g, 70) ? 2 : 1 + gen_below(g, 3), {8, 8, 8}};
        line(g);
        gen_printf(g, "global %s V%d", gen_type_name(types[i]), g->names);
        for (int axis = 0; axis < s.rank; axis++)
            gen_printf(g, "[%s]", dims[gen_below(g, 8)]);
        gen_printf(g, " = %c%s;", "abc"[i], gen_chance(g, 10) ? " + 1" : "");
        gen_add_var(g, V_VIEW, types[i], s)->writable = writable[i];
    }
    if (gen_chance(g, 20)) {
        line(g);
        gen_printf(g, "global f32 V%d[m][n]%s;", g->names, gen_chance(g, 50) ? " = 0" : "");
        gen_add_var(g, V_VIEW, DT_F32, (struct shape){2, {8, 8, 1}});
    }
}

static void kernel_attributes(struct gen *g)
{
    static const char *const grids[] = {"1", "2", "cdiv(m, 4)", "cdiv(m, 4), 2", "2, cdiv(n, 8)"};
    gen_printf(g, "\n    grid(%s) ", grids[gen_below(g, 5)]);
    g->threads = gen_chance(g, 35);
    g->block[0] = 1 + gen_below(g, 5);
    g->block[1] = 1 + gen_below(g, 3);
    if (g->threads)
        gen_printf(g, "threads(%d, %d)", g->block[0], g->block[1]);
    else
        gen_printf(g, "warps(%d)", 1 << gen_below(g, 3));
    gen_put(g, gen_chance(g, 5) ? " cooperative\n{" : "\n{");
}

static void kernel(struct gen *g, int number)
{
    enum dtype types[3];
    bool writable[3] = {false, gen_chance(g, 20), true};
    for (int i = 0; i < 3; i++)
        types[i] = gen_some_type(g, gen_chance(g, 75) ? C_FLOAT : C_INT);
    gen_printf(g, "\nkernel k%d(i32 m, %si32 n, f32 z", number, gen_chance(g, 60) ? "static " : "");
    for (int i = 0; i < 3; i++)
        gen_printf(g, ", %s%s *%c", writable[i] ? "" : "const ", gen_type_name(types[i]), "abc"[i]);
    gen_put(g, ")");
    kernel_attributes(g);
    g->var_count = g->names = g->varying = g->loops = 0;
    g->pipelined = false;
    g->indent = 1;
    kernel_views(g, types, writable);
    statements(g, 3 + gen_below(g, 10));
    if (gen_chance(g, 15)) {
        line(g);
        static const char *const wanted[] = {
            "V2 == V0",
            "V2 == dot(V0, V1)",
            "V2 == V1 * 2 + 1",
            "for (i32 i < m) V2[i] == V0[i]",
            "V2 == exp(V0)",
            "V2 == trans(V1)",
            "V2 == sum(V0, axis = 1)",
            "V2 == where(V0 > 0, V0, 0)",
        };
        gen_printf(g, "ensures %s;", wanted[gen_below(g, 8)]);
    }
    gen_put(g, "\n}\n");
}

void generate_module(struct text *out, struct rng *r)
{
    struct gen g = {.r = r, .out = out, .slips = rng_chance(r, 20) ? 10 : 0};
    module_head(&g);
    int count = rng_chance(r, 80) ? 1 : 2;
    for (int i = 0; i < count; i++)
        kernel(&g, i);
}

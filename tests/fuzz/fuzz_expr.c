/* Random expressions of a class (integer, float, bool) and a shape, made of the program's
 * declared names. */
#include "fuzz_gen.h"

#include <string.h>

const struct shape scalar_shape = {0, {0}};

bool gen_chance(struct gen *g, int percent)
{
    return rng_chance(g->r, percent);
}

int gen_below(struct gen *g, int n)
{
    return rng_below(g->r, n);
}

bool gen_slip(struct gen *g)
{
    return gen_below(g, 1000) < g->slips;
}

void gen_put(struct gen *g, const char *s)
{
    text_add(g->out, s);
}

/* --- the available names --- */

enum value_class gen_class_of(enum dtype t)
{
    return t == DT_NONE || dtype_is_float(t) ? C_FLOAT : t == DT_BOOL ? C_BOOL : C_INT;
}

const char *gen_type_name(enum dtype t)
{
    return t == DT_NONE ? "T" : dtype_table[t].name;
}

enum dtype gen_some_type(struct gen *g, enum value_class c)
{
    static const enum dtype floats[] = {DT_F32, DT_F32, DT_F32, DT_F16, DT_BF16, DT_F64};
    static const enum dtype ints[] = {DT_I32, DT_I32, DT_I32, DT_I64, DT_I16,
                                      DT_I8,  DT_U32, DT_U64, DT_U16, DT_U8};
    if (c == C_BOOL)
        return DT_BOOL;
    if (c == C_INT)
        return ints[gen_below(g, 10)];
    return g->type_variable && gen_chance(g, 20) ? DT_NONE : floats[gen_below(g, 6)];
}

enum value_class gen_some_class(struct gen *g)
{
    int n = gen_below(g, 20);
    return n < 12 ? C_FLOAT : n < 19 ? C_INT : C_BOOL;
}

int gen_some_extent(struct gen *g)
{
    static const int extents[] = {1, 2, 3, 4, 4, 5, 8, 8, 16};
    if (g->const_count > 0 && gen_chance(g, 30))
        return g->consts[gen_below(g, g->const_count)].value;
    return extents[gen_below(g, 9)];
}

struct shape gen_some_shape(struct gen *g)
{
    struct shape s = {gen_chance(g, 70) ? 2 : gen_chance(g, 80) ? 1 : 3, {1, 1, 1}};
    for (int i = 0; i < s.rank; i++)
        s.extent[i] = gen_some_extent(g);
    return s;
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank &&
           memcmp(a->extent, b->extent, (size_t)a->rank * sizeof *a->extent) == 0;
}

/* Returns true if a can be broadcast to b. */
static bool broadcasts(const struct shape *a, const struct shape *b)
{
    if (a->rank > b->rank)
        return false;
    for (int i = 0; i < a->rank; i++) {
        int from = a->extent[a->rank - 1 - i], to = b->extent[b->rank - 1 - i];
        if (from != to && from != 1)
            return false;
    }
    return true;
}

void gen_put_extent(struct gen *g, int n)
{
    for (int i = 0; i < g->const_count; i++)
        if (g->consts[i].value == n && gen_chance(g, 60)) {
            gen_put(g, g->consts[i].name);
            return;
        }
    if (gen_below(g, 2000) == 0)
        gen_huge_int(g);
    else
        gen_printf(g, "%d", gen_slip(g) ? n + 1 : n);
}

void gen_put_extents(struct gen *g, const struct shape *s)
{
    for (int i = 0; i < s->rank; i++) {
        gen_put(g, "[");
        gen_put_extent(g, s->extent[i]);
        gen_put(g, "]");
    }
}

struct var *gen_add_var(struct gen *g, enum storage_kind storage, enum dtype t, struct shape s)
{
    static struct var none;
    struct var *v = g->var_count < MAX_VARS ? &g->vars[g->var_count++] : &none;
    static const char letters[] = "xrsVa";
    *v = (struct var){.storage = storage, .dtype = t, .shape = s, .writable = true, .live = true};
    v->name[0] = letters[storage];
    int n = g->names++;
    for (int i = 1, digits = n > 99 ? 3 : n > 9 ? 2 : 1; digits > 0; digits--, i++) {
        int power = digits == 3 ? 100 : digits == 2 ? 10 : 1;
        v->name[i] = (char)('0' + n / power % 10);
    }
    return v;
}

/* Returns a variable of that storage that `fits` (NULL: any), chosen evenly; NULL if there is
 * none. */
struct var *gen_pick(struct gen *g, enum storage_kind storage, const struct shape *fits, bool exact)
{
    struct var *chosen = NULL;
    int seen = 0;
    for (int i = 0; i < g->var_count; i++) {
        struct var *v = &g->vars[i];
        if (v->storage != storage || !v->live)
            continue;
        if (fits && !(exact ? same_shape(&v->shape, fits) : broadcasts(&v->shape, fits)))
            continue;
        if (gen_below(g, ++seen) == 0)
            chosen = v;
    }
    return chosen;
}

/* --- expressions --- */

static void literal(struct gen *g, enum value_class c)
{
    static const char *const ints[] = {"0", "1", "2", "3", "4", "7", "8", "-1", "0x1f", "100"};
    static const char *const floats[] = {"0.0", "1.0", "0.5",   "-2.5", "1e-3",
                                         "inf", "3",   "0.125", "-0.0"};
    if (c == C_BOOL)
        gen_put(g, gen_chance(g, 50) ? "true" : "false");
    else
        gen_put(g, c == C_INT ? ints[gen_below(g, 10)] : floats[gen_below(g, 9)]);
}

/* Writes the conversion from class `from` to class `to` around the text between open and close. */
static void open_class(struct gen *g, enum value_class from, enum value_class to)
{
    if (from == to)
        return;
    gen_put(g, to == C_INT ? "(i32) (" : to == C_FLOAT ? "(f32) (" : "((");
}

static void close_class(struct gen *g, enum value_class from, enum value_class to)
{
    if (from != to)
        gen_put(g, to == C_BOOL ? ") != 0)" : ")");
}

/* Writes a scalar integer that is usually small: for indices. */
/* Writes a number near an end of its range. */
void gen_huge_int(struct gen *g)
{
    static const char *const huge[] = {
        "9223372036854775807", "-9223372036854775807", "4611686018427387904", "1152921504606846976",
        "2147483647",          "-2147483648",          "4294967295",          "(1 << 30)"};
    gen_put(g, huge[gen_below(g, (int)(sizeof huge / sizeof *huge))]);
}

void gen_small_int(struct gen *g, int limit, int depth)
{
    struct var *v = gen_pick(g, V_SCALAR, NULL, false);
    if (limit > 0 && v && gen_class_of(v->dtype) == C_INT && gen_chance(g, 50)) {
        gen_printf(g, "%s %% %d", v->name, limit);
        return;
    }
    switch (gen_below(g, depth > 0 ? 5 : 3)) {
    case 0:
        if (gen_below(g, 100) == 0)
            gen_huge_int(g);
        else
            gen_printf(g, "%d", gen_below(g, limit > 0 ? limit : 8));
        break;
    case 1: gen_put(g, g->threads && gen_chance(g, 60) ? "thread.x" : "block.x"); break;
    case 2: gen_printf(g, "block.%c", "xy"[gen_below(g, 2)]); break;
    case 3:
        gen_put(g, "(");
        gen_small_int(g, limit, depth - 1);
        gen_printf(g, " + %d)", gen_below(g, 4));
        break;
    default: gen_small_int(g, limit, depth - 1); gen_printf(g, " * %d", 1 + gen_below(g, 4));
    }
}

void gen_put_indices(struct gen *g, const struct var *v, const struct shape *s)
{
    for (int i = 0; i < v->shape.rank; i++) {
        int axis = i - (v->shape.rank - s->rank);
        struct shape rows = {1, {axis >= 0 ? s->extent[axis] : 1, 1, 1}};
        struct var *gather = axis >= 0 && gen_chance(g, 8) ? gen_pick(g, V_REG, &rows, true) : NULL;
        gen_put(g, "[");
        if (axis < 0) {
            gen_printf(g, "%d", gen_below(g, 2)); /* element access is not guarded: stay inside */
        } else if (gather && gather->dtype == DT_I32) {
            gen_printf(g, "%s[:]", gather->name);
        } else {
            gen_small_int(g, 0, 1);
            gen_put(g, " +: ");
            gen_put_extent(g, s->extent[axis]);
            gen_put(g, gen_chance(g, 2) ? " inside" : "");
        }
        gen_put(g, "]");
    }
}

/* Writes a slice of a view that gives shape s: V[e +: n]…, leading axes by element. */
static bool view_slice(struct gen *g, enum value_class c, const struct shape *s, bool convert)
{
    for (int tries = 0; tries < 8; tries++) {
        struct var *v = gen_pick(g, V_VIEW, NULL, false);
        if (!v || v->shape.rank < s->rank || (!convert && gen_class_of(v->dtype) != c))
            continue;
        bool otherwise = gen_chance(g, 15) && s->rank > 0;
        open_class(g, gen_class_of(v->dtype), c);
        gen_put(g, otherwise ? "(" : "");
        gen_put(g, v->name);
        gen_put_indices(g, v, s);
        if (otherwise) {
            gen_put(g, " else ");
            literal(g, gen_class_of(v->dtype));
            gen_put(g, ")");
        }
        close_class(g, gen_class_of(v->dtype), c);
        return true;
    }
    return false;
}

static bool one_long_axis(const struct shape *s)
{
    int n = 0;
    for (int i = 0; i < s->rank; i++)
        n += s->extent[i] != 1;
    return n == 1;
}

/* Writes a part of a larger tile: t[k +: n]… with constant starts. */
static bool tile_part(struct gen *g, enum value_class c, const struct shape *s)
{
    struct var *v = gen_pick(g, gen_chance(g, 50) ? V_REG : V_SHARED, NULL, false);
    if (!v || v->shape.rank < s->rank || (v->storage == V_REG && v->shape.rank > s->rank))
        return false;
    int first = v->shape.rank - s->rank;
    for (int i = 0; i < s->rank; i++)
        if (v->shape.extent[first + i] < s->extent[i])
            return false;
    open_class(g, gen_class_of(v->dtype), c);
    gen_put(g, v->name);
    for (int i = 0; i < v->shape.rank; i++) {
        int room = v->shape.extent[i] - (i < first ? 1 : s->extent[i - first]);
        gen_printf(g, "[%d", gen_below(g, room + 1));
        if (i >= first)
            gen_printf(g, " +: %d", s->extent[i - first]);
        gen_put(g, "]");
    }
    close_class(g, gen_class_of(v->dtype), c);
    return true;
}

/* Writes a value of exactly shape s and class c, made of names. */
static void leaf(struct gen *g, enum value_class c, const struct shape *s)
{
    enum storage_kind kinds[] = {V_REG, V_REG, V_SHARED, V_ARRAY};
    enum storage_kind storage = s->rank == 0 ? V_SCALAR : kinds[gen_below(g, 4)];
    struct var *v = gen_pick(g, storage, s, true);
    if (v && gen_chance(g, 80) && !(storage == V_SHARED && g->threads)) {
        open_class(g, gen_class_of(v->dtype), c);
        gen_put(g, v->name);
        close_class(g, gen_class_of(v->dtype), c);
    } else if (!g->threads && gen_chance(g, 15) && tile_part(g, c, s)) {
        return;
    } else if (s->rank == 0) {
        if (c == C_INT && gen_chance(g, 50))
            gen_small_int(g, 8, 0);
        else
            literal(g, c);
    } else if (c == C_INT && one_long_axis(s) && gen_chance(g, 40)) {
        gen_put(g, "iota(");
        for (int i = 0; i < s->rank; i++) {
            gen_put(g, i > 0 ? ", " : "");
            gen_put_extent(g, s->extent[i]);
        }
        gen_put(g, ")");
    } else if (!(g->varying == 0 && view_slice(g, c, s, true))) {
        gen_put(g, "broadcast(");
        literal(g, c);
        for (int i = 0; i < s->rank; i++) {
            gen_put(g, ", ");
            gen_put_extent(g, s->extent[i]);
        }
        gen_put(g, ")");
    }
}

static void call(struct gen *g, const char *name, enum value_class c, const struct shape *s,
                 int count, int depth)
{
    gen_printf(g, "%s(", name);
    for (int i = 0; i < count; i++) {
        gen_put(g, i > 0 ? ", " : "");
        gen_expr(g, c, s, depth);
    }
    gen_put(g, ")");
}

/* Writes an op that moves elements: the shape of the operand follows from s. */
static void shape_op(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    struct shape from = *s;
    int last = s->rank - 1, which = gen_below(g, 4);
    if (which == 0 && s->rank >= 2) {
        from.extent[last] = s->extent[last - 1];
        from.extent[last - 1] = s->extent[last];
        call(g, "trans", c, &from, 1, depth);
    } else if (which == 1) {
        int n = 1;
        for (int i = 0; i < s->rank; i++)
            n *= s->extent[i];
        from = (struct shape){1, {n, 1, 1}};
        gen_put(g, "reshape(");
        gen_expr(g, c, &from, depth);
        for (int i = 0; i < s->rank; i++)
            gen_printf(g, ", %d", s->extent[i]);
        gen_put(g, ")");
    } else if (which == 2) {
        int axis = gen_below(g, s->rank), times = s->extent[axis] % 2 == 0 ? 2 : 1;
        from.extent[axis] /= times;
        gen_put(g, gen_chance(g, 50) ? "repeat(" : "repeat_interleave(");
        gen_expr(g, c, &from, depth);
        for (int i = 0; i < s->rank; i++)
            gen_printf(g, ", %d", i == axis ? times : 1);
        gen_put(g, ")");
    } else {
        int axis = gen_below(g, s->rank);
        static const char *const ops[] = {"add", "mul", "min", "max"};
        gen_printf(g, "scan(%s, ", ops[gen_below(g, 4)]);
        gen_expr(g, c, s, depth);
        gen_printf(g, ", axis = %d%s)", axis, gen_chance(g, 30) ? ", exclusive = true" : "");
    }
}

/* Writes a sum over an axis that is 1 in s, or over all. */
static void reduction(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    static const char *const names[] = {"sum", "max", "min", "argmax", "argmin"};
    struct shape from = *s;
    const int count = c == C_INT ? 5 : 3; /* rounding may change the place of a float's extreme */
    const char *name =
        c == C_BOOL ? (gen_chance(g, 50) ? "any" : "all") : names[gen_below(g, count)];
    if (s->rank == 0) {
        from = gen_some_shape(g);
        call(g, name, c, &from, 1, depth);
        return;
    }
    for (int axis = 0; axis < s->rank; axis++) {
        if (s->extent[axis] != 1)
            continue;
        from.extent[axis] = gen_some_extent(g);
        gen_printf(g, "%s(", name);
        gen_expr(g, c, &from, depth);
        gen_printf(g, ", axis = %d)", axis);
        return;
    }
    leaf(g, c, s);
}

static void dot(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    int k = gen_some_extent(g);
    struct shape a = {2, {s->extent[0], k, 1}}, b = {2, {k, s->extent[1], 1}};
    gen_put(g, "dot(");
    gen_expr(g, c, &a, depth);
    gen_put(g, ", ");
    gen_expr(g, c, &b, depth);
    gen_put(g, ")");
}

static void binary(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    static const char *const arith[] = {"+", "-", "*", "+", "*"};
    static const char *const bits[] = {"&", "|", "^"};
    static const char *const compare[] = {"<", ">", "<=", ">=", "==", "!="};
    struct shape other = s->rank > 0 && gen_chance(g, 30) ? scalar_shape : *s;
    bool swap = gen_chance(g, 50);
    enum value_class of =
        c == C_BOOL && gen_chance(g, 80) ? (gen_chance(g, 50) ? C_INT : C_FLOAT) : c;
    gen_put(g, "(");
    gen_expr(g, of, swap ? &other : s, depth);
    if (c == C_BOOL && of != C_BOOL)
        gen_printf(g, " %s ", compare[gen_below(g, 6)]);
    else if (c == C_BOOL)
        gen_put(g, gen_chance(g, 50) ? " && " : " || ");
    else
        gen_printf(g, " %s ",
                   c == C_INT && gen_chance(g, 20) ? bits[gen_below(g, 3)]
                                                   : arith[gen_below(g, 5)]);
    gen_expr(g, of, swap ? s : &other, depth);
    gen_put(g, ")");
}

/* Writes divisions and shifts, with right operands that are safe. */
static void divide(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    static const char *const ops[] = {"/", "%", "<<", ">>"};
    const char *op = c == C_INT ? ops[gen_below(g, 4)] : "/";
    gen_put(g, "(");
    gen_expr(g, c, s, depth);
    gen_printf(g, " %s %d)", op, 1 + gen_below(g, op[0] == '/' || op[0] == '%' ? 9 : 7));
}

static void function(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    static const char *const floats[] = {
        "exp", "exp2",   "sin",   "cos",   "tanh", "erf",  "sqrt",  "log",   "log2",   "rsqrt",
        "abs", "square", "round", "floor", "ceil", "erfc", "expm1", "log1p", "sigmoid"};
    static const char *const ints[] = {"abs", "square"};
    switch (gen_below(g, 5)) {
    case 0:
        call(g,
             gen_chance(g, 50)                   ? "min"
             : c == C_FLOAT && gen_chance(g, 20) ? "pow"
                                                 : "max",
             c, s, 2, depth);
        break;
    case 1: call(g, gen_chance(g, 50) ? "clip" : "fma", c, s, 3, depth); break;
    default:
        call(g,
             c == C_FLOAT ? floats[gen_below(g, sizeof floats / sizeof *floats)]
                          : ints[gen_below(g, 2)],
             c, s, 1, depth);
    }
}

static void prefix(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    gen_put(g, c == C_BOOL ? "!" : c == C_INT && gen_chance(g, 30) ? "~" : "-");
    gen_put(g, "(");
    gen_expr(g, c, s, depth);
    gen_put(g, ")");
}

static void choose(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    bool tile = s->rank > 0;
    gen_put(g, tile ? "where(" : "(");
    gen_expr(g, C_BOOL, s, depth);
    gen_put(g, tile ? ", " : " ? ");
    gen_expr(g, c, s, depth);
    gen_put(g, tile ? ", " : " : ");
    gen_expr(g, c, s, depth);
    gen_put(g, ")");
}

static void conversion(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    enum value_class from = gen_some_class(g);
    enum dtype t = gen_some_type(g, c);
    if (c == C_INT && gen_chance(g, 8)) {
        gen_put(g, "(i32) philox(7, ");
        gen_expr(g, C_INT, s, depth);
        gen_put(g, ")");
        return;
    }
    if (c == C_INT && gen_chance(g, 15)) {
        gen_put(g, "bits<i32>((f32) (");
        gen_expr(g, C_FLOAT, s, depth);
        gen_put(g, "))");
        return;
    }
    gen_printf(g, "(%s) (", gen_type_name(t));
    gen_expr(g, from, s, depth);
    gen_put(g, ")");
}

static void composite(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    bool uniform_tile = s->rank > 0 && g->varying == 0;
    switch (gen_below(g, 14)) {
    case 0: choose(g, c, s, depth); break;
    case 1: conversion(g, c, s, depth); break;
    case 2: prefix(g, c, s, depth); break;
    case 3:
    case 4:
        if (c != C_BOOL)
            function(g, c, s, depth);
        else
            binary(g, c, s, depth);
        break;
    case 5:
        if (c != C_BOOL)
            divide(g, c, s, depth);
        else
            prefix(g, c, s, depth);
        break;
    case 6:
        if (g->varying == 0 && (!g->threads || gen_chance(g, 20)))
            reduction(g, c, s, depth);
        else
            binary(g, c, s, depth);
        break;
    case 7:
        if (uniform_tile && c != C_BOOL)
            shape_op(g, c, s, depth);
        else
            leaf(g, c, s);
        break;
    case 8:
        if (uniform_tile && s->rank == 2 && c == C_FLOAT && !g->threads)
            dot(g, c, s, depth);
        else
            binary(g, c, s, depth);
        break;
    case 9:
        if (g->has_fn && c == C_FLOAT) {
            call(g,
                 s->rank == 2 && gen_chance(g, 50) ? "twice"
                 : s->rank == 0                    ? "half"
                                                   : "(f32) ",
                 c, s, 1, depth);
            break;
        }
        binary(g, c, s, depth);
        break;
    default: binary(g, c, s, depth);
    }
}

/* Writes a value of class c and shape s. Operands that accept a scalar in place of a tile (most
 * do) leave broadcasting to the language. */
void gen_expr(struct gen *g, enum value_class c, const struct shape *s, int depth)
{
    struct shape wrong = {2, {2, 7, 1}};
    if (gen_slip(g))
        s = &wrong;
    if (depth <= 0 || gen_chance(g, 25))
        leaf(g, c, s);
    else
        composite(g, c, s, depth - 1);
}

/* As above, cast to type t. */
void gen_value(struct gen *g, enum dtype t, const struct shape *s)
{
    bool cast = !gen_slip(g);
    if (cast)
        gen_printf(g, "(%s) (", gen_type_name(t));
    gen_expr(g, gen_chance(g, 90) ? gen_class_of(t) : gen_some_class(g), s, 1 + gen_below(g, 3));
    gen_put(g, cast ? ")" : "");
}

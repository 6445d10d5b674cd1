/* Names: scopes, symbols whose names no other symbol of the kernel has, and help for names that are
 * not known. */
#include "lang/check_internal.h"

#include <string.h>

/* --- the table --- */

static void add_name(struct checker *c, struct binding *b)
{
    struct names *names = &c->names;
    names->table.arena = c->arena;
    struct name_entry *entry = name_table_entry(&names->table, b->name, strlen(b->name));
    b->hidden = entry->object;
    entry->object = b;
    b->next = names->newest;
    names->newest = b;
    if (!names->oldest)
        names->oldest = b;
}

/* Behind all others. */
static void add_outermost(struct checker *c, struct binding *b)
{
    struct names *names = &c->names;
    struct binding *hiding = lookup_name(c, b->name);
    if (!hiding && !names->newest) {
        add_name(c, b);
        return;
    }
    while (hiding && hiding->hidden)
        hiding = hiding->hidden;
    if (hiding)
        hiding->hidden = b;
    else
        name_table_entry(&names->table, b->name, strlen(b->name))->object = b;
    names->oldest->next = b;
    names->oldest = b;
}

static void remove_newest(struct names *names)
{
    struct binding *b = names->newest;
    name_table_find(&names->table, b->name, strlen(b->name))->object = b->hidden;
    names->newest = b->next;
    if (!names->newest)
        names->oldest = NULL;
}

/* --- scopes --- */

int check_scope_open(struct checker *c)
{
    return c->level++;
}

void check_scope_close(struct checker *c, int outer)
{
    while (c->names.newest && c->names.newest->level > outer)
        remove_newest(&c->names);
    c->level = outer;
}

struct binding *lookup_name_of_kind(const struct checker *c, const char *name, enum bind_kind kind)
{
    const struct name_entry *entry = name_table_find(&c->names.table, name, strlen(name));
    struct binding *b = entry ? entry->object : NULL;
    while (b && kind != BIND_ANY && b->kind != kind)
        b = b->hidden;
    return b;
}

struct binding *lookup_name(const struct checker *c, const char *name)
{
    return lookup_name_of_kind(c, name, BIND_ANY);
}

struct binding *bind_name(struct checker *c, const char *name, struct loc loc, enum bind_kind kind)
{
    struct binding *old = lookup_name(c, name);
    if (old && old->level == c->level && old->kind != BIND_POISON) {
        diag_error(c->diag, loc, "`%s` is declared twice in one scope", name);
        diag_note(c->diag, old->loc, "the first declaration; give one of them another name");
        return NULL;
    }
    struct binding *b = arena_new(c->arena, struct binding);
    b->name = name;
    b->loc = loc;
    b->kind = kind;
    b->level = c->level;
    b->dtype = DT_NONE;
    add_name(c, b);
    return b;
}

void poison_name(struct checker *c, const char *name, struct loc loc)
{
    struct binding *old = lookup_name(c, name);
    if (!old || old->level != c->level)
        bind_name(c, name, loc, BIND_POISON);
}

/* --- names in the kernel --- */

static bool has_name(const struct name_table *names, const char *name)
{
    return name_table_find(names, name, strlen(name)) != NULL;
}

/* What inlining declares leaves the names that the kernel itself declares, further down too, to the
 * kernel. */
static bool name_taken(const struct checker *c, const char *name)
{
    return has_name(&c->unique, name) || (c->frames && has_name(&c->own, name));
}

/* The name itself, or the first of name_1, name_2, … that is free. Each name keeps the last number
 * that was tried, so a name that is used often takes few tries. */
static const char *unique_name(struct checker *c, const char *name)
{
    const char *chosen = name;
    if (name_taken(c, name)) {
        struct name_entry *base = name_table_entry(&c->numbered, name, strlen(name));
        do
            chosen = arena_printf(c->arena, "%s_%u", name, (unsigned)++base->number);
        while (name_taken(c, chosen));
    }
    name_table_add(&c->unique, chosen, strlen(chosen));
    return chosen;
}

struct sym *declare_hidden(struct checker *c, const char *name, enum storage storage,
                           struct type type, struct loc loc)
{
    struct sym *s = sym_new(c->kernel, unique_name(c, name), storage, type, loc);
    struct sym_info info = {.loop_depth = c->loop_depth};
    if (storage != ST_PARAM) {
        while (c->infos.count <= (size_t)s->index)
            vec_push(c->arena, &c->infos, info);
        c->infos.data[s->index] = info;
    }
    return s;
}

struct sym *declare_sym(struct checker *c, const char *name, enum storage storage, struct type type,
                        struct loc loc)
{
    struct binding *b = bind_name(c, name, loc, BIND_SYM);
    if (!b)
        return NULL;
    b->sym = declare_hidden(c, name, storage, type, loc);
    return b->sym;
}

struct sym_info *sym_info(struct checker *c, const struct sym *s)
{
    static const struct sym_info none;
    if (s->storage == ST_PARAM || (size_t)s->index >= c->infos.count) {
        struct sym_info *info = arena_new(c->arena, struct sym_info);
        *info = none;
        return info;
    }
    return &c->infos.data[s->index];
}

/* --- where an expression is seen --- */

void place_expr(struct checker *c, const struct expr *e, struct loc at)
{
    struct placed *p = arena_new(c->arena, struct placed);
    *p = (struct placed){.value = e, .at = at, .before = c->placed};
    c->placed = p;
}

struct loc expr_place(const struct checker *c, const struct expr *e)
{
    for (const struct placed *p = c->placed; p; p = p->before)
        if (p->value == e)
            return p->at;
    return e->loc;
}

const char *expr_snippet(struct checker *c, const struct expr *e)
{
    return source_snippet(c, expr_place(c, e));
}

const char *storage_text(const struct sym *s)
{
    switch (s->storage) {
    case ST_PARAM: return s->is_pointer ? "a pointer" : "a scalar parameter";
    case ST_CONST: return "a constant";
    case ST_SCALAR: return "a scalar";
    case ST_ARRAY: return "an array";
    case ST_REG: return "a register tile";
    case ST_SHARED: return "a shared tile";
    case ST_VIEW: return "a view of global memory";
    }
    return "a name";
}

/* --- names that are not known --- */

struct help {
    const char *name, *way_out;
};

static const struct help value_help[] = {
    {"thread", "a thread's numbers are `thread.x`, `thread.y`, `thread.z`"},
    {"block", "a block's numbers are `block.x`, `block.y`, `block.z`"},
    {"grid", "the extents of the grid are `grid.x`, `grid.y`, `grid.z`"},
    {"threadIdx", "the thread of a block is `thread.x`, `thread.y`, `thread.z`"},
    {"blockIdx", "the block of a grid is `block.x`, `block.y`, `block.z`"},
    {"blockDim", "the extents of a block are the numbers in `threads(…)`: name them with `const`"},
    {"gridDim", "the extents of the grid are `grid.x`, `grid.y`, `grid.z`"},
    {"warpSize", "a warp has 32 threads: `const i32 WARP = 32;`"},
    {"INFINITY", "infinity is `inf`"},
    {"NAN", "not-a-number is `nan`"},
    {"nullptr", "there are no pointers in expressions; views are declared with `global`"},
    {"NULL", "there are no pointers in expressions; views are declared with `global`"},
    {"True", "truth values are `true` and `false`"},
    {"False", "truth values are `true` and `false`"},
    {NULL, NULL},
};

static const struct help call_help[] = {
    {"__syncwarp", "the barrier of a block is `sync()`"},
    {"atomicAdd", "write `atomic_add(x[i], v)`"},
    {"atomicSub", "write `atomic_add(x[i], -v)`"},
    {"atomicMin", "write `atomic_min(x[i], v)`"},
    {"atomicMax", "write `atomic_max(x[i], v)`"},
    {"atomicAnd", "write `atomic_and(x[i], v)`"},
    {"atomicOr", "write `atomic_or(x[i], v)`"},
    {"atomicXor", "write `atomic_xor(x[i], v)`"},
    {"atomicExch", "write `atomic_exchange(x[i], v)`"},
    {"atomicCAS", "write `atomic_cas(x[i], expected, desired)`"},
    {"expf", "functions serve every float type: `exp(x)`"},
    {"__expf", "functions serve every float type: `exp(x)`"},
    {"exp2f", "functions serve every float type: `exp2(x)`"},
    {"logf", "functions serve every float type: `log(x)`"},
    {"__logf", "functions serve every float type: `log(x)`"},
    {"log2f", "functions serve every float type: `log2(x)`"},
    {"sqrtf", "functions serve every float type: `sqrt(x)`"},
    {"rsqrtf", "functions serve every float type: `rsqrt(x)`"},
    {"tanhf", "functions serve every float type: `tanh(x)`"},
    {"erff", "functions serve every float type: `erf(x)`"},
    {"sinf", "functions serve every float type: `sin(x)`"},
    {"cosf", "functions serve every float type: `cos(x)`"},
    {"floorf", "functions serve every float type: `floor(x)`"},
    {"ceilf", "functions serve every float type: `ceil(x)`"},
    {"roundf", "functions serve every float type: `round(x)`"},
    {"rint", "to the nearest integer, ties to even, is `round(x)`"},
    {"fabs", "the absolute value is `abs(x)`"},
    {"fabsf", "the absolute value is `abs(x)`"},
    {"fmax", "write `max(a, b)`"},
    {"fmaxf", "write `max(a, b)`"},
    {"fmin", "write `min(a, b)`"},
    {"fminf", "write `min(a, b)`"},
    {"maximum", "write `max(a, b)`"},
    {"minimum", "write `min(a, b)`"},
    {"fmaf", "write `fma(a, b, c)`"},
    {"pow", "write `exp2(y * log2(x))`, or `square(x)`"},
    {"powf", "write `exp2(y * log2(x))`, or `square(x)`"},
    {"sqr", "write `square(x)`"},
    {"log1p", "write `log(1 + x)`"},
    {"expm1", "write `exp(x) - 1`"},
    {"relu", "write `max(x, 0)`"},
    {"sigmoid", "write `1 / (1 + exp(-x))`"},
    {"softmax", "write `exp(x - max(x)) / sum(exp(x - max(x)))`; of rows with `axis = 1` in each"},
    {"gelu", "write `0.5 * x * (1 + erf(0.70710678 * x))`"},
    {"silu", "write `x / (1 + exp(-x))`"},
    {"fmod", "write `x % y`"},
    {"clamp", "write `clip(x, low, high)`"},
    {"argmax", "the first place of the greatest: `min(where(x == max(x), iota(n), n))`"},
    {"argmin", "the first place of the least: `min(where(x == min(x), iota(n), n))`"},
    {"__ldg", "read the view: whether a load may be cached is decided by `const`"},
    {"__half2float", "write the cast `(f32) x`"},
    {"__float2half", "write the cast `(f16) x`"},
    {"cast", "a cast has its type in parentheses: `(f16) x`"},
    {"transpose", "write `trans(x)`"},
    {"matmul", "write `dot(a, b)`"},
    {"mma", "write `dot(a, b, c)`"},
    {"select", "write `where(condition, a, b)`"},
    {"arange", "write `iota(n)`"},
    {"zeros", "declare it: `reg f32 x[M][N] = 0;`"},
    {"full", "declare it: `reg f32 x[M][N] = value;`"},
    {"cumsum", "write `scan(add, x, axis = 0)`"},
    {"cumprod", "write `scan(mul, x, axis = 0)`"},
    {"var", "with `m = sum(x) / n` it is `sum(square(x - m)) / n`"},
    {"std", "with `m = sum(x) / n` it is `sqrt(sum(square(x - m)) / n)`"},
    {"norm", "write `sqrt(sum(square(x)))`"},
    {"prod", "there are `sum`, `max` and `min`; `scan(mul, x, axis = 0)` has the products so far"},
    {"logsumexp", "with `m = max(x)` it is `m + log(sum(exp(x - m)))`"},
    {"log_softmax", "with `m = max(x)` it is `x - m - log(sum(exp(x - m)))`"},
    {"concat", "declare the whole tile and assign its parts: `x[0 +: 32] = a;`"},
    {"concatenate", "declare the whole tile and assign its parts: `x[0 +: 32] = a;`"},
    {"not", "write `!x`"},
    {"mean", "write `sum(x) / n`, and of each row `sum(x, axis = 1) / n`"},
    {"squeeze", "write `reshape(x, …)`"},
    {"unsqueeze", "write `reshape(x, …)`"},
    {"ceil_div", "write `cdiv(a, b)`"},
    {"div_up", "write `cdiv(a, b)`"},
    {"assert", "write `static_assert(…)` for constants, `assume(…)` for what holds at run time"},
    {"__shfl_sync", "lanes do not exchange values by hand: use a reduction or a scan of a tile"},
    {"__shfl_down_sync", "lanes do not exchange values by hand: use `sum(x)`, `max(x)` of a tile"},
    {"__shfl_xor_sync", "lanes do not exchange values by hand: use `sum(x)`, `max(x)` of a tile"},
    {NULL, NULL},
};

static const char *find_help(const struct help *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table->way_out;
    return NULL;
}

typedef VEC(const char *) name_list;

/* Bindings in sight and entries of the module of the kinds in `mask`. */
static void known_names(struct checker *c, name_list *out, bool bindings, unsigned mask)
{
    if (bindings)
        for (const struct binding *b = c->names.newest; b; b = b->next)
            if (b->kind != BIND_POISON)
                vec_push(c->arena, out, b->name);
    for (int i = 0; i < c->module->known_count; i++)
        if (mask >> c->module->entries[i].kind & 1)
            vec_push(c->arena, out, c->module->entries[i].name);
}

/* A name that nobody knows is reported once in a function. */
static void poison_outermost(struct checker *c, const char *name, struct loc loc)
{
    struct binding *b = arena_new(c->arena, struct binding);
    *b = (struct binding){.name = name, .loc = loc, .kind = BIND_POISON, .level = -1};
    add_outermost(c, b);
}

static bool all_capitals(const char *name)
{
    for (const char *s = name; *s; s++)
        if (*s >= 'a' && *s <= 'z')
            return false;
    return name[0] && name[1];
}

void unknown_name(struct checker *c, const char *name, struct loc loc)
{
    const struct entry *e = module_entry(c->module, name);
    const char *help = find_help(value_help, name);
    if (e && e->kind == ENTRY_FN) {
        diag_error(c->diag, loc, "`%s` is a fn, not a value", name);
        diag_note(c->diag, loc, "call it: `%s(…)`", name);
    } else if (e || dtype_by_name(name, strlen(name)) != DT_NONE) {
        diag_error(c->diag, loc, "`%s` is %s, not a value", name,
                   e && e->kind == ENTRY_KERNEL ? "a kernel" : "a type");
    } else {
        name_list names = {0};
        known_names(c, &names, true, 1u << ENTRY_CONST | 1u << ENTRY_TUNE);
        const char *near = help ? NULL : nearest_name(name, names.data, names.count);
        diag_error(c->diag, loc, "`%s` is not declared", name);
        if (help)
            diag_note(c->diag, loc, "%s", help);
        else if (near)
            diag_note(c->diag, loc, "did you mean `%s`?", near);
        else if (all_capitals(name))
            diag_note(c->diag, loc,
                      "declare it ahead of the kernel: `const i32 %s = …;` or `tune %s = {…};`",
                      name, name);
    }
    poison_outermost(c, name, loc);
}

void unknown_base(struct checker *c, const char *name, const char *part, struct loc loc)
{
    static const char *const bases[] = {"block", "grid", "thread"};
    const char *help = find_help(value_help, name);
    const char *near = help ? NULL : nearest_name(name, bases, sizeof bases / sizeof bases[0]);
    diag_error(c->diag, loc, "`%s` has no parts", name);
    if (help)
        diag_note(c->diag, loc, "%s", help);
    else if (near)
        diag_note(c->diag, loc, "did you mean `%s`?", near);
    else if (strcmp(part, "T") == 0)
        diag_note(c->diag, loc, "transposed it is `trans(%s)`", name);
    else
        diag_note(c->diag, loc, "what has x, y and z are `block`, `grid` and `thread`");
}

/* T(x) and T x[4] of a type variable that is not declared begin as calls and types do. */
static void note_near_or_type(struct checker *c, const char *name, const name_list *names,
                              struct loc loc)
{
    const char *near = nearest_name(name, names->data, names->count);
    if (near)
        diag_note(c->diag, loc, "did you mean `%s`?", near);
    else if (name[0] >= 'A' && name[0] <= 'Z')
        diag_note(c->diag, loc,
                  "a choice of element types is declared ahead: `type %s = {f16, f32};`", name);
}

/* Of a name that is known, but as no function: reports it. */
static bool is_other_than_function(struct checker *c, const char *name, struct loc loc)
{
    const struct entry *e = module_entry(c->module, name);
    if (e && e->kind == ENTRY_KERNEL) {
        diag_error(c->diag, loc, "`%s` is a kernel: it is launched, not called", name);
        return true;
    }
    const struct binding *b = lookup_name(c, name);
    if (!b || !b->sym || b->sym->is_pointer || b->sym->type.rank == 0)
        return false;
    diag_error(c->diag, loc, "`%s` is no function: it has elements", name);
    diag_note(c->diag, loc, "indices stand in brackets: `%s[%s]`", name,
              b->sym->type.rank > 1 ? "i][j" : "i");
    return true;
}

/* mean(v) of a tile that has a name: what fits its axes. NULL: not that. */
static const char *help_with_mean(struct checker *c, const struct node *n)
{
    const struct node *x = strcmp(n->text, "mean") == 0 ? call_argument(n, 0) : NULL;
    const struct binding *b = x && x->kind == N_NAME ? lookup_name(c, x->text) : NULL;
    int rank = b && b->sym ? b->sym->type.rank : 0;
    if (rank == 0)
        return NULL;
    return rank == 1 ? arena_printf(c->arena, "write `sum(%s) / n`", x->text)
                     : arena_printf(c->arena, "write `sum(%s, axis = %d) / n`", x->text, rank - 1);
}

void unknown_call(struct checker *c, const struct node *n)
{
    const char *name = n->text, *help = help_with_mean(c, n);
    struct loc loc = n->loc;
    if (is_other_than_function(c, name, loc))
        return;
    if (!help)
        help = find_help(call_help, name);
    diag_error(c->diag, loc, "there is no function `%s`", name);
    if (help) {
        diag_note(c->diag, loc, "%s", help);
        return;
    }
    name_list names = {0};
    known_names(c, &names, false, 1u << ENTRY_FN);
    for (int op = 0; op < OP_COUNT; op++)
        if (op_table[op].form == FORM_CALL)
            vec_push(c->arena, &names, op_table[op].text);
    vec_push(c->arena, &names, "bytes");
    vec_push(c->arena, &names, "while"); /* `whlie (…);` reads as a call */
    vec_push(c->arena, &names, "return");
    note_near_or_type(c, name, &names, loc);
}

void unknown_type(struct checker *c, const char *name, struct loc loc)
{
    static const char of_c[][2][9] = {
        {"float", "f32"}, {"double", "f64"}, {"int", "i32"}, {"unsigned", "u32"}};
    diag_error(c->diag, loc, "there is no type `%s`", name);
    name_list names = {0};
    known_names(c, &names, false, 1u << ENTRY_TYPE);
    for (int t = 0; t < DT_COUNT; t++)
        vec_push(c->arena, &names, dtype_table[t].name);
    for (size_t i = 0; i < sizeof of_c / sizeof *of_c; i++) {
        const char *word = of_c[i][0];
        if (!nearest_name(name, &word, 1) || nearest_name(name, names.data, names.count))
            continue;
        diag_note(c->diag, loc, "did you mean `%s`?", of_c[i][1]);
        return;
    }
    note_near_or_type(c, name, &names, loc);
}

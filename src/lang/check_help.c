/* Help for names that are not known: what other languages call by them, and the nearest known name. */
#include "lang/check_internal.h"

#include "base/text.h"

#include <string.h>

/* `insert` takes the place of the name, or, where it is no name, of the call, whose arguments are x
 * and y in it. NULL: it takes more than that. */
struct help {
    const char *name, *way_out, *insert;
};

static const struct help value_help[] = {
    {"thread", "a thread's numbers are `thread.x`, `thread.y`, `thread.z`", NULL},
    {"block", "a block's numbers are `block.x`, `block.y`, `block.z`", NULL},
    {"grid", "the extents of the grid are `grid.x`, `grid.y`, `grid.z`", NULL},
    {"threadIdx", "the thread of a block is `thread.x`, `thread.y`, `thread.z`", "thread"},
    {"blockIdx", "the block of a grid is `block.x`, `block.y`, `block.z`", "block"},
    {"blockDim", "the extents of a block are the numbers in `threads(…)`: name them with `const`",
     NULL},
    {"gridDim", "the extents of the grid are `grid.x`, `grid.y`, `grid.z`", "grid"},
    {"warpSize", "a warp has 32 threads: `const i32 WARP = 32;`", "32"},
    {"INFINITY", "infinity is `inf`", "inf"},
    {"NAN", "not-a-number is `nan`", "nan"},
    {"nullptr", "there are no pointers in expressions; views are declared with `global`", NULL},
    {"NULL", "there are no pointers in expressions; views are declared with `global`", NULL},
    {"True", "truth values are `true` and `false`", "true"},
    {"False", "truth values are `true` and `false`", "false"},
    {NULL, NULL, NULL},
};

static const struct help call_help[] = {
    {"__syncwarp", "the barrier of a block is `sync()`", "sync"},
    {"atomicAdd", "write `atomic_add(x[i], v)`", "atomic_add"},
    {"atomicSub", "write `atomic_add(x[i], -v)`", "atomic_add(x, -y)"},
    {"atomicMin", "write `atomic_min(x[i], v)`", "atomic_min"},
    {"atomicMax", "write `atomic_max(x[i], v)`", "atomic_max"},
    {"atomicAnd", "write `atomic_and(x[i], v)`", "atomic_and"},
    {"atomicOr", "write `atomic_or(x[i], v)`", "atomic_or"},
    {"atomicXor", "write `atomic_xor(x[i], v)`", "atomic_xor"},
    {"atomicExch", "write `atomic_exchange(x[i], v)`", "atomic_exchange"},
    {"atomicCAS", "write `atomic_cas(x[i], expected, desired)`", "atomic_cas"},
    {"expf", "functions serve every float type: `exp(x)`", "exp"},
    {"__expf", "functions serve every float type: `exp(x)`", "exp"},
    {"exp2f", "functions serve every float type: `exp2(x)`", "exp2"},
    {"logf", "functions serve every float type: `log(x)`", "log"},
    {"__logf", "functions serve every float type: `log(x)`", "log"},
    {"log2f", "functions serve every float type: `log2(x)`", "log2"},
    {"sqrtf", "functions serve every float type: `sqrt(x)`", "sqrt"},
    {"rsqrtf", "functions serve every float type: `rsqrt(x)`", "rsqrt"},
    {"tanhf", "functions serve every float type: `tanh(x)`", "tanh"},
    {"erff", "functions serve every float type: `erf(x)`", "erf"},
    {"sinf", "functions serve every float type: `sin(x)`", "sin"},
    {"cosf", "functions serve every float type: `cos(x)`", "cos"},
    {"floorf", "functions serve every float type: `floor(x)`", "floor"},
    {"ceilf", "functions serve every float type: `ceil(x)`", "ceil"},
    {"roundf", "functions serve every float type: `round(x)`", "round"},
    {"rint", "to the nearest integer, ties to even, is `round(x)`", "round"},
    {"fabs", "the absolute value is `abs(x)`", "abs"},
    {"fabsf", "the absolute value is `abs(x)`", "abs"},
    {"fmax", "write `max(a, b)`", "max"},
    {"fmaxf", "write `max(a, b)`", "max"},
    {"fmin", "write `min(a, b)`", "min"},
    {"fminf", "write `min(a, b)`", "min"},
    {"maximum", "write `max(a, b)`", "max"},
    {"minimum", "write `min(a, b)`", "min"},
    {"fmaf", "write `fma(a, b, c)`", "fma"},
    {"pow", "write `exp2(y * log2(x))`, or `square(x)`", "exp2(y * log2(x))"},
    {"powf", "write `exp2(y * log2(x))`, or `square(x)`", "exp2(y * log2(x))"},
    {"sqr", "write `square(x)`", "square"},
    {"log1p", "write `log(1 + x)`", "log(1 + x)"},
    {"expm1", "write `exp(x) - 1`", "exp(x) - 1"},
    {"relu", "write `max(x, 0)`", "max(x, 0)"},
    {"sigmoid", "write `1 / (1 + exp(-x))`", "1 / (1 + exp(-x))"},
    {"softmax", "write `exp(x - max(x)) / sum(exp(x - max(x)))`; of rows with `axis = 1` in each",
     "exp(x - max(x)) / sum(exp(x - max(x)))"},
    {"gelu", "write `0.5 * x * (1 + erf(0.70710678 * x))`", "0.5 * x * (1 + erf(0.70710678 * x))"},
    {"silu", "write `x / (1 + exp(-x))`", "x / (1 + exp(-x))"},
    {"fmod", "write `x % y`", "x % y"},
    {"clamp", "write `clip(x, low, high)`", "clip"},
    {"argmax", "the first place of the greatest: `min(where(x == max(x), iota(n), n))`", NULL},
    {"argmin", "the first place of the least: `min(where(x == min(x), iota(n), n))`", NULL},
    {"__ldg", "read the view: whether a load may be cached is decided by `const`", NULL},
    {"__half2float", "write the cast `(f32) x`", "(f32) x"},
    {"__float2half", "write the cast `(f16) x`", "(f16) x"},
    {"cast", "a cast has its type in parentheses: `(f16) x`", NULL},
    {"transpose", "write `trans(x)`", "trans"},
    {"matmul", "write `dot(a, b)`", "dot"},
    {"mma", "write `dot(a, b, c)`", "dot"},
    {"select", "write `where(condition, a, b)`", "where"},
    {"arange", "write `iota(n)`", "iota"},
    {"zeros", "declare it: `reg f32 x[M][N] = 0;`", NULL},
    {"full", "declare it: `reg f32 x[M][N] = value;`", NULL},
    {"cumsum", "write `scan(add, x, axis = 0)`", "scan(add, x, axis = 0)"},
    {"cumprod", "write `scan(mul, x, axis = 0)`", "scan(mul, x, axis = 0)"},
    {"var", "with `m = sum(x) / n` it is `sum(square(x - m)) / n`", NULL},
    {"std", "with `m = sum(x) / n` it is `sqrt(sum(square(x - m)) / n)`", NULL},
    {"norm", "write `sqrt(sum(square(x)))`", "sqrt(sum(square(x)))"},
    {"prod", "there are `sum`, `max` and `min`; `scan(mul, x, axis = 0)` has the products so far",
     NULL},
    {"logsumexp", "with `m = max(x)` it is `m + log(sum(exp(x - m)))`", NULL},
    {"log_softmax", "with `m = max(x)` it is `x - m - log(sum(exp(x - m)))`", NULL},
    {"concat", "declare the whole tile and assign its parts: `x[0 +: 32] = a;`", NULL},
    {"concatenate", "declare the whole tile and assign its parts: `x[0 +: 32] = a;`", NULL},
    {"not", "write `!x`", "!x"},
    {"mean", "write `sum(x) / n`, and of each row `sum(x, axis = 1) / n`", NULL},
    {"squeeze", "write `reshape(x, …)`", NULL},
    {"unsqueeze", "write `reshape(x, …)`", NULL},
    {"ceil_div", "write `cdiv(a, b)`", "cdiv"},
    {"div_up", "write `cdiv(a, b)`", "cdiv"},
    {"assert", "write `static_assert(…)` for constants, `assume(…)` for what holds at run time",
     NULL},
    {"__shfl_sync", "lanes do not exchange values by hand: use a reduction or a scan of a tile",
     NULL},
    {"__shfl_down_sync", "lanes do not exchange values by hand: use `sum(x)`, `max(x)` of a tile",
     NULL},
    {"__shfl_xor_sync", "lanes do not exchange values by hand: use `sum(x)`, `max(x)` of a tile",
     NULL},
    {NULL, NULL, NULL},
};

static const struct help *find_help(const struct help *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* The place of a name at the start of another. */
static struct loc name_at(struct loc loc, const char *name)
{
    loc.length = (uint32_t)strlen(name);
    return loc;
}

static bool is_word_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '_';
}

static bool is_word(const char *text)
{
    for (; *text; text++)
        if (*text == ' ' || *text == '(' || *text == '!')
            return false;
    return true;
}

static void add_loc(struct text *out, struct loc at, bool brackets)
{
    text_printf(out, brackets ? "(%.*s)" : "%.*s", (int)at.length, at.source->text + at.offset);
}

static bool is_simple(const struct node *n)
{
    return n->kind == N_NAME || n->kind == N_INT || n->kind == N_FLOAT || n->kind == N_CALL ||
           n->kind == N_ACCESS || n->kind == N_MEMBER;
}

/* The call as a template has it, between parentheses where the template is no call itself. */
static void fix_call(struct checker *c, const struct node *call, const char *template)
{
    const struct node *args[2] = {call->list, call->list ? call->list->next : NULL};
    bool alone = *template != '(' && *template != '!';
    struct text out;
    text_init(&out, c->arena);
    int used = 0, depth = 0;
    for (const char *t = template; *t; t++) {
        depth += (*t == '(') - (*t == ')');
        alone = alone && (depth > 0 || *t != ' ');
    }
    text_add(&out, alone ? "" : "(");
    for (const char *t = template; *t; t++) {
        bool inside = (t > template && is_word_char(t[-1])) || is_word_char(t[1]);
        int arg = inside ? -1 : *t - 'x';
        if (arg != 0 && arg != 1) {
            text_add_char(&out, *t);
            continue;
        }
        if (!args[arg] || args[arg]->kind == N_NAMED)
            return;
        add_loc(&out, args[arg]->loc, !is_simple(args[arg]));
        used |= 1 << arg;
    }
    text_add(&out, alone ? "" : ")");
    if (call_argument_count(call) == (used == 3 ? 2 : 1))
        diag_fix(c->diag, call->loc, "%s", out.data);
}

/* Says the way out; `call`: of a call, else NULL. */
static void say_help(struct checker *c, const struct help *help, const struct node *call,
                     struct loc loc)
{
    diag_code(c->diag, CODE_FOREIGN);
    diag_note(c->diag, loc, "%s", help->way_out);
    if (help->insert && is_word(help->insert))
        diag_fix(c->diag, name_at(loc, help->name), "%s", help->insert);
    else if (help->insert && call)
        fix_call(c, call, help->insert);
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
    const struct help *help = find_help(value_help, name);
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
        diag_code(c->diag, CODE_NAME);
        if (help)
            say_help(c, help, NULL, loc);
        else if (near)
            diag_near(c->diag, name_at(loc, name), near);
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
    const struct help *help = find_help(value_help, name);
    const char *near = help ? NULL : nearest_name(name, bases, sizeof bases / sizeof bases[0]);
    diag_error(c->diag, loc, "`%s` has no parts", name);
    diag_code(c->diag, CODE_NAME);
    if (help)
        say_help(c, help, NULL, loc);
    else if (near)
        diag_near(c->diag, name_at(loc, name), near);
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
        diag_near(c->diag, name_at(loc, name), near);
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
    const char *name = n->text, *mean = help_with_mean(c, n);
    struct loc loc = n->loc;
    if (is_other_than_function(c, name, loc))
        return;
    const struct help *help = find_help(call_help, name);
    diag_error(c->diag, loc, "there is no function `%s`", name);
    diag_code(c->diag, CODE_NAME);
    if (mean)
        diag_note(c->diag, loc, "%s", mean);
    else if (help)
        say_help(c, help, n, loc);
    if (mean || help)
        return;
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
    diag_code(c->diag, CODE_NAME);
    name_list names = {0};
    known_names(c, &names, false, 1u << ENTRY_TYPE);
    for (int t = 0; t < DT_COUNT; t++)
        vec_push(c->arena, &names, dtype_table[t].name);
    for (size_t i = 0; i < sizeof of_c / sizeof *of_c; i++) {
        const char *word = of_c[i][0];
        if (!nearest_name(name, &word, 1) || nearest_name(name, names.data, names.count))
            continue;
        diag_near(c->diag, name_at(loc, name), of_c[i][1]);
        return;
    }
    note_near_or_type(c, name, &names, loc);
}

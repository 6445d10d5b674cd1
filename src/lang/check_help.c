/* Help for unknown names: the counterparts of names from other languages, and the nearest known
 * name. */
#include "lang/check_internal.h"
#include "lang/parse_internal.h"

#include "base/text.h"

#include <string.h>

/* A row of a table: three texts, each ended by 0. They are the name, the way out, and the text
 * that replaces it. The text replaces the name; if it is not itself a name, it replaces the
 * call, whose arguments are x and y in it. If the change takes more than that, the text is "". A
 * way out of "" means "write `INSERT`". An empty name ends a table. Each table is one text
 * because a shared library would have to relocate pointers. */
struct help {
    const char *name, *way_out, *insert;
};

/* clang-format off */
static const char value_help[] =
    "thread\0" "a thread's numbers are `thread.x`, `thread.y`, `thread.z`\0" "\0"
    "block\0" "a block's numbers are `block.x`, `block.y`, `block.z`\0" "\0"
    "grid\0" "the extents of the grid are `grid.x`, `grid.y`, `grid.z`\0" "\0"
    "threadIdx\0" "the thread of a block is `thread.x`, `thread.y`, `thread.z`\0" "thread\0"
    "blockIdx\0" "the block of a grid is `block.x`, `block.y`, `block.z`\0" "block\0"
    "blockDim\0" "the extents of a block are the numbers in `threads(…)`: name them with `const`\0" "\0"
    "gridDim\0" "the extents of the grid are `grid.x`, `grid.y`, `grid.z`\0" "grid\0"
    "warpSize\0" "a warp has 32 threads: `const i32 WARP = 32;`\0" "32\0"
    "INFINITY\0" "infinity is `inf`\0" "inf\0"
    "FLT_MAX\0" "a maximum starts from `-inf`, a minimum from `inf`\0" "inf\0"
    "DBL_MAX\0" "a maximum starts from `-inf`, a minimum from `inf`\0" "inf\0"
    "HUGE_VALF\0" "infinity is `inf`\0" "inf\0"
    "CUDART_INF_F\0" "infinity is `inf`\0" "inf\0"
    "CUDART_NAN_F\0" "not-a-number is `nan`\0" "nan\0"
    "FLT_EPSILON\0" "write `0x1p-23`\0" "0x1p-23\0"
    "FLT_MIN\0" "the least positive f32 is 0x1p-126; a maximum starts from `-inf`\0" "\0"
    "INT_MAX\0" "write `2147483647`\0" "2147483647\0"
    "INT_MIN\0" "write `-2147483648`\0" "(-2147483648)\0"
    "UINT_MAX\0" "write `4294967295`\0" "4294967295\0"
    "M_PI\0" "write `3.14159265358979`\0" "3.14159265358979\0"
    "laneId\0" "a thread's number in its warp is `thread.x % 32`\0" "\0"
    "lane_id\0" "a thread's number in its warp is `thread.x % 32`\0" "\0"
    "NAN\0" "not-a-number is `nan`\0" "nan\0"
    "nullptr\0" "there are no pointers in expressions; views are declared with `global`\0" "\0"
    "NULL\0" "there are no pointers in expressions; views are declared with `global`\0" "\0"
    "True\0" "truth values are `true` and `false`\0" "true\0"
    "False\0" "truth values are `true` and `false`\0" "false\0";

static const char call_help[] =
    "__syncwarp\0" "the barrier of a block is `sync()`\0" "sync\0"
    "atomicAdd\0" "write `atomic_add(x[i], v)`\0" "atomic_add\0"
    "atomicSub\0" "write `atomic_add(x[i], -v)`\0" "atomic_add(x, -y)\0"
    "atomicInc\0" "to count blocks write `arrive(count[i])`, else `atomic_add(x[i], 1)`\0" "\0"
    "atomicMin\0" "write `atomic_min(x[i], v)`\0" "atomic_min\0"
    "atomicMax\0" "write `atomic_max(x[i], v)`\0" "atomic_max\0"
    "atomicAnd\0" "write `atomic_and(x[i], v)`\0" "atomic_and\0"
    "atomicOr\0" "write `atomic_or(x[i], v)`\0" "atomic_or\0"
    "atomicXor\0" "write `atomic_xor(x[i], v)`\0" "atomic_xor\0"
    "atomicExch\0" "write `atomic_exchange(x[i], v)`\0" "atomic_exchange\0"
    "atomicCAS\0" "write `atomic_cas(x[i], expected, desired)`\0" "atomic_cas\0"
    "expf\0" "functions serve every float type: `exp(x)`\0" "exp\0"
    "__expf\0" "functions serve every float type: `exp(x)`\0" "exp\0"
    "exp2f\0" "functions serve every float type: `exp2(x)`\0" "exp2\0"
    "logf\0" "functions serve every float type: `log(x)`\0" "log\0"
    "__logf\0" "functions serve every float type: `log(x)`\0" "log\0"
    "log2f\0" "functions serve every float type: `log2(x)`\0" "log2\0"
    "sqrtf\0" "functions serve every float type: `sqrt(x)`\0" "sqrt\0"
    "rsqrtf\0" "functions serve every float type: `rsqrt(x)`\0" "rsqrt\0"
    "tanhf\0" "functions serve every float type: `tanh(x)`\0" "tanh\0"
    "erff\0" "functions serve every float type: `erf(x)`\0" "erf\0"
    "erfcf\0" "functions serve every float type: `erfc(x)`\0" "erfc\0"
    "log1pf\0" "functions serve every float type: `log1p(x)`\0" "log1p\0"
    "expm1f\0" "functions serve every float type: `expm1(x)`\0" "expm1\0"
    "sinf\0" "functions serve every float type: `sin(x)`\0" "sin\0"
    "cosf\0" "functions serve every float type: `cos(x)`\0" "cos\0"
    "floorf\0" "functions serve every float type: `floor(x)`\0" "floor\0"
    "ceilf\0" "functions serve every float type: `ceil(x)`\0" "ceil\0"
    "roundf\0" "functions serve every float type: `round(x)`\0" "round\0"
    "rint\0" "to the nearest integer, ties to even, is `round(x)`\0" "round\0"
    "fabs\0" "the absolute value is `abs(x)`\0" "abs\0"
    "fabsf\0" "the absolute value is `abs(x)`\0" "abs\0"
    "fmax\0" "write `max(a, b)`\0" "max\0"
    "fmaxf\0" "write `max(a, b)`\0" "max\0"
    "fmin\0" "write `min(a, b)`\0" "min\0"
    "fminf\0" "write `min(a, b)`\0" "min\0"
    "maximum\0" "write `max(a, b)`\0" "max\0"
    "minimum\0" "write `min(a, b)`\0" "min\0"
    "fmaf\0" "write `fma(a, b, c)`\0" "fma\0"
    "powf\0" "functions serve every float type: `pow(x, y)`\0" "pow\0"
    "sqr\0" "write `square(x)`\0" "square\0"
    "softmax\0" "write `exp(x - max(x)) / sum(exp(x - max(x)))`; of rows with `axis = 1` in each\0" "exp(x - max(x)) / sum(exp(x - max(x)))\0"
    "fmod\0" "\0" "x % y\0"
    "clamp\0" "write `clip(x, low, high)`\0" "clip\0"
    "__ldg\0" "read the view: `const` decides whether a load may be cached\0" "\0"
    "__half2float\0" "\0" "(f32) x\0"
    "__float2half\0" "\0" "(f16) x\0"
    "cast\0" "a cast has its type in parentheses: `(f16) x`\0" "\0"
    "transpose\0" "write `trans(x)`\0" "trans\0"
    "matmul\0" "write `dot(a, b)`\0" "dot\0"
    "mma\0" "write `dot(a, b, c)`\0" "dot\0"
    "select\0" "write `where(condition, a, b)`\0" "where\0"
    "arange\0" "write `iota(n)`\0" "iota\0"
    "zeros\0" "declare it: `reg f32 x[M][N] = 0;`\0" "\0"
    "full\0" "declare it: `reg f32 x[M][N] = value;`\0" "\0"
    "cumsum\0" "\0" "scan(add, x, axis = 0)\0"
    "cumprod\0" "\0" "scan(mul, x, axis = 0)\0"
    "var\0" "with `m = sum(x) / n` it is `sum(square(x - m)) / n`\0" "\0"
    "std\0" "with `m = sum(x) / n` it is `sqrt(sum(square(x - m)) / n)`\0" "\0"
    "norm\0" "\0" "sqrt(sum(square(x)))\0"
    "prod\0" "there are `sum`, `max` and `min`; `scan(mul, x, axis = 0)` has the products so far\0" "\0"
    "logsumexp\0" "with `m = max(x)` it is `m + log(sum(exp(x - m)))`\0" "\0"
    "log_softmax\0" "with `m = max(x)` it is `x - m - log(sum(exp(x - m)))`\0" "\0"
    "concat\0" "declare the whole tile and assign its parts: `x[0 +: 32] = a;`\0" "\0"
    "concatenate\0" "declare the whole tile and assign its parts: `x[0 +: 32] = a;`\0" "\0"
    "not\0" "\0" "!x\0"
    "mean\0" "write `sum(x) / n`, and of each row `sum(x, axis = 1) / n`\0" "\0"
    "squeeze\0" "write `reshape(x, …)`\0" "\0"
    "unsqueeze\0" "write `reshape(x, …)`\0" "\0"
    "ceil_div\0" "write `cdiv(a, b)`\0" "cdiv\0"
    "div_up\0" "write `cdiv(a, b)`\0" "cdiv\0"
    "assert\0" "write `static_assert(…)` for constants, `assume(…)` for what holds at run time\0" "\0"
    "__shfl_sync\0" "lanes do not exchange values by hand: use a reduction or a scan of a tile\0" "\0"
    "__shfl_down_sync\0" "lanes do not exchange values by hand: use `sum(x)`, `max(x)` of a tile\0" "\0"
    "__shfl_xor_sync\0" "lanes do not exchange values by hand: use `sum(x)`, `max(x)` of a tile\0" "\0";

/* Functions of CUDA and of C. */
static const char cuda_help[] =
    "__syncthreads_or\0" "it is `any(x)` of a tile\0" "\0"
    "__syncthreads_and\0" "it is `all(x)` of a tile\0" "\0"
    "__ballot_sync\0" "lanes do not vote by hand: use `any(x)` and `all(x)` of a tile of `bool`, and `sum((i32) x)` to count\0" "\0"
    "__any_sync\0" "lanes do not vote by hand: use `any(x)` of a tile of `bool`\0" "\0"
    "__all_sync\0" "lanes do not vote by hand: use `all(x)` of a tile of `bool`\0" "\0"
    "__activemask\0" "lanes do not vote by hand: use `any(x)`, `all(x)` of a tile of `bool`\0" "\0"
    "__reduce_add_sync\0" "use `sum(x)` of a tile\0" "\0"
    "__reduce_max_sync\0" "use `max(x)` of a tile\0" "\0"
    "__reduce_min_sync\0" "use `min(x)` of a tile\0" "\0"
    "__threadfence\0" "`arrive`, `lock` and `unlock` order the accesses around them; within a block `sync()` does\0" "\0"
    "__threadfence_block\0" "the barrier of a block, `sync()`, orders its memory\0" "sync\0"
    "__threadfence_system\0" "`arrive`, `lock` and `unlock` order the accesses around them; within a block `sync()` does\0" "\0"
    "__popc\0" "count with `&` and `>>`: `n = 0; while (v != 0) { v &= v - 1; n++; }`\0" "\0"
    "__popcll\0" "count with `&` and `>>`: `n = 0; while (v != 0) { v &= v - 1; n++; }`\0" "\0"
    "__clz\0" "count with `>>`: `n = 32; while (v != 0) { v >>= 1; n--; }`, `v` a `u32`\0" "\0"
    "__ffs\0" "count with `&` and `>>`, in a loop\0" "\0"
    "__fdividef\0" "\0" "x / y\0"
    "__frcp_rn\0" "\0" "1 / x\0"
    "__fmul_rn\0" "\0" "x * y\0"
    "__fadd_rn\0" "\0" "x + y\0"
    "__fmaf_rn\0" "write `fma(a, b, c)`\0" "fma\0"
    "__fsqrt_rn\0" "functions serve every float type: `sqrt(x)`\0" "sqrt\0"
    "__log2f\0" "functions serve every float type: `log2(x)`\0" "log2\0"
    "__sinf\0" "functions serve every float type: `sin(x)`\0" "sin\0"
    "__cosf\0" "functions serve every float type: `cos(x)`\0" "cos\0"
    "__powf\0" "functions serve every float type: `pow(x, y)`\0" "pow\0"
    "__saturatef\0" "\0" "clip(x, 0, 1)\0"
    "__float2int_rn\0" "\0" "(i32) round(x)\0"
    "__float2int_rz\0" "\0" "(i32) x\0"
    "__int2float_rn\0" "\0" "(f32) x\0"
    "__float2bfloat16\0" "\0" "(bf16) x\0"
    "__float2half_rn\0" "\0" "(f16) x\0"
    "__float2half2_rn\0" "there are no vector types: `(f16) x` of a tile converts all its elements\0" "\0"
    "__hfma2\0" "operators serve every type: `a * b + c`, of a tile of `f16`\0" "\0"
    "__hfma\0" "operators serve every type: `a * b + c`\0" "\0"
    "__hadd\0" "operators serve every type: `x + y`\0" "x + y\0"
    "__hmul\0" "operators serve every type: `x * y`\0" "x * y\0"
    "mma_sync\0" "write `acc += dot(a, b);`: dot of f16, bf16 or tf32 tiles uses the matrix units\0" "\0"
    "load_matrix_sync\0" "assign the tile: `reg f16 ra[16][16] = sa;`\0" "\0"
    "store_matrix_sync\0" "assign to a slice of a view: `C[i +: 16][j +: 16] = acc;`\0" "\0"
    "fill_fragment\0" "declare it: `reg f32 acc[16][16] = 0;`\0" "\0"
    "this_thread_block\0" "its barrier is `sync()`, a thread's number `thread.x`\0" "\0"
    "this_grid\0" "blocks wait for each other by `lock` and `unlock`, in any order if the kernel is `cooperative`\0" "\0"
    "tiled_partition\0" "lanes do not exchange values by hand: use a reduction or a scan of a tile\0" "\0"
    "__bfloat162float\0" "\0" "(f32) x\0"
    "__float_as_int\0" "\0" "bits<i32>(x)\0"
    "__float_as_uint\0" "\0" "bits<u32>(x)\0"
    "__int_as_float\0" "\0" "bits<f32>(x)\0"
    "__uint_as_float\0" "\0" "bits<f32>(x)\0"
    "make_float4\0" "there are no vector types: assign to a tile of 4, or to each element\0" "\0"
    "make_float2\0" "there are no vector types: assign to a tile of 2, or to each element\0" "\0"
    "len\0" "the extents of a view or tile are the names of its declaration\0" "\0"
    "range\0" "write `for (i32 i = 0; i < n; i++)`; the numbers as a tile are `iota(n)`\0" "\0"
    "memset\0" "assign the value: `t = 0;`; to a view by slices, `C[i +: 64] = 0;`\0" "\0"
    "memcpy_async\0" "write `async s = A[i +: 64];`, `async_commit();`, `async_wait(0);`, or `pipeline(2) for`\0" "\0"
    "__pipeline_memcpy_async\0" "write `async s = A[i +: 64];`, `async_commit();`, `async_wait(0);`, or `pipeline(2) for`\0" "\0"
    "__pipeline_commit\0" "write `async_commit()`\0" "async_commit\0"
    "__pipeline_wait_prior\0" "write `async_wait(n)`\0" "async_wait\0"
    "memcpy\0" "assign the slice: `C[i +: 64] = A[i +: 64];`\0" "\0"
    "cudaMemcpy\0" "a kernel runs on the device; copies between host and device belong to the program that launches it (docs/howto/from-c.md)\0" "\0"
    "cudaMalloc\0" "workspace is a view without an array: `global f32 W[m][n];`, provided for each launch\0" "\0"
    "malloc\0" "workspace is a view without an array: `global f32 W[m][n];`, provided for each launch\0" "\0"
    "free\0" "memory that a kernel declares ends with the kernel\0" "\0"
    "cudaDeviceSynchronize\0" "the program that launches a kernel waits for it; within a block use `sync()`\0" "\0"
    "swap\0" "write `f32 t = a; a = b; b = t;`\0" "\0";

/* Functions of Triton and CUDA that have no counterpart function here, and those of
 * kernels/lib/activations.tile. */
static const char other_help[] =
    "relu\0" "write `max(x, 0)`, or `import \"lib/activations.tile\";`\0" "max(x, 0)\0"
    "gelu\0" "write `0.5 * x * (1 + erf(0.70710678 * x))`, or `import \"lib/activations.tile\";`\0" "0.5 * x * (1 + erf(0.70710678 * x))\0"
    "silu\0" "write `x * sigmoid(x)`, or `import \"lib/activations.tile\";`\0" "x * sigmoid(x)\0"
    "leaky_relu\0" "it comes with `import \"lib/activations.tile\";`\0" "\0"
    "gelu_tanh\0" "it comes with `import \"lib/activations.tile\";`\0" "\0"
    "softplus\0" "it comes with `import \"lib/activations.tile\";`\0" "\0"
    "swish\0" "write `x * sigmoid(x)`, or `import \"lib/activations.tile\";` and `silu(x)`\0" "x * sigmoid(x)\0"
    "load\0" "a slice of a view is loaded where it is used: `reg f32 t[16][64] = A[i +: 16][j +: 64];`; past the edge it gives 0, or `else` a value\0" "\0"
    "store\0" "assign to a slice of a view: `C[i +: 16][j +: 64] = t;`; what lies past the edge is not stored\0" "\0"
    "atomic_add\0" "write `atomic_add(C[i], x);`, and of a tile `atomic_add(C[i +: 64], x);`\0" "\0"
    "debug_barrier\0" "the barrier of the block is `sync();`; register tiles need none\0" "sync\0"
    "device_print\0" "write `print(\"x\", x);`\0" "\0"
    "static_print\0" "write `print(\"x\", x);`\0" "\0"
    "device_assert\0" "write `assume(…)`: cpu and sim check it\0" "\0"
    "sync_threads\0" "the barrier of the block is `sync()`\0" "sync\0"
    "program_id\0" "the block's index is `block.x`, `block.y`, `block.z`\0" "\0"
    "num_programs\0" "the extents of the grid are `grid.x`, `grid.y`, `grid.z`\0" "\0"
    "expand_dims\0" "write `reshape(x, 16, 1)`\0" "\0"
    "make_block_ptr\0" "a pointer seen as a matrix is a view: `global f32 A[m][k] = a;`\0" "\0"
    "static_range\0" "write `unroll for (i32 i = 0; i < n; i++)`\0" "\0";

/* clang-format on */

/* Looks up a name. Returns false if the table does not have it. */
static bool find_help(const char *table, const char *name, struct help *out)
{
    while (*table) {
        out->name = table;
        out->way_out = table + strlen(table) + 1;
        out->insert = out->way_out + strlen(out->way_out) + 1;
        if (strcmp(table, name) == 0)
            return true;
        table = out->insert + strlen(out->insert) + 1;
    }
    return false;
}

static bool find_call_help(const char *name, struct help *out)
{
    return find_help(call_help, name, out) || find_help(cuda_help, name, out) ||
           find_help(other_help, name, out);
}

const char *check_call_way_out(const char *name)
{
    struct help help;
    return find_call_help(name, &help) && *help.way_out ? help.way_out : NULL;
}

/* Returns the place of `name` at the start of a longer name. */
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

/* Adds a fix that replaces the call with a template. A template that is not itself a call gets
 * parentheses. */
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
    if (check_call_argument_count(call) == (used == 3 ? 2 : 1))
        diag_fix(c->diag, call->loc, "%s", out.data);
}

/* Notes the way out. call: the call with the unknown name; NULL: the name is not called. */
static void say_help(struct checker *c, const struct help *help, const struct node *call,
                     struct loc loc)
{
    diag_code(c->diag, CODE_FOREIGN);
    if (*help->way_out)
        diag_note(c->diag, loc, "%s", help->way_out);
    else
        diag_note(c->diag, loc, "write `%s`", help->insert);
    if (*help->insert && is_word(help->insert))
        diag_fix(c->diag, name_at(loc, help->name), "%s", help->insert);
    else if (*help->insert && call)
        fix_call(c, call, help->insert);
}

typedef VEC(const char *) name_list;

/* Collects the bindings in scope and the entries of the module of the kinds in `mask`. */
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

void check_unknown_name(struct checker *c, const char *name, struct loc loc)
{
    const struct entry *e = module_entry(c->module, name);
    struct help help;
    bool helped = find_help(value_help, name, &help);
    if (e && e->kind == ENTRY_FN) {
        diag_error(c->diag, loc, "`%s` is a fn, not a value", name);
        diag_note(c->diag, loc, "call it: `%s(…)`", name);
    } else if (e || dtype_by_name(name, strlen(name)) != DT_NONE) {
        diag_error(c->diag, loc, "`%s` is %s, not a value", name,
                   e && e->kind == ENTRY_KERNEL ? "a kernel" : "a type");
    } else {
        name_list names = {0};
        known_names(c, &names, true, 1u << ENTRY_CONST | 1u << ENTRY_TUNE);
        const char *near = helped ? NULL : text_nearest(name, names.data, names.count);
        diag_error(c->diag, loc, "`%s` is not declared", name);
        diag_code(c->diag, CODE_NAME);
        if (helped)
            say_help(c, &help, NULL, loc);
        else if (near)
            diag_near(c->diag, name_at(loc, name), near);
        else if (all_capitals(name))
            diag_note(c->diag, loc,
                      "declare it before the kernel: `const i32 %s = …;` or `tune %s = {…};`", name,
                      name);
    }
    check_poison_outermost(c, name, loc);
}

void check_unknown_base(struct checker *c, const char *name, const char *part, struct loc loc)
{
    static const char *const bases[] = {"block", "grid", "thread", "cluster"};
    struct help help;
    bool helped = find_help(value_help, name, &help);
    const char *near = helped ? NULL : text_nearest(name, bases, sizeof bases / sizeof bases[0]);
    diag_error(c->diag, loc, "values have no members: `%s.%s`", name, part);
    diag_code(c->diag, CODE_NAME);
    if (helped)
        say_help(c, &help, NULL, loc);
    else if (near)
        diag_near(c->diag, name_at(loc, name), near);
    else if (strcmp(part, "T") == 0)
        diag_write(c->diag, loc, arena_printf(c->arena, "trans(%s)", name));
    else if (strcmp(part, "shape") == 0)
        diag_note(c->diag, loc, "the extents of a tile are the constants of its declaration");
    else
        diag_note(c->diag, loc, "only `block`, `grid` and `thread` have members: x, y and z");
}

/* Notes the nearest name, or a missing type variable: T(x) and T x[4] begin like a call and a
 * type. */
static void note_near_or_type(struct checker *c, const char *name, const name_list *names,
                              struct loc loc)
{
    const char *near = text_nearest(name, names->data, names->count);
    if (near)
        diag_near(c->diag, name_at(loc, name), near);
    else if (name[0] >= 'A' && name[0] <= 'Z')
        diag_note(c->diag, loc,
                  "a choice of element types is declared ahead: `type %s = {f16, f32};`", name);
}

/* Reports a name that is known but is not a function. Returns true if it reported. */
static bool is_other_than_function(struct checker *c, const char *name, struct loc loc)
{
    const struct entry *e = module_entry(c->module, name);
    if (e && e->kind == ENTRY_KERNEL) {
        diag_error(c->diag, loc, "`%s` is a kernel: it is launched, not called", name);
        return true;
    }
    const struct binding *b = check_lookup_name(c, name);
    if (!b || !b->sym || b->sym->is_pointer || b->sym->type.rank == 0)
        return false;
    diag_error(c->diag, loc, "`%s` is not a function: it has elements", name);
    diag_note(c->diag, loc, "indices are in brackets: `%s[%s]`", name,
              b->sym->type.rank > 1 ? "i][j" : "i");
    return true;
}

/* Returns the replacement of mean(v) that fits the axes of v, a tile with a name. NULL: it is
 * not such a call. */
static const char *help_with_mean(struct checker *c, const struct node *n)
{
    const struct node *x = strcmp(n->text, "mean") == 0 ? check_call_argument(n, 0) : NULL;
    const struct binding *b = x && x->kind == N_NAME ? check_lookup_name(c, x->text) : NULL;
    int rank = b && b->sym ? b->sym->type.rank : 0;
    if (rank == 0)
        return NULL;
    return rank == 1 ? arena_printf(c->arena, "write `sum(%s) / n`", x->text)
                     : arena_printf(c->arena, "write `sum(%s, axis = %d) / n`", x->text, rank - 1);
}

void check_unknown_call(struct checker *c, const struct node *n)
{
    const char *name = n->text, *mean = help_with_mean(c, n);
    struct loc loc = n->loc;
    if (is_other_than_function(c, name, loc))
        return;
    struct help help;
    bool helped = find_call_help(name, &help);
    diag_error(c->diag, loc, "there is no function `%s`", name);
    diag_code(c->diag, CODE_NAME);
    if (mean)
        diag_note(c->diag, loc, "%s", mean);
    else if (helped)
        say_help(c, &help, n, loc);
    if (mean || helped)
        return;
    name_list names = {0};
    known_names(c, &names, false, 1u << ENTRY_FN);
    for (int op = 0; op < OP_COUNT; op++)
        if (op_table[op].form == FORM_CALL)
            vec_push(c->arena, &names, op_table[op].text);
    vec_push(c->arena, &names, "bytes");
    vec_push(c->arena, &names, "while"); /* `whlie (…);` parses as a call */
    vec_push(c->arena, &names, "return");
    note_near_or_type(c, name, &names, loc);
}

/* Notes what to write for float4, half2 …, types of CUDA. Returns false for other names. */
static bool note_vector_type(struct checker *c, const char *name, struct loc loc)
{
    static const char *const of_cuda[][2] = {
        {"float", "f32"}, {"double", "f64"},        {"int", "i32"},   {"uint", "u32"},
        {"half", "f16"},  {"__half", "f16"},        {"short", "i16"}, {"char", "i8"},
        {"uchar", "u8"},  {"__nv_bfloat16", "bf16"}};
    size_t length = strlen(name);
    char count = length ? name[length - 1] : '0';
    for (size_t i = 0; i < sizeof of_cuda / sizeof *of_cuda; i++) {
        if (count < '2' || count > '4' || strlen(of_cuda[i][0]) != length - 1 ||
            memcmp(name, of_cuda[i][0], length - 1) != 0)
            continue;
        diag_code(c->diag, CODE_FOREIGN);
        diag_note(c->diag, loc,
                  "there are no vector types: the compiler loads a slice of a view, "
                  "`A[i +: 64]`, in the widest pieces that its place allows; %c values of one "
                  "thread are `%s x[%c];`",
                  count, of_cuda[i][1], count);
        return true;
    }
    return false;
}

void check_unknown_type(struct checker *c, const char *name, struct loc loc)
{
    static const char of_c[][2][9] = {
        {"float", "f32"}, {"double", "f64"}, {"int", "i32"}, {"unsigned", "u32"}};
    diag_error(c->diag, loc, "there is no type `%s`", name);
    diag_code(c->diag, CODE_NAME);
    if (note_vector_type(c, name, loc))
        return;
    name_list names = {0};
    known_names(c, &names, false, 1u << ENTRY_TYPE);
    for (int t = 0; t < DT_COUNT; t++)
        vec_push(c->arena, &names, dtype_table[t].name);
    for (size_t i = 0; i < sizeof of_c / sizeof *of_c; i++) {
        const char *word = of_c[i][0];
        if (!text_nearest(name, &word, 1) || text_nearest(name, names.data, names.count))
            continue;
        diag_near(c->diag, name_at(loc, name), of_c[i][1]);
        return;
    }
    note_near_or_type(c, name, &names, loc);
}

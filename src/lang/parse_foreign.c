/* Text of other languages where the parser meets it: methods of values and functions of modules
 * (Python), casts and functions of C++, and texts that are wholly CUDA C or Python. The words
 * themselves have tables in check_help.c. */
#include "lang/parse_internal.h"

#include <math.h>
#include <string.h>

/* --- modules --- */

static bool is_module(const char *name)
{
    static const char *const modules[] = {"np",  "numpy", "math", "torch", "F",     "tl",
                                          "jnp", "jax",   "std",  "cuda",  "triton"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strcmp(name, modules[i]) == 0)
            return true;
    return false;
}

bool parse_at_number_of_module(const struct parser *p)
{
    return parse_at(p, TOK_INF) || parse_at(p, TOK_NAN);
}

struct node *parse_slip_number_of_module(struct parser *p)
{
    uint32_t first = p->pos - 2;
    bool is_inf = parse_at(p, TOK_INF);
    struct loc all = loc_join(token_loc(p, &p->tokens[first]), parse_here(p));
    struct node *n = node_new(p, N_FLOAT, all);
    n->f = is_inf ? (double)INFINITY : (double)NAN;
    if (parse_complain(p, all, "numbers belong to no module")) {
        parse_is_foreign(p);
        parse_note_write(p, all, is_inf ? "inf" : "nan");
    }
    parse_advance(p);
    return n;
}

struct node *parse_slip_number_as_text(struct parser *p)
{
    const struct token *t = parse_peek_ahead(p, 2), *close = parse_peek_ahead(p, 3);
    const char *text = p->source->text + t->offset;
    uint32_t end = close->offset + close->length;
    if ((t->kind != TOK_BAD && t->kind != TOK_STRING) || close->kind != TOK_RPAREN || t->length < 2)
        return NULL;
    struct loc word = {p->source, t->offset + 1, t->length - 2};
    bool negative = word.length > 3 && text[1] == '-';
    const char *digits = text + 1 + (word.length > 3);
    bool is_inf = memcmp(digits, "inf", 3) == 0;
    if (word.length != (negative ? 4U : 3U) || (!is_inf && memcmp(digits, "nan", 3) != 0))
        return NULL;
    struct loc all = loc_join(parse_here(p), token_loc(p, close));
    struct node *n = node_new(p, N_FLOAT, all);
    n->f = is_inf ? (negative ? -(double)INFINITY : (double)INFINITY) : (double)NAN;
    if (parse_complain(p, all, "infinity and not-a-number are words, not texts")) {
        parse_is_foreign(p);
        parse_note_write(p, all, arena_string(p->arena, text + 1, word.length));
    }
    while (p->problems_told < p->problem_count && p->problems[p->problems_told].loc.offset < end)
        p->problems_told++; /* the quotes */
    parse_go_to(p, p->pos + 4);
    return n;
}

/* --- methods --- */

/* Methods of arrays in Python and the spelling here: x is the value, T the type in the
 * parentheses, "…" the other arguments. An empty name ends the table. */
static const char methods[] = "T\0"
                              "trans(x)\0"
                              "mT\0"
                              "trans(x)\0"
                              "t\0"
                              "trans(x)\0"
                              "transpose\0"
                              "trans(x)\0"
                              "trans\0"
                              "trans(x)\0"
                              "permute\0"
                              "trans(x)\0"
                              "to\0"
                              "(T) x\0"
                              "astype\0"
                              "(T) x\0"
                              "float\0"
                              "(f32) x\0"
                              "double\0"
                              "(f64) x\0"
                              "half\0"
                              "(f16) x\0"
                              "bfloat16\0"
                              "(bf16) x\0"
                              "int\0"
                              "(i32) x\0"
                              "long\0"
                              "(i64) x\0"
                              "load\0"
                              "x\0"
                              "item\0"
                              "x\0"
                              "contiguous\0"
                              "x\0"
                              "clone\0"
                              "x\0"
                              "copy\0"
                              "x\0"
                              "detach\0"
                              "x\0"
                              "matmul\0"
                              "dot(x, …)\0"
                              "view\0"
                              "reshape(x, …)\0"
                              "pow\0"
                              "pow(x, …)\0";

/* Returns the type that the parentheses at token `open` name, `f16` of (tl.float16). "T": another
 * text. */
static const char *type_in(struct parser *p, uint32_t open)
{
    const struct token *t = &p->tokens[open];
    if (t->kind != TOK_LPAREN || t->match == NO_MATCH || t->match == open + 1)
        return "T";
    const struct token *last = &p->tokens[t->match - 1];
    const char *meant = parse_c_type(p, last);
    return meant ? meant : parse_is_type_name(p, last) ? token_text(p, last) : "T";
}

/* Returns the axis that the parentheses at token `open` have alone, as in (1); NULL: none. */
static const char *axis_in(struct parser *p, uint32_t open)
{
    const struct token *t = &p->tokens[open];
    return t->kind == TOK_LPAREN && t->match == open + 2 && t[1].kind == TOK_INT
               ? token_text(p, &t[1])
               : NULL;
}

static bool is_reduction(const char *name)
{
    static const char *const names[] = {"sum", "max", "min", "argmax", "argmin", "any", "all"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Returns the text without the parentheses around all of it. */
static const char *without_parens(struct parser *p, const char *text)
{
    size_t length = strlen(text);
    int depth = 0;
    for (size_t i = 0; i < length; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0 && i + 1 < length)
            return text;
    }
    return length > 2 && text[0] == '(' ? arena_string(p->arena, text + 1, length - 2) : text;
}

/* Returns the spelling here of the method whose name is token `at`, of a value with that text.
 * NULL: no row has the name. */
static const char *method_here(struct parser *p, const char *value, uint32_t at)
{
    const char *name = token_text(p, &p->tokens[at]), *axis = axis_in(p, at + 1);
    if (axis && is_reduction(name))
        return arena_printf(p->arena, "%s(%s, axis = %s)", name, without_parens(p, value), axis);
    for (const char *row = methods; *row;) {
        const char *template = row + strlen(row) + 1;
        if (strcmp(row, name) != 0) {
            row = template + strlen(template) + 1;
            continue;
        }
        const char *type = strchr(template, 'T'), *x = strrchr(template, 'x');
        const char *before = type ? arena_printf(p->arena, "(%s) ", type_in(p, at + 1))
                                  : arena_string(p->arena, template, (size_t)(x - template));
        return arena_printf(p->arena, "%s%s%s", before, x[1] ? without_parens(p, value) : value,
                            x + 1);
    }
    return NULL;
}

/* Notes the spelling here of the call of method `name`; the value began at token `first`. A fix
 * is added if the spelling leaves nothing open. */
static void note_method(struct parser *p, uint32_t first, uint32_t name, const char *spelling)
{
    const struct token *open = &p->tokens[name + 1];
    uint32_t last = open->kind == TOK_LPAREN && open->match != NO_MATCH ? open->match : name;
    struct loc all = loc_join(token_loc(p, &p->tokens[first]), token_loc(p, &p->tokens[last]));
    if (strstr(spelling, "…") || strncmp(spelling, "(T)", 3) == 0)
        parse_note(p, token_loc(p, &p->tokens[name]), "write `%s`", spelling);
    else
        parse_note_write(p, all, spelling);
}

/* Returns f(x, …) for x.f(…), with the method's name at token `at`; NULL: it is not called. */
static const char *as_call(struct parser *p, const char *value, uint32_t at)
{
    const struct token *open = &p->tokens[at + 1];
    if (open->kind != TOK_LPAREN || open->match == NO_MATCH)
        return NULL;
    uint32_t start = open->offset + 1, end = p->tokens[open->match].offset;
    return arena_printf(p->arena, "%s(%s%s%.*s)", token_text(p, &p->tokens[at]),
                        without_parens(p, value), open->match > at + 2 ? ", " : "",
                        (int)(end - start), p->source->text + start);
}

void parse_slip_methods(struct parser *p, uint32_t first)
{
    struct loc value = parse_range_from(p, first);
    const char *text = arena_string(p->arena, p->source->text + value.offset, value.length);
    const char *spelling = method_here(p, text, p->pos + 1);
    if (!spelling)
        spelling = as_call(p, text, p->pos + 1);
    if (!spelling) {
        if (parse_fail(p, parse_here(p), "'.' is only for block.x, grid.x, thread.x"))
            parse_note(p, parse_here(p), "there are no structures and no pointers");
        return;
    }
    const struct token *name = parse_peek_ahead(p, 1);
    if (parse_complain(p, loc_join(parse_here(p), token_loc(p, name)),
                       "values have no members: `.%s`", token_text(p, name))) {
        parse_is_foreign(p);
        note_method(p, first, p->pos + 1, spelling);
    }
    while (parse_at(p, TOK_DOT) && parse_peek_ahead(p, 1)->kind == TOK_NAME) {
        const struct token *open = parse_peek_ahead(p, 2);
        bool parens = open->kind == TOK_LPAREN && open->match != NO_MATCH;
        parse_go_to(p, parens ? open->match + 1 : p->pos + 2);
    }
}

bool parse_at_owned_call(const struct parser *p)
{
    enum token_kind next = parse_peek_ahead(p, 1)->kind;
    uint32_t dots = next == TOK_DOT                                                  ? 1
                    : next == TOK_COLON && parse_peek_ahead(p, 2)->kind == TOK_COLON ? 2
                                                                                     : 0;
    return dots > 0 && parse_peek_ahead(p, dots + 1)->kind == TOK_NAME &&
           parse_peek_ahead(p, dots + 2)->kind == TOK_LPAREN;
}

/* Adds the fix that makes f(x, …) of x.f(…). */
static void fix_owner(struct parser *p, struct loc before, const char *owner, bool alone)
{
    struct loc open = token_loc(p, parse_peek_ahead(p, 1));
    open.offset++;
    open.length = 0;
    parse_fix(p, before, "");
    parse_fix(p, open, arena_printf(p->arena, "%s%s", owner, alone ? "" : ", "));
}

bool parse_slip_owned_call(struct parser *p)
{
    uint32_t first = p->pos;
    const char *owner = token_text(p, parse_peek(p));
    bool scope = parse_peek_ahead(p, 1)->kind == TOK_COLON, module = scope || is_module(owner);
    while (p->pos == first || !parse_at(p, TOK_NAME))
        parse_advance(p);
    const char *name = token_text(p, parse_peek(p));
    bool alone = parse_peek_ahead(p, 2)->kind == TOK_RPAREN;
    struct loc before = token_loc(p, &p->tokens[first]);
    before.length = parse_here(p).offset - before.offset;
    if (parse_complain(p, loc_join(parse_range_from(p, first), parse_here(p)),
                       "`%s%s%s`: functions are called by their name alone", owner,
                       scope ? "::" : ".", name)) {
        bool is_fn = parse_name_known(&p->fn_names, p, parse_peek(p));
        const char *spelling = module || is_fn ? NULL : method_here(p, owner, p->pos);
        const char *way_out = is_fn || spelling ? NULL : check_call_way_out(name);
        parse_is_foreign(p);
        if (way_out && !module && strstr(way_out, "import") && !strstr(way_out, " and `")) {
            parse_note(p, parse_here(p), "%s and `%s(%s%s)`", way_out, name, owner,
                       alone ? "" : ", …");
        } else if (way_out) {
            parse_note(p, parse_here(p), "%s", way_out);
        } else if (spelling) {
            note_method(p, first, p->pos, spelling);
        } else if (module) {
            parse_note(p, parse_here(p), "write `%s(…)`", name);
            parse_fix(p, before, "");
        } else {
            parse_note(p, parse_here(p), "write `%s(%s%s)`", name, owner, alone ? "" : ", …");
            fix_owner(p, before, owner, alone);
        }
    }
    return module;
}

/* --- C++ --- */

/* Returns the token after the '>' of NAME "<" … ">" "("; NULL: the text has another form. */
static const struct token *after_angles(const struct parser *p)
{
    enum { MOST_TOKENS = 8 };
    if (parse_peek_ahead(p, 1)->kind != TOK_LT)
        return NULL;
    for (uint32_t i = 2; i < MOST_TOKENS; i++)
        if (parse_peek_ahead(p, i)->kind == TOK_GT)
            return parse_peek_ahead(p, i + 1)->kind == TOK_LPAREN ? parse_peek_ahead(p, i + 1)
                                                                  : NULL;
    return NULL;
}

bool parse_at_cpp_cast(const struct parser *p)
{
    return (parse_at_word(p, "static_cast") || parse_at_word(p, "reinterpret_cast") ||
            parse_at_word(p, "const_cast")) &&
           after_angles(p) && after_angles(p)->match != NO_MATCH;
}

struct node *parse_slip_cpp_cast(struct parser *p)
{
    struct node *n = node_int(p, 0, parse_here(p));
    const struct token *open = after_angles(p), *type = parse_peek_ahead(p, 2);
    const char *meant = parse_c_type(p, type) ? parse_c_type(p, type) : token_text(p, type);
    bool converts = parse_at_word(p, "static_cast");
    if (parse_complain(p, parse_here(p), "there is no `%s`", token_text(p, parse_peek(p)))) {
        parse_is_foreign(p);
        if (converts && type[1].kind == TOK_GT) {
            parse_note(p, parse_here(p), "a conversion is written `(%s) x`", meant);
            parse_fix(p, loc_join(parse_here(p), token_loc(p, open - 1)),
                      arena_printf(p->arena, "(%s) ", meant));
        } else {
            parse_note(
                p, parse_here(p),
                "there are no pointers: a slice of a view, `A[i +: 4]`, is loaded in the widest "
                "pieces that its place allows; the bits of a value are `bits<u32>(x)`");
        }
    }
    parse_go_to(p, open->match + 1);
    while (parse_at(p, TOK_LBRACKET) && parse_peek(p)->match != NO_MATCH)
        parse_go_to(p, parse_peek(p)->match + 1);
    if (parse_at(p, TOK_DOT) && parse_peek_ahead(p, 1)->kind == TOK_NAME)
        parse_go_to(p, p->pos + 2);
    return n;
}

/* Returns the number of tokens from here to the name after the last "::" of "std" "::"
 * "numeric_limits" "<" … ">" "::" NAME "(", with or without `std`; 0: another text. */
static uint32_t limits_member(const struct parser *p)
{
    enum { MOST_TOKENS = 8 };
    uint32_t n = parse_at_word(p, "std") && parse_peek_ahead(p, 1)->kind == TOK_COLON ? 3 : 0;
    if (!token_is(p, parse_peek_ahead(p, n), "numeric_limits") ||
        parse_peek_ahead(p, n + 1)->kind != TOK_LT)
        return 0;
    for (uint32_t i = n + 2; i < n + MOST_TOKENS; i++)
        if (parse_peek_ahead(p, i)->kind == TOK_GT)
            return parse_peek_ahead(p, i + 2)->kind == TOK_COLON &&
                           parse_peek_ahead(p, i + 4)->kind == TOK_LPAREN &&
                           parse_peek_ahead(p, i + 4)->match != NO_MATCH
                       ? i + 3
                       : 0;
    return 0;
}

bool parse_at_numeric_limits(const struct parser *p)
{
    return limits_member(p) > 0;
}

struct node *parse_slip_numeric_limits(struct parser *p)
{
    static const char *const of_floats[][2] = {
        {"max", "write `inf`, from which a minimum starts"},
        {"infinity", "write `inf`"},
        {"lowest", "write `-inf`, from which a maximum starts"},
        {"min", "the least positive f32 is `0x1p-126`"},
        {"epsilon", "of f32 it is `0x1p-23`, of f16 `0x1p-10`"},
        {"quiet_NaN", "write `nan`"},
    };
    struct node *n = node_int(p, 0, parse_here(p));
    uint32_t member = limits_member(p);
    const struct token *name = parse_peek_ahead(p, member), *type = parse_peek_ahead(p, member - 4);
    const char *meant = parse_c_type(p, type) ? parse_c_type(p, type) : token_text(p, type);
    const char *way_out = "write the number: `2147483647` is the largest i32";
    for (size_t i = 0; *meant != 'i' && *meant != 'u' && i < sizeof of_floats / sizeof *of_floats;
         i++)
        if (token_is(p, name, of_floats[i][0]))
            way_out = of_floats[i][1];
    if (parse_complain(p, loc_join(parse_here(p), token_loc(p, name)),
                       "there is no `numeric_limits`")) {
        parse_is_foreign(p);
        parse_note(p, parse_here(p), "%s", way_out);
    }
    parse_go_to(p, parse_peek_ahead(p, member + 1)->match + 1);
    return n;
}

/* Counts the words of C before the type of a function's result. */
static uint32_t function_words(const struct parser *p)
{
    static const char *const words[] = {"__device__", "__host__",  "__forceinline__", "__inline__",
                                        "inline",     "constexpr", "__noinline__"};
    uint32_t n = 0;
    bool more = true;
    while (more) {
        more = parse_peek_ahead(p, n)->kind == TOK_STATIC;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            more = more || token_is(p, parse_peek_ahead(p, n), words[i]);
        n += more;
    }
    return n;
}

bool parse_at_c_function(const struct parser *p)
{
    uint32_t n = function_words(p);
    if (!parse_is_type_name(p, parse_peek_ahead(p, n)))
        return false;
    while (parse_c_type(p, parse_peek_ahead(p, n)) && parse_c_type(p, parse_peek_ahead(p, n + 1)))
        n++;
    return parse_peek_ahead(p, n + 1)->kind == TOK_NAME &&
           parse_peek_ahead(p, n + 2)->kind == TOK_LPAREN;
}

void parse_slip_c_function(struct parser *p)
{
    uint32_t words = function_words(p);
    const struct token *name = parse_peek_ahead(p, words);
    while (name->kind == TOK_NAME && name[1].kind != TOK_LPAREN)
        name++;
    struct loc start = parse_here(p);
    start.length = words ? parse_peek_ahead(p, words)->offset - start.offset : 0;
    if (parse_complain(p, token_loc(p, name), "a function is declared with `fn`")) {
        const char *type = parse_c_type(p, parse_peek_ahead(p, words));
        parse_is_foreign(p);
        if (token_is(p, name, "main"))
            parse_note(
                p, token_loc(p, name),
                "a file has kernels and functions alone; a program in C, C++ or Python launches "
                "them (docs/howto/from-c.md, docs/howto/from-python.md), or `tilewright run`");
        else
            parse_note(p, token_loc(p, name), "write `fn %s %s(…) { … }`",
                       type ? type : token_text(p, parse_peek_ahead(p, words)),
                       token_text(p, name));
        if (!token_is(p, name, "main"))
            parse_fix(p, start, "fn ");
    }
    if (words)
        parse_go_to(p, p->pos + words);
}

/* --- whole texts --- */

static bool is_include(const struct parser *p, const struct scan_problem *problem)
{
    struct loc at = problem->loc;
    return at.length >= 8 && memcmp(p->source->text + at.offset + at.length - 7, "include", 7) == 0;
}

/* Returns the first token or problem that only CUDA C has, as a place. LOC_NONE: none, or the
 * text has kernels of this language. */
static struct loc cuda_place(const struct parser *p)
{
    struct loc found = LOC_NONE;
    for (uint32_t i = 0; i + 1 < p->count; i++) {
        const struct token *t = &p->tokens[i], *next = t + 1;
        if ((t->kind == TOK_KERNEL || t->kind == TOK_FN) && next->kind == TOK_NAME)
            return LOC_NONE;
        if (!found.source &&
            (token_is(p, t, "__global__") || (token_is(p, t, "template") && next->kind == TOK_LT)))
            found = token_loc(p, t);
    }
    for (size_t i = 0; i < p->problem_count; i++)
        if (is_include(p, &p->problems[i]) &&
            (!found.source || p->problems[i].loc.offset < found.offset))
            found = p->problems[i].loc;
    return found;
}

/* Returns true at the first line of a form of Python: `import torch`, `from x import`,
 * `@triton.jit`, `def f(`. The token is the first of its line. */
static bool at_python(const struct parser *p, const struct token *t)
{
    const struct token *next = t + 1, *third = t + 2;
    bool dotted = third->kind == TOK_DOT;
    if (next->kind != TOK_NAME || next->line_start)
        return false;
    return (t->kind == TOK_IMPORT && (third->line_start || dotted || token_is(p, third, "as"))) ||
           (token_is(p, t, "from") && (third->kind == TOK_IMPORT || dotted)) ||
           (token_is(p, t, "def") && third->kind == TOK_LPAREN) ||
           (t->length == 1 && p->source->text[t->offset] == '@');
}

static struct loc python_place(const struct parser *p)
{
    for (uint32_t i = 0; i + 2 < p->count; i++)
        if (parse_in_first_column(p, &p->tokens[i]) && at_python(p, &p->tokens[i]))
            return loc_join(token_loc(p, &p->tokens[i]), token_loc(p, &p->tokens[i + 1]));
    return LOC_NONE;
}

/* Returns the name of the file with .cu as its ending; NULL: it has no ending .tile. */
static const char *name_in_cu(struct parser *p)
{
    const char *name = p->source->name ? p->source->name : "", *slash = strrchr(name, '/');
    size_t length = strlen(slash ? slash + 1 : name);
    name = slash ? slash + 1 : name;
    return length > 5 && strcmp(name + length - 5, ".tile") == 0
               ? arena_printf(p->arena, "%.*s.cu", (int)(length - 5), name)
               : NULL;
}

void parse_report_other_language(struct parser *p)
{
    struct loc python = python_place(p), cuda = python.source ? LOC_NONE : cuda_place(p);
    const char *name = name_in_cu(p);
    if (python.source) {
        diag_error(p->diag, python, "this is Python, not Tilewright's language");
        parse_is_foreign(p);
        diag_note(p->diag, python,
                  "a kernel is written `kernel name(i32 n, const f32 *a, f32 *c) grid(…) warps(4) "
                  "{ … }`; docs/not-in-the-language.md lists Triton's words and what to write");
        p->stopped = true;
    }
    if (!cuda.source)
        return;
    diag_error(p->diag, cuda, "this is CUDA C, not Tilewright's language");
    parse_is_foreign(p);
    if (name)
        diag_note(p->diag, cuda,
                  "rename the file to %s: `tilewright check %s` takes CUDA C as it is", name, name);
    else
        diag_note(p->diag, cuda,
                  "save it in a file whose name ends in .cu: `tilewright check k.cu` takes CUDA C "
                  "as it is");
    diag_gather(p->diag, true);
}

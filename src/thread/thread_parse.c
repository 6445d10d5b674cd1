/* Text → thread IR. The grammar is above each function; tokens are those of PTX, so line breaks do not
 * matter. The first error ends the parse. */
#include "thread/thread_build.h"

#include "ptx/ptx_scan.h"

#include <string.h>

enum { MOST_GROUP = 256, MOST_DEPTH = 64, MOST_UNROLL = 64 };

/* An operation whose results `break` or `yield` give. */
struct scope {
    struct thread_operation *operation;    /* a loop, or an if; NULL: a role or the function */
    const struct thread_operation *leaves; /* the first break or yield */
    struct scope *outer;
};

struct parser {
    struct arena *arena;
    struct ptx_scanner scanner;
    struct ptx_token token;
    struct diag *diag;
    struct thread_function *function;
    struct name_table values, objects;
    VEC(struct thread_value *) visible;
    struct scope *scope;
    int depth;
    jmp_buf failed;
};

static _Noreturn void fail(struct parser *p, struct loc at, const char *text)
{
    diag_error(p->diag, at, "%s", text);
    longjmp(p->failed, 1);
}

static struct loc here(const struct parser *p)
{
    return ptx_token_loc(&p->scanner, &p->token);
}

static void next(struct parser *p)
{
    ptx_scan_next(&p->scanner, &p->token);
    if (p->token.kind == PTX_TOKEN_ERROR)
        longjmp(p->failed, 1);
}

static bool at_sign(const struct parser *p, int sign)
{
    return p->token.kind == PTX_TOKEN_PUNCTUATION && p->token.punctuation == sign;
}

static bool take_sign(struct parser *p, int sign)
{
    bool found = at_sign(p, sign);
    if (found)
        next(p);
    return found;
}

static void expect_sign(struct parser *p, int sign)
{
    if (!take_sign(p, sign))
        fail(p, here(p), arena_printf(p->arena, "expected `%c`", sign));
}

static bool at_word(const struct parser *p, const char *word)
{
    return p->token.kind == PTX_TOKEN_NAME && strlen(word) == p->token.length &&
           memcmp(p->token.text, word, p->token.length) == 0;
}

static bool take_word(struct parser *p, const char *word)
{
    bool found = at_word(p, word);
    if (found)
        next(p);
    return found;
}

static void expect_word(struct parser *p, const char *word)
{
    if (!take_word(p, word))
        fail(p, here(p), arena_printf(p->arena, "expected `%s`", word));
}

static bool at_value(const struct parser *p)
{
    return p->token.kind == PTX_TOKEN_NAME && p->token.text[0] == '%';
}

static const char *take_name(struct parser *p, const char *what)
{
    if (p->token.kind != PTX_TOKEN_NAME || at_value(p) || at_word(p, "inf"))
        fail(p, here(p), arena_printf(p->arena, "expected %s", what));
    const char *name = arena_string(p->arena, p->token.text, p->token.length);
    next(p);
    return name;
}

static uint32_t take_count(struct parser *p, const char *what, uint32_t least, uint32_t most)
{
    if (p->token.kind != PTX_TOKEN_INTEGER || p->token.bits < least || p->token.bits > most)
        fail(p, here(p), arena_printf(p->arena, "expected %s, from %u to %u", what, least, most));
    uint32_t count = (uint32_t)p->token.bits;
    next(p);
    return count;
}

/* --- values --- */

static struct thread_value *new_value(struct parser *p)
{
    struct loc where = here(p);
    if (!at_value(p))
        fail(p, where, "expected a value, such as %sum");
    struct name_entry *entry = name_table_entry(&p->values, p->token.text + 1, p->token.length - 1);
    if (entry->object)
        fail(p, where,
             "a value has this name already: each value has its own name in the function");
    struct thread_value *v = arena_new(p->arena, struct thread_value);
    v->where = where;
    v->name = arena_string(p->arena, p->token.text + 1, p->token.length - 1);
    v->number = p->function->values++;
    entry->object = v;
    entry->kind = 0;
    next(p);
    return v;
}

static void show(struct parser *p, struct thread_value *v)
{
    name_table_find(&p->values, v->name, strlen(v->name))->kind = 1;
    vec_push(p->arena, &p->visible, v);
}

/* Hides the values that became visible since. */
static void hide(struct parser *p, size_t from)
{
    for (size_t i = from; i < p->visible.count; i++) {
        const char *name = p->visible.data[i]->name;
        name_table_find(&p->values, name, strlen(name))->kind = 0;
    }
    p->visible.count = from;
}

static struct thread_value *take_value(struct parser *p)
{
    struct name_entry *entry = name_table_find(&p->values, p->token.text + 1, p->token.length - 1);
    if (!entry)
        fail(p, here(p), "no value has this name");
    if (!entry->kind)
        fail(p, here(p), "this value is not defined in every run that comes here");
    next(p);
    return entry->object;
}

static enum dtype take_dtype(struct parser *p)
{
    enum dtype type = DT_NONE;
    if (p->token.kind == PTX_TOKEN_NAME)
        type = dtype_by_name(p->token.text, p->token.length);
    if (type == DT_NONE)
        fail(p, here(p), "expected a type");
    next(p);
    return type;
}

/* type: ["flight"] dtype ["*" count] | "map" */
static struct thread_type take_type(struct parser *p)
{
    struct thread_type type = {.dtype = DT_NONE, .count = 1};
    type.in_flight = take_word(p, "flight");
    if (!type.in_flight && take_word(p, "map"))
        return type;
    type.dtype = take_dtype(p);
    if (take_sign(p, '*'))
        type.count = (uint16_t)take_count(p, "the number of elements", 1, MOST_GROUP);
    return type;
}

/* --- operands --- */

/* integer: ["-"] number */
static int64_t take_integer(struct parser *p)
{
    bool negative = take_sign(p, '-');
    if (p->token.kind != PTX_TOKEN_INTEGER)
        fail(p, here(p), "expected an integer");
    int64_t value = (int64_t)p->token.bits;
    next(p);
    return negative ? (int64_t)(0 - (uint64_t)value) : value;
}

/* Notes that the operand begins here. */
static void place(const struct parser *p, struct thread_operand *o)
{
    const struct loc at = here(p);
    o->offset = at.offset;
    o->length = (uint8_t)(at.length < UINT8_MAX ? at.length : UINT8_MAX);
}

/* element: array "[" (value ["+" integer] | integer) "]" */
static struct thread_operand take_element(struct parser *p)
{
    struct thread_operand o = {.kind = THREAD_ELEMENT};
    place(p, &o);
    struct name_entry *entry = name_table_find(&p->objects, p->token.text, p->token.length);
    if (!entry)
        fail(p, here(p), "no array has this name");
    o.object = entry->object;
    next(p);
    expect_sign(p, '[');
    if (at_value(p)) {
        o.value = take_value(p);
        o.integer = take_sign(p, '+') ? take_integer(p) : 0;
    } else {
        o.integer = take_integer(p);
    }
    expect_sign(p, ']');
    return o;
}

static double real_of(const struct ptx_token *t)
{
    double wide;
    float narrow;
    uint32_t bits = (uint32_t)t->bits;
    memcpy(&wide, &t->bits, sizeof wide);
    memcpy(&narrow, &bits, sizeof narrow);
    return t->kind == PTX_TOKEN_FLOAT ? (double)narrow : wide;
}

/* text: "\"" {character | "\\n" | "\\" character} "\"" */
static const char *take_text(struct parser *p)
{
    struct text text;
    text_init(&text, p->arena);
    for (size_t i = 0; i < p->token.length; i++) {
        char c = p->token.text[i];
        if (c == '\\') /* the scanner ends no text after it */
            c = p->token.text[++i] == 'n' ? '\n' : p->token.text[i];
        text_add_char(&text, c);
    }
    next(p);
    return text.length ? text.data : "";
}

/* operand: value | element | text | ["-"] number | "inf" */
static struct thread_operand take_operand(struct parser *p)
{
    struct thread_operand o = {0};
    place(p, &o);
    if (at_value(p)) {
        o.kind = THREAD_VALUE;
        o.value = take_value(p);
        return o;
    }
    bool negative = take_sign(p, '-');
    if (take_word(p, "inf")) {
        o.kind = THREAD_FLOAT;
        o.real = negative ? -__builtin_inf() : __builtin_inf();
    } else if (p->token.kind == PTX_TOKEN_INTEGER) {
        o.kind = THREAD_INTEGER;
        o.integer = take_integer(p);
        if (negative)
            o.integer = (int64_t)(0 - (uint64_t)o.integer);
    } else if (ptx_token_is_number(&p->token)) {
        o.kind = THREAD_FLOAT;
        o.real = negative ? -real_of(&p->token) : real_of(&p->token);
        next(p);
    } else if (p->token.kind == PTX_TOKEN_NAME && !negative) {
        return take_element(p);
    } else if (p->token.kind == PTX_TOKEN_STRING && !negative) {
        o.kind = THREAD_TEXT;
        o.text = take_text(p);
    } else {
        fail(p, here(p), "expected an operand");
    }
    return o;
}

static void take_operands(struct parser *p, struct thread_operation *o)
{
    do
        vec_push(p->arena, &o->operands, take_operand(p));
    while (take_sign(p, ','));
}

/* --- types of results --- */

static struct thread_type result_type(struct parser *p, const struct thread_operation *o, char kind)
{
    struct thread_type type = thread_result_type(o, kind);
    if (type.count == 0)
        fail(p, o->where, "the result has no element, or more than 256");
    return type;
}

/* --- operations --- */

static struct thread_region *take_region(struct parser *p);

/* Gives the results of a loop or an `if` the types of the values that leave it. */
static void type_results(struct parser *p, struct thread_operation *o, const struct scope *s)
{
    if (o->results.count == 0)
        return;
    size_t from = s->leaves && s->leaves->op == THREAD_BREAK_IF;
    if (!s->leaves || s->leaves->operands.count - from != o->results.count)
        fail(p, o->where, "as many results are needed as values leave it");
    for (size_t i = 0; i < o->results.count; i++) {
        const struct thread_operand *x = &s->leaves->operands.data[from + i];
        if (x->kind != THREAD_VALUE)
            fail(p, thread_place_of(x, o->where),
                 "a value is needed, because a constant has no type");
        o->results.data[i]->type = x->value->type;
    }
}

static void enter(struct parser *p, struct scope *s, struct thread_operation *o)
{
    *s = (struct scope){.operation = o, .outer = p->scope};
    p->scope = s;
    if (++p->depth > MOST_DEPTH)
        fail(p, o->where, "regions are nested too deep");
}

static void leave(struct parser *p)
{
    p->scope = p->scope->outer;
    p->depth--;
}

/* if: "if" operand region ["else" region] */
static void take_if(struct parser *p, struct thread_operation *o)
{
    struct scope s;
    vec_push(p->arena, &o->operands, take_operand(p));
    enter(p, &s, o);
    vec_push(p->arena, &o->regions, take_region(p));
    if (take_word(p, "else"))
        vec_push(p->arena, &o->regions, take_region(p));
    leave(p);
    type_results(p, o, &s);
}

/* loop: "loop" ["unroll" n] "(" [value ":" type "=" operand {"," …}] ")" region */
static void take_loop(struct parser *p, struct thread_operation *o)
{
    struct scope s;
    VEC(struct thread_value *) arguments = {0};
    if (take_word(p, "unroll"))
        o->unroll = take_count(p, "the iterations that become one", 2, MOST_UNROLL);
    expect_sign(p, '(');
    while (!at_sign(p, ')')) {
        struct thread_value *v = new_value(p);
        expect_sign(p, ':');
        v->type = take_type(p);
        expect_sign(p, '=');
        vec_push(p->arena, &o->operands, take_operand(p));
        vec_push(p->arena, &arguments, v);
        if (!take_sign(p, ','))
            break;
    }
    expect_sign(p, ')');
    enter(p, &s, o);
    size_t visible = p->visible.count;
    for (size_t i = 0; i < arguments.count; i++)
        show(p, arguments.data[i]);
    struct thread_region *r = take_region(p);
    for (size_t i = 0; i < arguments.count; i++)
        vec_push(p->arena, &r->arguments, arguments.data[i]);
    vec_push(p->arena, &o->regions, r);
    hide(p, visible);
    leave(p);
    type_results(p, o, &s);
}

/* roles: "roles" "{" {"warps" first "," count ["registers" number] region} "}" */
static void take_roles(struct parser *p, struct thread_operation *o)
{
    expect_sign(p, '{');
    while (take_word(p, "warps")) {
        uint32_t first = take_count(p, "the first warp", 0, 31);
        expect_sign(p, ',');
        uint32_t warps = take_count(p, "the number of warps", 1, 32);
        uint32_t registers = take_word(p, "registers") ? take_count(p, "registers", 1, 256) : 0;
        struct scope s;
        enter(p, &s, NULL);
        struct thread_region *r = take_region(p);
        leave(p);
        r->first_warp = first;
        r->warps = warps;
        r->registers = registers;
        vec_push(p->arena, &o->regions, r);
    }
    expect_sign(p, '}');
}

/* Returns the scope that a break, a continue or a yield is about. */
static struct scope *scope_of(struct parser *p, const struct thread_operation *o)
{
    enum thread_opcode wanted = o->op == THREAD_YIELD ? THREAD_IF : THREAD_LOOP;
    struct scope *s = p->scope;
    while (s && s->operation && s->operation->op != wanted && wanted == THREAD_LOOP)
        s = s->outer;
    if (!s || !s->operation || s->operation->op != wanted)
        fail(p, o->where,
             wanted == THREAD_IF ? "`yield` is not in an `if`" : "there is no loop around this");
    return s;
}

static bool leaves_loop(enum thread_opcode op)
{
    return op == THREAD_BREAK || op == THREAD_BREAK_IF;
}

static void take_rest(struct parser *p, struct thread_operation *o)
{
    switch (o->op) {
    case THREAD_IF: take_if(p, o); return;
    case THREAD_LOOP: take_loop(p, o); return;
    case THREAD_ROLES: take_roles(p, o); return;
    default: break;
    }
    bool ends = thread_op_table[o->op].effects == THREAD_CONTROL;
    bool starts =
        at_value(p) || at_sign(p, '-') || at_word(p, "inf") || ptx_token_is_number(&p->token);
    /* the last operation of a region is followed by its brace, and break_if has its predicate */
    if (ends ? starts : thread_op_table[o->op].operands[0] != '\0')
        take_operands(p, o);
    if (leaves_loop(o->op) || o->op == THREAD_YIELD) {
        struct scope *s = scope_of(p, o);
        if (!s->leaves)
            s->leaves = o;
    } else if (o->op == THREAD_CONTINUE) {
        scope_of(p, o);
    }
}

static void take_mnemonic(struct parser *p, struct thread_operation *o)
{
    o->where = here(p);
    o->op = p->token.kind == PTX_TOKEN_NAME ? thread_opcode_of(p->token.text, p->token.length)
                                            : THREAD_OPS;
    if (o->op == THREAD_OPS)
        fail(p, o->where, "expected an operation");
    next(p);
    for (int i = 0; i < thread_op_table[o->op].types; i++) {
        o->types[i] = p->token.kind == PTX_TOKEN_DOT ? dtype_by_name(p->token.text, p->token.length)
                                                     : DT_NONE;
        if (o->types[i] == DT_NONE)
            fail(p, here(p),
                 arena_printf(p->arena, "`%s` needs a type after it, such as `%s.u32`",
                              thread_op_table[o->op].text, thread_op_table[o->op].text));
        next(p);
    }
}

/* operation: [value {"," value} "="] name {"." dtype} (operand {"," operand} | …) */
static struct thread_operation *take_operation(struct parser *p)
{
    struct thread_operation *o = arena_new(p->arena, struct thread_operation);
    while (at_value(p)) {
        vec_push(p->arena, &o->results, new_value(p));
        if (!take_sign(p, ','))
            break;
    }
    if (o->results.count)
        expect_sign(p, '=');
    take_mnemonic(p, o);
    take_rest(p, o);
    const char *results = thread_op_table[o->op].results;
    bool open = o->op == THREAD_IF || o->op == THREAD_LOOP;
    if (!open && o->results.count != strlen(results))
        fail(p, o->where,
             !results[0]   ? "this operation has no result"
             : !results[1] ? "this operation has one result"
                           : "this operation has two results");
    for (size_t i = 0; i < o->results.count && !open; i++)
        o->results.data[i]->type = result_type(p, o, results[i]);
    if (thread_states_count(o->op) && take_sign(p, '*'))
        o->results.data[0]->type.count =
            (uint16_t)take_count(p, "the number of elements", 1, MOST_GROUP);
    for (size_t i = 0; i < o->results.count; i++)
        show(p, o->results.data[i]);
    return o;
}

/* region: "{" {operation} "}" */
static struct thread_region *take_region(struct parser *p)
{
    struct thread_region *r = arena_new(p->arena, struct thread_region);
    size_t visible = p->visible.count;
    expect_sign(p, '{');
    while (!at_sign(p, '}'))
        vec_push(p->arena, &r->operations, take_operation(p));
    next(p);
    hide(p, visible);
    return r;
}

/* --- the function --- */

static struct thread_object *new_object(struct parser *p, enum dtype t)
{
    struct thread_object *o = arena_new(p->arena, struct thread_object);
    o->dtype = t;
    o->where = here(p);
    o->name = take_name(p, "the array's name");
    struct name_entry *entry = name_table_entry(&p->objects, o->name, strlen(o->name));
    if (entry->object)
        fail(p, o->where, "an array has this name already");
    entry->object = o;
    return o;
}

/* table: "table" dtype name "=" number {"," number} */
static void take_table(struct parser *p)
{
    VEC(struct thread_operand) values = {0};
    struct thread_object *o = new_object(p, take_dtype(p));
    expect_sign(p, '=');
    do {
        const struct thread_operand x = take_operand(p);
        if (x.kind != THREAD_INTEGER && x.kind != THREAD_FLOAT)
            fail(p, thread_place_of(&x, o->where), "expected a number");
        vec_push(p->arena, &values, x);
    } while (take_sign(p, ','));
    o->count = (uint32_t)values.count;
    o->values = values.data;
    vec_push(p->arena, &p->function->tables, o);
}

/* local: "local" dtype name "[" count "]" */
static void take_local(struct parser *p)
{
    struct thread_object *o = new_object(p, take_dtype(p));
    expect_sign(p, '[');
    o->count = take_count(p, "the number of elements", 1, UINT32_MAX);
    expect_sign(p, ']');
    o->is_local = true;
    vec_push(p->arena, &p->function->locals, o);
}

/* object: ("shared" dtype | "mbarrier") name "[" count "]" "at" byte ["overlays"] */
static void take_object(struct parser *p, bool is_mbarrier)
{
    struct thread_object *o = new_object(p, is_mbarrier ? DT_NONE : take_dtype(p));
    expect_sign(p, '[');
    o->count = take_count(p, "the number of elements", 1, UINT32_MAX);
    expect_sign(p, ']');
    expect_word(p, "at");
    o->at = take_count(p, "the first byte", 0, UINT32_MAX);
    o->overlays = take_word(p, "overlays");
    vec_push(p->arena, &p->function->objects, o);
}

static struct ptx_target take_target(struct parser *p)
{
    struct ptx_target target;
    if (p->token.kind != PTX_TOKEN_NAME ||
        !ptx_target_parse(p->token.text, p->token.length, &target))
        fail(p, here(p), "expected a target, such as sm_90a");
    next(p);
    return target;
}

/* kernel: "kernel" name "(" [parameter {"," parameter}] ")" "threads" n ["blocks" n]
 *         ["cluster" x "," y "," z] "target" name
 *         "{" {table} {local} {object} {operation} "}"
 * parameter: type value ["multiple" n] */
static void take_kernel(struct parser *p)
{
    struct thread_function *f = p->function;
    expect_word(p, "kernel");
    f->where = here(p);
    f->name = take_name(p, "the kernel's name");
    expect_sign(p, '(');
    while (!at_sign(p, ')')) {
        struct thread_type type = take_type(p);
        struct thread_value *v = new_value(p);
        v->type = type;
        show(p, v);
        if (take_word(p, "multiple"))
            v->divisor = take_count(p, "what divides the parameter", 1, 1 << 30);
        vec_push(p->arena, &f->parameters, v);
        if (!take_sign(p, ','))
            break;
    }
    expect_sign(p, ')');
    expect_word(p, "threads");
    f->threads = take_count(p, "the threads of a block", 1, 1024);
    f->blocks = take_word(p, "blocks") ? take_count(p, "the blocks of a multiprocessor", 1, 32) : 0;
    for (int i = 0; i < 3 && (i ? f->cluster[0] > 0 : take_word(p, "cluster")); i++) {
        if (i)
            expect_sign(p, ',');
        f->cluster[i] = take_count(p, "the blocks of a cluster", 1, 8);
    }
    expect_word(p, "target");
    f->target = take_target(p);
    expect_sign(p, '{');
    while (take_word(p, "table"))
        take_table(p);
    while (take_word(p, "local"))
        take_local(p);
    for (bool is_mbarrier; (is_mbarrier = take_word(p, "mbarrier")) || take_word(p, "shared");)
        take_object(p, is_mbarrier);
    f->body = arena_new(p->arena, struct thread_region);
    while (!at_sign(p, '}'))
        vec_push(p->arena, &f->body->operations, take_operation(p));
    next(p);
    if (p->token.kind != PTX_TOKEN_END)
        fail(p, here(p), "the text goes on after the kernel");
}

struct thread_function *thread_parse(struct arena *a, const struct source *source, struct diag *d)
{
    struct parser *p = arena_new(a, struct parser);
    p->arena = a;
    p->diag = d;
    p->function = arena_new(a, struct thread_function);
    name_table_init(&p->values, a);
    name_table_init(&p->objects, a);
    ptx_scan_start(&p->scanner, source, d);
    if (setjmp(p->failed))
        return NULL;
    next(p);
    take_kernel(p);
    return p->function;
}

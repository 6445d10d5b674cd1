/* Functions and their bodies. PTX ISA, kernel and function directives; control flow.
 *
 *   function  = ( .entry | .func ) [ "(" parameters ")" ] NAME [ "(" parameters ")" ] { directive }
 *             ( body | ";" )
 *   directive = .noreturn | .maxntid N {"," N} | … | .pragma "…" [";"]
 *   body      = "{" { statement } "}"
 *   statement = body | registers | variables | .loc … | .pragma "…" {"," "…"} ";" | instruction
 *             | NAME ":" [targets | prototype]
 *   targets   = ( .branchtargets | .calltargets ) NAME { "," NAME } ";"
 *   prototype = .callprototype [ "(" parameters ")" ] _ [ "(" parameters ")" ] [.noreturn] ";"
 */
#include "ptx/ptx_parser.h"

#include <string.h>

/* --- heads --- */

static bool read_list(struct ptx_parser *p, bool named, bool results, struct ptx_signature *s)
{
    while (!ptx_is_at(p, ')')) {
        struct ptx_variable *v;
        if (!ptx_read_parameter(p, named, &v))
            return false;
        if (results)
            vec_push(p->arena, &s->results, v);
        else
            vec_push(p->arena, &s->parameters, v);
        if (!ptx_accept(p, ','))
            break;
    }
    return ptx_expect(p, ')', "after the parameters");
}

static bool read_signature(struct ptx_parser *p, struct ptx_signature *s, bool named)
{
    return !ptx_accept(p, '(') || read_list(p, named, false, s);
}

static bool read_limit(struct ptx_parser *p, enum ptx_directive directive)
{
    struct ptx_limit limit = {.directive = directive};
    uint64_t number;
    ptx_advance(p);
    while (limit.count < ptx_directives[directive].most) {
        if (!ptx_read_number(p, "a number", UINT32_MAX, &number))
            return false;
        limit.values[limit.count++] = (uint32_t)number;
        if (!ptx_accept(p, ','))
            break;
    }
    vec_push(p->arena, &p->function->limits, limit);
    return true;
}

static bool read_directives(struct ptx_parser *p)
{
    struct ptx_function *f = p->function;
    for (;;) {
        int i = 0;
        while (i < PTX_DIRECTIVE_COUNT && !ptx_is_dot(p, ptx_directives[i].name))
            i++;
        if (i < PTX_DIRECTIVE_COUNT) {
            if (!read_limit(p, (enum ptx_directive)i))
                return false;
        } else if (ptx_accept_dot(p, "noreturn")) {
            f->signature.noreturn = true;
        } else if (ptx_accept_dot(p, "pragma")) {
            do {
                const char *text;
                if (!ptx_read_string(p, &text))
                    return false;
                vec_push(p->arena, &f->pragmas, text);
            } while (ptx_accept(p, ','));
            ptx_accept(p, ';');
        } else {
            return true;
        }
    }
}

/* --- what a name of a function means --- */

static bool same_parameter(const struct ptx_variable *a, const struct ptx_variable *b)
{
    return (a->space == MOD_NONE) == (b->space == MOD_NONE) && a->type == b->type &&
           a->vector == b->vector && ptx_variable_size(a) == ptx_variable_size(b) &&
           ptx_variable_alignment(a) == ptx_variable_alignment(b);
}

/* Returns true if two declarations of a function, or a declaration and the definition, agree. */
static bool same_signature(const struct ptx_function *a, const struct ptx_function *b)
{
    const struct ptx_signature *s = &a->signature, *t = &b->signature;
    if (a->entry != b->entry || s->results.count != t->results.count ||
        s->parameters.count != t->parameters.count)
        return false;
    for (size_t i = 0; i < s->results.count; i++)
        if (!same_parameter(s->results.data[i], t->results.data[i]))
            return false;
    for (size_t i = 0; i < s->parameters.count; i++)
        if (!same_parameter(s->parameters.data[i], t->parameters.data[i]))
            return false;
    return true;
}

/* Returns the function that calls of this name reach: one declared before, or this new one. */
static struct ptx_function *function_named(struct ptx_parser *p, struct ptx_function *f)
{
    struct name_entry *name = name_table_find(&p->globals, f->name, strlen(f->name));
    if (name && name->kind == PTX_NAME_FUNCTION) {
        struct ptx_function *before = name->object;
        if (same_signature(before, f))
            return before;
        diag_error(p->diag, f->where, "`%s` was declared with other parameters or results",
                   f->name);
        diag_note(p->diag, before->where, "it was declared here");
        return NULL;
    }
    struct ptx_function *shared = arena_new(p->arena, struct ptx_function);
    *shared = *f;
    struct ptx_scope *scope = p->scope;
    p->scope = NULL; /* a name of the module */
    name = ptx_declare(p, f->name, f->where, PTX_NAME_FUNCTION, shared);
    p->scope = scope;
    return name ? shared : NULL;
}

static bool finish_declaration(struct ptx_parser *p, struct ptx_function *f)
{
    struct ptx_item item = {.kind = PTX_ITEM_DECLARATION, .declared = f};
    item.function = function_named(p, f);
    vec_push(p->arena, &p->module->items, item);
    return item.function != NULL;
}

/* Replaces a label that refers to one of an outer scope by that label. */
static void settle_operand(struct ptx_operand *o)
{
    if (o->kind == PTX_LABEL)
        while (o->label->same)
            o->label = o->label->same;
}

static void settle_labels(struct ptx_function *f)
{
    for (size_t i = 0; i < f->body.count; i++) {
        struct ptx_statement *s = &f->body.data[i];
        if (s->kind == PTX_AT_INSTRUCTION)
            for (int k = 0; k < s->instruction->operand_count; k++)
                settle_operand(&s->instruction->operands[k]);
        if (s->kind == PTX_AT_TARGETS)
            for (size_t k = 0; k < s->targets->labels.count; k++)
                while (s->targets->labels.data[k]->same)
                    s->targets->labels.data[k] = s->targets->labels.data[k]->same;
    }
    size_t kept = 0;
    for (size_t i = 0; i < f->labels.count; i++)
        if (!f->labels.data[i]->same)
            f->labels.data[kept++] = f->labels.data[i];
    f->labels.count = kept;
}

static bool read_body(struct ptx_parser *p);

static bool finish_definition(struct ptx_parser *p, struct ptx_function *f)
{
    struct ptx_function *shared = function_named(p, f);
    if (!shared)
        return false;
    if (shared->defined) {
        diag_error(p->diag, f->where, "`%s` is defined already", f->name);
        return false;
    }
    p->line = NULL;
    p->inlined.count = 0;
    bool fine = read_body(p);
    settle_labels(f);
    f->to = p->token.offset;
    f->defined = true;
    *shared = *f;
    struct ptx_item item = {.kind = PTX_ITEM_FUNCTION, .function = shared};
    vec_push(p->arena, &p->module->items, item);
    return fine;
}

/* Skips a kernel whose head has an error. The error is within the kernel, so the other kernels
 * can be used (ptx_refuse). */
static bool skip_kernel(struct ptx_parser *p, struct ptx_function *f)
{
    int depth = 0;
    while (p->token.kind != PTX_TOKEN_END && !ptx_is_at(p, '{') && !ptx_is_at(p, ';'))
        ptx_advance(p);
    if (!ptx_is_at(p, '{'))
        return false;
    do {
        depth += ptx_is_at(p, '{') - ptx_is_at(p, '}');
        ptx_advance(p);
    } while (depth > 0 && p->token.kind != PTX_TOKEN_END);
    struct ptx_function *shared = function_named(p, f);
    if (!shared || shared->defined)
        return false;
    f->to = p->token.offset;
    f->defined = true;
    *shared = *f;
    struct ptx_item item = {.kind = PTX_ITEM_FUNCTION, .function = shared};
    vec_push(p->arena, &p->module->items, item);
    return true;
}

static bool read_function(struct ptx_parser *p, struct ptx_function *f)
{
    if (ptx_accept(p, '(') && !read_list(p, true, true, &f->signature))
        return false;
    f->where = ptx_here(p);
    if (!ptx_read_name(p, "the name of a function", &f->name))
        return false;
    if (!read_signature(p, &f->signature, true) || !read_directives(p))
        return f->entry && skip_kernel(p, f);
    if (ptx_accept(p, ';'))
        return finish_declaration(p, f);
    if (!ptx_is_at(p, '{'))
        return ptx_expected(p, "the body of a function");
    return finish_definition(p, f);
}

bool ptx_read_function(struct ptx_parser *p, enum ptx_linkage linkage)
{
    struct ptx_function *f = arena_new(p->arena, struct ptx_function);
    f->linkage = (uint8_t)linkage;
    f->entry = ptx_is_dot(p, "entry");
    f->from = p->token.offset;
    ptx_advance(p);
    p->function = f;
    ptx_enter_scope(p); /* of the parameters */
    bool fine = read_function(p, f);
    p->function = NULL;
    p->scope = NULL;
    p->depth = 0;
    return fine;
}

/* --- statements --- */

static bool read_place(struct ptx_parser *p, uint32_t *file, uint32_t *line, uint32_t *column)
{
    uint64_t numbers[3];
    for (int i = 0; i < 3; i++)
        if (!ptx_read_number(p, "a number of .loc: file, line, column", UINT32_MAX, &numbers[i]))
            return false;
    *file = (uint32_t)numbers[0];
    *line = (uint32_t)numbers[1];
    *column = (uint32_t)numbers[2];
    return true;
}

/* Reads .loc file line column [, function_name label [+ N] [, inlined_at file line column]]. */
static bool read_line(struct ptx_parser *p, struct loc where)
{
    struct ptx_line *line = arena_new(p->arena, struct ptx_line);
    if (!read_place(p, &line->file, &line->line, &line->column))
        return false;
    if (ptx_accept(p, ',')) {
        if (!ptx_accept_word(p, "function_name"))
            return ptx_expected(p, "function_name");
        if (!ptx_read_name(p, "the label of a function's name", &line->function_name) ||
            !ptx_read_offset(p, &line->function_offset))
            return false;
        if (ptx_accept(p, ',')) {
            line->has_call = true;
            if (!ptx_accept_word(p, "inlined_at"))
                return ptx_expected(p, "inlined_at");
            if (!read_place(p, &line->call_file, &line->call_line, &line->call_column))
                return false;
        }
    }
    ptx_link_line(p, line);
    if (line->line) /* 0: the compiler made up the code; the last line stays */
        p->line = line;
    ptx_push(p, (struct ptx_statement){.kind = PTX_AT_LINE, .where = where, .line = line});
    return true;
}

static bool read_pragma(struct ptx_parser *p, struct loc where)
{
    do {
        struct ptx_statement s = {.kind = PTX_AT_PRAGMA, .where = where};
        if (!ptx_read_string(p, &s.pragma))
            return false;
        ptx_push(p, s);
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "after the pragma");
}

static bool read_targets(struct ptx_parser *p, struct ptx_label *label, bool calls)
{
    struct ptx_targets *t = arena_new(p->arena, struct ptx_targets);
    *t = (struct ptx_targets){.name = label, .calls = calls};
    struct loc where = label->where;
    do {
        struct loc at = ptx_here(p);
        const char *name = NULL;
        if (!ptx_read_name(p, calls ? "a function" : "a label", &name))
            return false;
        if (!calls) {
            vec_push(p->arena, &t->labels, ptx_label_named(p, name));
            continue;
        }
        const struct name_entry *found = name_table_find(&p->globals, name, strlen(name));
        if (!found || found->kind != PTX_NAME_FUNCTION) {
            ptx_unknown_name(p, at, name);
            return false;
        }
        vec_push(p->arena, &t->functions, (struct ptx_function *)found->object);
    } while (ptx_accept(p, ','));
    ptx_push(p, (struct ptx_statement){.kind = PTX_AT_TARGETS, .where = where, .targets = t});
    return ptx_expect(p, ';', "after the targets");
}

static bool read_prototype(struct ptx_parser *p, struct ptx_label *label)
{
    struct ptx_prototype *t = arena_new(p->arena, struct ptx_prototype);
    t->name = label;
    if (ptx_accept(p, '(') && !read_list(p, false, true, &t->signature))
        return false;
    if (!ptx_accept_word(p, "_"))
        return ptx_expected(p, "`_`, where a function has its name");
    if (!read_signature(p, &t->signature, false))
        return false;
    t->signature.noreturn = ptx_accept_dot(p, "noreturn");
    ptx_push(
        p, (struct ptx_statement){.kind = PTX_AT_PROTOTYPE, .where = label->where, .prototype = t});
    return ptx_expect(p, ';', "after the prototype");
}

/* Reads a label, or the name of targets or of a prototype. */
static bool read_label(struct ptx_parser *p, struct loc where)
{
    struct ptx_label *label = ptx_label_named(p, ptx_token_text(p));
    ptx_advance(p);
    ptx_advance(p);
    if (!ptx_define_label(p, label, where))
        return false;
    if (ptx_accept_dot(p, "branchtargets"))
        return read_targets(p, label, false);
    if (ptx_accept_dot(p, "calltargets"))
        return read_targets(p, label, true);
    if (ptx_accept_dot(p, "callprototype"))
        return read_prototype(p, label);
    ptx_push(p, (struct ptx_statement){.kind = PTX_AT_LABEL, .where = where, .label = label});
    return true;
}

static bool is_label(const struct ptx_parser *p)
{
    return p->token.kind == PTX_TOKEN_NAME && ptx_is_ahead(p, ':');
}

static bool read_directive(struct ptx_parser *p, struct loc where)
{
    if (ptx_accept_dot(p, "reg"))
        return ptx_read_registers(p);
    if (ptx_accept_dot(p, "loc"))
        return read_line(p, where);
    if (ptx_accept_dot(p, "pragma"))
        return read_pragma(p, where);
    if (ptx_space_here(p))
        return ptx_read_variables(p, PTX_LOCAL);
    return ptx_expected(p, "an instruction or a declaration");
}

static bool read_block(struct ptx_parser *p, struct loc where);

static bool read_statement(struct ptx_parser *p)
{
    struct loc where = ptx_here(p);
    if (ptx_accept(p, ';'))
        return true;
    if (ptx_is_at(p, '{'))
        return read_block(p, where);
    if (is_label(p))
        return read_label(p, where);
    if (p->token.kind == PTX_TOKEN_DOT)
        return read_directive(p, where);
    return ptx_read_instruction(p);
}

/* Reads statements up to the closing brace, which it does not take. Reports and leaves out the
 * statements that cannot be read. */
static void read_statements(struct ptx_parser *p)
{
    while (!ptx_is_at(p, '}')) {
        if (p->token.kind == PTX_TOKEN_END || diag_full(p->diag)) {
            diag_error(p->diag, p->scope->open, "this brace is not closed");
            return;
        }
        uint32_t before = p->token.offset;
        if (read_statement(p))
            continue;
        ptx_skip_statement(p);
        if (p->token.offset == before && !ptx_is_at(p, '}'))
            ptx_advance(p);
    }
}

static bool read_block(struct ptx_parser *p, struct loc where)
{
    if (!ptx_open_block(p, where))
        return false;
    ptx_advance(p);
    read_statements(p);
    ptx_close_block(p);
    return ptx_expect(p, '}', "after the statements");
}

/* Reads a body. The outermost braces share the scope of the parameters, and labels are resolved
 * at the closing brace. Reports errors within the body and returns false only if the text after
 * the body cannot be read. */
static bool read_body(struct ptx_parser *p)
{
    p->scope->open = ptx_here(p);
    ptx_advance(p);
    read_statements(p);
    ptx_leave_scope(p);
    return ptx_expect(p, '}', "after the body of a function");
}

/* The printer: prints Tile IR as the language itself.
 *
 * The printed text compiles again to the same kernel, which prints the same text. So it spells out
 * everything that the checker would otherwise choose: shapes of iota(), offsets of planned shared
 * tiles, casts. Barriers that the static check must not count are written `sync() added`. Two facts
 * appear only in comments, because they do not change the meaning: other statements that the
 * compiler added, and the bytes of shared memory. */
#include "base/text.h"
#include "tile/print_own.h"
#include "tile/products.h"
#include "tile/rows.h"

#include <string.h>

enum { INDENT = 4, COLUMNS = 100 };

/* --- declarations --- */

static void print_extents(struct text *t, const struct type *type)
{
    for (int i = 0; i < type->rank; i++)
        text_printf(t, "[%lld]", (long long)type->extent[i]);
}

static void print_view(struct text *t, const struct sym *s)
{
    text_printf(t, "global %s %s", dtype_table[s->type.dtype].name, s->name);
    int rank = s->type.rank;
    for (int i = 0; i < rank; i++) {
        text_add_char(t, '[');
        print_settled(t, s->dims[i], PREC_ANY, WANT_INTEGER);
        text_add_char(t, ']');
    }
    if (s->base)
        text_printf(t, " = %s", s->base->name);
    else if (s->zeroed)
        text_add(t, s->clean ? " = 0 clean" : " = 0");
    if (s->base && s->base_offset) {
        text_add(t, " + ");
        print_settled(t, s->base_offset, op_precedence(OP_MUL), WANT_INTEGER);
    }
    if (rank > 0 && s->strides[0]) {
        text_add(t, " strides(");
        for (int i = 0; i < rank; i++) {
            text_add(t, i > 0 ? ", " : "");
            print_settled(t, s->strides[i], PREC_ANY, WANT_INTEGER);
        }
        text_add_char(t, ')');
    }
}

/* Prints everything before the name. A const scalar of known value is printed without `const`,
 * because it would become a constant of the module when compiled again. */
static void print_storage(struct text *t, const struct stmt *s)
{
    const struct sym *sym = s->sym;
    struct literal known;
    bool is_const = sym->is_const && s->value &&
                    (sym->storage != ST_SCALAR || !eval_scalar(s->value, NULL, &known));
    if (sym->storage == ST_SHARED)
        text_add(t, "shared ");
    else if (sym->storage == ST_REG)
        text_add(t, "reg ");
    else if (is_const)
        text_add(t, "const ");
    text_printf(t, "%s ", dtype_table[sym->type.dtype].name);
}

/* Prints the name and everything after it. */
static void print_declared(struct text *t, const struct stmt *s)
{
    text_add(t, s->sym->name);
    print_extents(t, &s->sym->type);
    if (s->sym->storage == ST_SHARED && s->sym->offset >= 0)
        text_printf(t, " at(%lld)", (long long)s->sym->offset);
    if (s->value) {
        text_add(t, " = ");
        print_expr(t, s->value, PREC_ANY, (int)s->sym->type.dtype);
    }
}

static void print_mbarrier(struct text *t, const struct sym *s)
{
    text_printf(t, "mbarrier %s", s->name);
    print_extents(t, &s->type);
    text_printf(t, "(%d)%s", s->arrivals, s->ready ? " ready" : "");
    if (s->offset >= 0)
        text_printf(t, " at(%lld)", (long long)s->offset);
}

static void print_decl(struct text *t, const struct stmt *s)
{
    if (s->sym->storage == ST_MBARRIER) {
        print_mbarrier(t, s->sym);
        return;
    }
    if (s->sym->storage == ST_VIEW) {
        print_view(t, s->sym);
        return;
    }
    print_storage(t, s);
    print_declared(t, s);
}

/* --- statements --- */

/* Returns true for `x = x + e`, which is printed as it was most likely written: `x += e`. */
static bool is_compound(const struct stmt *s)
{
    enum op op = s->value->op;
    if (op_table[op].form != FORM_INFIX)
        return false;
    enum op_class class = op_table[op].class;
    return (class == CLASS_ARITH || class == CLASS_BITWISE) && !s->value->args[0]->by &&
           expr_same(s->target, s->value->args[0]);
}

static void print_dot_async(struct text *t, const struct stmt *s)
{
    text_printf(t, "%s(", op_table[OP_DOT_ASYNC].text);
    print_expr(t, s->target, PREC_ANY, WANT_DEFAULT);
    for (int i = 0; i < 2; i++) {
        text_add(t, ", ");
        print_expr(t, s->value->args[i], PREC_ANY, WANT_DEFAULT);
    }
    text_add_char(t, ')');
    if (s->value->by)
        by_print(t, s->value->by);
    if (s->promoted == SUM_IN_UNIT)
        text_add(t, " sum(unit)");
    else if (s->promoted)
        text_printf(t, " sum(promoted %d)", s->promoted);
}

static void print_assign(struct text *t, const struct stmt *s)
{
    if (s->in_background) {
        print_dot_async(t, s);
        return;
    }
    print_expr(t, s->target, PREC_ANY, WANT_DEFAULT);
    if (is_compound(s)) {
        text_printf(t, " %s= ", op_table[s->value->op].text);
        print_expr(t, s->value->args[1], PREC_ANY, print_operand_want(s->value, 1, WANT_DEFAULT));
        return;
    }
    text_add(t, " = ");
    print_expr(t, s->value, PREC_ANY, (int)s->target->type.dtype);
}

static void print_ensures(struct text *t, const struct stmt *s)
{
    text_add(t, "ensures ");
    for (int i = 0; i < s->overs; i++) {
        text_printf(t, "%s%s %s < ", i == 0 ? "for (" : ", ",
                    dtype_table[s->over[i]->type.dtype].name, s->over[i]->name);
        print_settled(t, s->bound[i], op_precedence(OP_SHL), WANT_INTEGER);
        text_add(t, i == s->overs - 1 ? ") " : "");
    }
    print_expr(t, s->target, PREC_PRIMARY, WANT_DEFAULT);
    text_add(t, " == ");
    print_expr(t, s->value, op_precedence(OP_EQ) + 1, (int)s->target->type.dtype);
}

/* Prints a statement that has a line of its own, without the end of the line. */
static void print_simple(struct text *t, const struct stmt *s)
{
    switch (s->kind) {
    case STMT_DECL: print_decl(t, s); break;
    case STMT_ASSIGN: print_assign(t, s); break;
    case STMT_ASYNC_COPY:
        text_add(t, "async");
        if (s->barrier) {
            text_add_char(t, '(');
            print_expr(t, s->barrier, PREC_ANY, WANT_DEFAULT);
            text_add_char(t, ')');
        }
        text_add_char(t, ' ');
        print_expr(t, s->target, PREC_ANY, WANT_DEFAULT);
        text_add(t, " = ");
        print_expr(t, s->value, PREC_ANY, WANT_DEFAULT);
        if (s->multicast) {
            text_add(t, " multicast(");
            print_settled(t, s->multicast, PREC_ANY, WANT_INTEGER);
            text_add_char(t, ')');
        }
        if (s->hint)
            text_printf(t, " hint(%s)", s->hint);
        break;
    case STMT_EFFECT:
        print_expr(t, s->value, PREC_ANY, WANT_DEFAULT);
        text_add(t, s->uncredited ? " added" : "");
        break;
    case STMT_BREAK: text_add(t, "break"); break;
    case STMT_CONTINUE: text_add(t, "continue"); break;
    case STMT_RETURN: text_add(t, "return"); break;
    case STMT_ENSURES: print_ensures(t, s); break;
    default: break;
    }
}

static void print_indent(struct text *t, int indent)
{
    for (int i = 0; i < indent * INDENT; i++)
        text_add_char(t, ' ');
}

/* The mark of statements that the compiler added. A run of them has one mark, on its first line,
 * with their number. If the whole body of a marked statement was added too, the mark covers it. */
struct marking {
    int run;     /* number of statements that the mark on this line covers; 0: the line has no
                  * mark */
    bool around; /* the mark of an enclosing statement covers the body too */
};

static void add_mark(struct text *t, int run)
{
    if (run > 0)
        text_add(t, " // added by the compiler");
    if (run > 1)
        text_printf(t, run == 2 ? ", as is the next statement" : ", as are the next %d statements",
                    run - 1);
}

static bool all_added(const struct stmt *first)
{
    for (const struct stmt *s = first; s; s = s->next)
        if (!s->added || !all_added(s->body) || !all_added(s->otherwise))
            return false;
    return true;
}

static bool is_all_added(const struct stmt *s)
{
    return s->added && all_added(s->body) && all_added(s->otherwise);
}

/* Returns the marking of a statement that no earlier mark covers. */
static struct marking marking_of(const struct stmt *s)
{
    int run = s->added;
    if (is_all_added(s))
        for (const struct stmt *next = s->next; next && is_all_added(next); next = next->next)
            run++;
    return (struct marking){run, is_all_added(s)};
}

/* The text of the statements, and a list of their lines; NULL: no list is wanted. */
struct printer {
    struct text *out;
    struct printed_lines *lines;
    int line;        /* present line of the text, from 1 */
    bool in_product; /* in loops whose sums of products were printed above them */
};

static void end_line(struct printer *p)
{
    text_add_char(p->out, '\n');
    p->line++;
}

static void print_stmt(struct printer *p, const struct stmt *s, int indent, struct marking m);

static void print_list(struct printer *p, const struct stmt *first, int indent, bool around)
{
    struct marking m = {0};
    int marked = 0; /* number of following statements that an earlier mark covers */
    for (const struct stmt *s = first; s; s = s->next) {
        m = around || marked > 0 ? (struct marking){0, true} : marking_of(s);
        print_stmt(p, s, indent, m);
        marked = marked > 0 ? marked - 1 : m.run > 1 ? m.run - 1 : 0;
    }
}

/* Prints " {", the body, and "}" without the end of the line. */
static void print_body(struct printer *p, const struct stmt *body, int indent, struct marking m)
{
    text_add(p->out, "{");
    add_mark(p->out, m.run);
    end_line(p);
    print_list(p, body, indent + 1, m.around);
    print_indent(p->out, indent);
    text_add_char(p->out, '}');
}

static void print_if(struct printer *p, const struct stmt *s, int indent, struct marking m)
{
    text_add(p->out, "if (");
    print_expr(p->out, s->condition, PREC_ANY, WANT_DEFAULT);
    text_add(p->out, ") ");
    print_body(p, s->body, indent, m);
    const struct stmt *otherwise = s->otherwise;
    if (!otherwise)
        return;
    m.run = 0;
    text_add(p->out, " else ");
    if (otherwise->kind == STMT_IF && !otherwise->next)
        print_if(p, otherwise, indent, m.around ? m : marking_of(otherwise));
    else
        print_body(p, otherwise, indent, m);
}

static void print_for_head(struct text *t, const struct stmt *s)
{
    if (s->stages > 0)
        text_printf(t, "pipeline(%d) ", s->stages);
    if (s->unroll == UNROLL_FULL)
        text_add(t, "unroll ");
    else if (s->unroll != UNROLL_NONE)
        text_printf(t, "unroll(%d) ", s->unroll);
    text_add(t, "for (");
    for (const struct stmt *init = s->init; init; init = init->next) {
        if (init != s->init)
            text_add(t, ", ");
        if (init->kind != STMT_DECL)
            print_simple(t, init);
        else if (init == s->init)
            print_decl(t, init);
        else
            print_declared(t, init); /* one declaration: they share a type */
    }
    text_add_char(t, ';');
    if (s->condition) {
        text_add_char(t, ' ');
        print_expr(t, s->condition, PREC_ANY, WANT_DEFAULT);
    }
    text_add_char(t, ';');
    for (const struct stmt *step = s->step; step; step = step->next) {
        text_add(t, step == s->step ? " " : ", ");
        print_simple(t, step);
    }
    text_add(t, ") ");
}

static void note_line(struct printer *p, const struct stmt *s)
{
    struct printed_line line = {p->line, s->loc, s->added || s->uncredited};
    if (p->lines)
        vec_push(p->out->arena, &p->lines->list, line);
}

/* Prints the sums of the loops above them, a line each; inner loops are not marked again. */
static void print_products(struct printer *p, const struct products *of, int indent)
{
    int prec = op_precedence(OP_MUL);
    for (int i = 0; i < of->sums; i++) {
        const struct product_sum *s = &of->sum[i];
        text_add(p->out, "// product: ");
        print_expr(p->out, s->target, PREC_ANY, WANT_DEFAULT);
        text_add(p->out, " += ");
        print_expr(p->out, s->factor[0].value, prec, (int)s->target->type.dtype);
        text_add(p->out, " * ");
        print_expr(p->out, s->factor[1].value, prec + 1, (int)s->target->type.dtype);
        for (int l = 0; l < s->loops; l++)
            text_printf(p->out, "%s%s", l == 0 ? ", over " : ", ", of->loop[s->loop[l]].sym->name);
        end_line(p);
        print_indent(p->out, indent);
    }
}

static void print_for(struct printer *p, const struct stmt *s, int indent, struct marking m)
{
    bool outermost = s->products && !p->in_product;
    if (outermost)
        print_products(p, s->products, indent);
    p->in_product |= outermost;
    note_line(p, s);
    print_for_head(p->out, s);
    print_body(p, s->body, indent, m);
    p->in_product &= !outermost;
}

static void print_while(struct printer *p, const struct stmt *s, int indent, struct marking m)
{
    struct text *t = p->out;
    if (s->is_do) {
        text_add(t, "do ");
        print_body(p, s->body, indent, m);
        text_add_char(t, ' ');
    }
    text_add(t, "while (");
    print_expr(t, s->condition, PREC_ANY, WANT_DEFAULT);
    text_add(t, s->is_do ? ");" : ") ");
    if (!s->is_do)
        print_body(p, s->body, indent, m);
}

static void print_role_head(struct text *t, const struct role *r)
{
    text_printf(t, "warps(%d +: %d) ", r->first, r->warps);
    if (r->replica)
        text_printf(t, "for (i32 %s < %d) ", r->replica->name, r->replicas);
    if (r->registers > 0)
        text_printf(t, "regs(%d) ", r->registers);
}

static void print_row_mark(struct printer *p, const struct row_mark *row, int indent)
{
    print_indent(p->out, indent);
    if (row->rule == ROW_QUOTIENTS) {
        text_add(p->out, "// quotients of powers");
    } else {
        text_add(p->out, "// in one pass with ");
        print_expr(p->out, row->sum, PREC_ANY, WANT_DEFAULT);
    }
    end_line(p);
}

static void print_stmt(struct printer *p, const struct stmt *s, int indent, struct marking m)
{
    if (s->row)
        print_row_mark(p, s->row, indent);
    if (s->kind != STMT_FOR)
        note_line(p, s);
    print_indent(p->out, indent);
    switch (s->kind) {
    case STMT_IF: print_if(p, s, indent, m); break;
    case STMT_FOR: print_for(p, s, indent, m); break;
    case STMT_ROLE:
        print_role_head(p->out, s->role);
        print_body(p, s->body, indent, m);
        break;
    case STMT_ONE_THREAD:
        text_add(p->out, "one_thread ");
        print_body(p, s->body, indent, m);
        break;
    case STMT_WHILE: print_while(p, s, indent, m); break;
    case STMT_BLOCK: print_body(p, s->body, indent, m); break;
    default:
        print_simple(p->out, s);
        text_add_char(p->out, ';');
        add_mark(p->out, m.run);
        break;
    }
    end_line(p);
}

/* Prints s alone, not s->next. */
void stmt_print(struct text *out, const struct stmt *s, int indent)
{
    struct printer p = {.out = out};
    print_stmt(&p, s, indent, (struct marking){.run = s->added, .around = is_all_added(s)});
}

/* --- kernels --- */

struct used_constants {
    struct arena *arena;
    VEC(const struct sym *) list;
};

static void note_constant(void *user, struct expr **at)
{
    struct used_constants *used = user;
    const struct sym *s = (*at)->op == OP_REF || (*at)->op == OP_LOOKUP ? (*at)->sym : NULL;
    if (!s || (s->storage != ST_CONST && s->storage != ST_TABLE))
        return;
    for (size_t i = 0; i < used->list.count; i++)
        if (used->list.data[i] == s)
            return;
    vec_push(used->arena, &used->list, s);
}

static void note_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, note_constant, user);
}

static void note_statement(void *user, struct stmt *s)
{
    stmt_expressions(s, note_root, user);
    if (s->kind != STMT_DECL || s->sym->storage != ST_VIEW)
        return;
    for (int i = 0; i < s->sym->type.rank; i++) {
        expr_walk(&s->sym->dims[i], note_constant, user);
        expr_walk(&s->sym->strides[i], note_constant, user);
    }
    expr_walk(&s->sym->base_offset, note_constant, user);
}

/* Prints const f32 T[16] = {0.0, 1.0, …}; */
static void print_table(struct text *t, const struct sym *s)
{
    text_printf(t, "const %s %s[%lld] = {", dtype_table[s->type.dtype].name, s->name,
                (long long)s->type.extent[0]);
    size_t line = t->length;
    for (int64_t i = 0; i < s->type.extent[0]; i++) {
        struct expr value = {
            .op = OP_LITERAL, .type = type_scalar(s->type.dtype), .literal = s->table[i]};
        bool breaks = t->length - line > COLUMNS - 30;
        text_add(t, i == 0 ? "" : breaks ? ",\n    " : ", ");
        if (breaks)
            line = t->length;
        print_expr(t, &value, PREC_ANY, (int)s->type.dtype);
    }
    text_add(t, "};\n");
}

/* Prints `const` lines for the constants that the kernel still names, in the order of their
 * declaration. */
static void print_constants(struct text *t, const struct kernel *k)
{
    struct used_constants used = {.arena = k->arena};
    for (int axis = 0; axis < 3; axis++) {
        struct expr *extent = k->grid[axis];
        expr_walk(&extent, note_constant, &used);
    }
    for (const struct param *p = k->params; p; p = p->next)
        if (!p->sym->has_value)
            expr_walk(&p->sym->derived, note_constant, &used);
    stmt_walk(k->body, note_statement, &used);
    for (const struct sym *s = k->symbols; s; s = s->next)
        for (size_t i = 0; i < used.list.count; i++) {
            if (used.list.data[i] != s)
                continue;
            if (s->storage == ST_TABLE) {
                print_table(t, s);
                continue;
            }
            struct expr value = {
                .op = OP_LITERAL, .type = type_scalar(s->type.dtype), .literal = s->value};
            text_printf(t, "const %s %s = ", dtype_table[s->type.dtype].name, s->name);
            print_expr(t, &value, PREC_ANY, (int)s->type.dtype);
            text_add(t, ";\n");
        }
    if (used.list.count > 0)
        text_add_char(t, '\n');
}

static void print_param(struct text *t, const struct sym *s)
{
    if (s->is_static)
        text_add(t, "static ");
    if (s->is_pointer && s->is_const)
        text_add(t, "const ");
    text_printf(t, "%s %s%s", dtype_table[s->type.dtype].name, s->is_pointer ? "*" : "", s->name);
    if (s->derived && !s->has_value) {
        text_add(t, " = ");
        print_settled(t, s->derived, PREC_ANY, WANT_INTEGER);
    }
    if (!s->has_default && !(s->is_static && s->has_value))
        return;
    struct expr value = {.op = OP_LITERAL, .type = type_scalar(s->type.dtype), .literal = s->value};
    text_add(t, " = ");
    print_expr(t, &value, PREC_ANY, (int)s->type.dtype);
}

/* Prints the parameters; breaks the line before one that would pass the last column. */
static void print_params(struct text *t, const struct kernel *k, size_t line_start)
{
    size_t open = t->length - line_start;
    for (const struct param *p = k->params; p; p = p->next) {
        if (p->sym->device)
            continue; /* the text says `device.sms` */
        struct text one;
        text_init(&one, k->arena);
        print_param(&one, p->sym);
        if (p != k->params) {
            bool fits = t->length - line_start + 2 + one.length + 1 <= COLUMNS;
            text_add(t, fits ? ", " : ",\n");
            if (!fits) {
                line_start = t->length;
                for (size_t i = 0; i < open; i++)
                    text_add_char(t, ' ');
            }
        }
        text_add_n(t, one.data, one.length);
    }
}

static void print_attributes(struct text *t, const struct kernel *k)
{
    int last = 2;
    while (last > 0 && !k->grid[last])
        last--;
    text_add(t, "    grid(");
    for (int axis = 0; axis <= last; axis++) {
        text_add(t, axis > 0 ? ", " : "");
        if (k->grid[axis])
            print_settled(t, k->grid[axis], PREC_ANY, WANT_INTEGER);
        else
            text_add_char(t, '1');
    }
    if (kernel_thread_level(k)) {
        text_printf(t, ") threads(%d", k->threads[0]);
        if (k->threads[1] > 1 || k->threads[2] > 1)
            text_printf(t, ", %d", k->threads[1]);
        if (k->threads[2] > 1)
            text_printf(t, ", %d", k->threads[2]);
        text_add_char(t, ')');
    } else {
        text_printf(t, ") warps(%d)", k->warps);
    }
    if (k->cluster[0] > 0) {
        int axes = k->cluster[2] > 1 ? 3 : k->cluster[1] > 1 ? 2 : 1;
        for (int axis = 0; axis < axes; axis++)
            text_printf(t, "%s%d", axis ? ", " : " cluster(", k->cluster[axis]);
        text_add_char(t, ')');
    }
    if (k->resident >= 0)
        text_printf(t, " resident(%d)", k->resident);
    text_add(t, k->cooperative ? " cooperative" : "");
    if (k->target)
        text_printf(t, " target(%s)", k->target);
    text_add_char(t, '\n');
}

/* Prints the bytes of tiles that a pipeline stages. The plan has each once; the pipeline makes
 * one for each stage. */
static void print_staged(void *user, struct stmt *s)
{
    long long bytes = 0;
    for (const struct stmt *d = s->stages > 1 ? s->body : NULL; d; d = d->next) {
        const struct stmt *inner = d->kind == STMT_BLOCK ? d->body : d;
        for (; inner; inner = d->kind == STMT_BLOCK ? inner->next : NULL)
            if (inner->kind == STMT_DECL && inner->sym->staged)
                bytes += (long long)type_bytes(&inner->sym->type);
    }
    if (bytes > 0)
        text_printf(user, ", %lld of them staged: times %d when pipelined", bytes, s->stages);
}

static void print_shared_bytes(struct text *out, const struct kernel *k)
{
    text_printf(out, "// %lld bytes of shared memory", (long long)k->shared_bytes);
    stmt_walk(k->body, print_staged, out);
    text_add_char(out, '\n');
}

static int lines_of(const struct text *t)
{
    int lines = 1;
    for (size_t i = 0; i < t->length; i++)
        lines += t->data[i] == '\n';
    return lines;
}

void kernel_print(struct text *out, const struct kernel *k)
{
    kernel_print_lines(out, k, NULL);
}

void kernel_print_lines(struct text *out, const struct kernel *k, struct printed_lines *lines)
{
    print_constants(out, k);
    if (k->planned && k->shared_bytes > 0)
        print_shared_bytes(out, k);
    size_t line_start = out->length;
    text_printf(out, "kernel %s(", k->name);
    print_params(out, k, line_start);
    text_add(out, ")\n");
    print_attributes(out, k);
    text_add(out, "{\n");
    struct printer p = {.out = out, .lines = lines, .line = lines ? lines_of(out) : 0};
    print_list(&p, k->body, 1, false);
    text_add(out, "}\n");
}

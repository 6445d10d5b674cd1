/* The reasons for which a program does not take the engine's fastest ways (slow_paths.def). The
 * parts of the compiler that decide note them; here they are collected and put into words. */
#include "cpu/compile/compile.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static bool same_place(struct loc a, struct loc b)
{
    return a.source == b.source && a.offset == b.offset;
}

void compile_note_slow(struct compiler *c, enum cpu_slow slow, struct loc loc, struct loc cause,
                       const char *name)
{
    if (c->plain)
        return;
    for (size_t i = 0; i < c->slow.count; i++) {
        const struct cpu_slow_path *s = &c->slow.data[i];
        bool same_name = s->name == name || (s->name && name && strcmp(s->name, name) == 0);
        if (s->slow == slow && same_place(s->loc, loc) && same_name)
            return;
    }
    vec_push(c->arena, &c->slow, ((struct cpu_slow_path){slow, loc, cause, name}));
}

/* --- operands of products --- */

/* Returns the tile that the operand names or converts, if the tile has computed values; else the
 * operand. So `dot((T) e, …)` has one reason for all types T. */
static const struct expr *computed_tile(const struct compiler *c, const struct expr *operand)
{
    const struct expr *tile = operand->op == OP_CAST ? operand->args[0] : operand;
    const struct packed_use *use = packed_use_of(c, tile);
    return use && use->refused && use->why == CPU_SLOW_TILE_COMPUTED ? tile : operand;
}

static void note_operand(struct compiler *c, const struct expr *dot, int index)
{
    const struct expr *operand = dot_tile(dot, index), *tile = computed_tile(c, operand);
    const struct packed_use *use = packed_use_of(c, tile);
    const char *name = tile->op == OP_REF || tile->op == OP_ACCESS ? tile->sym->written : NULL;
    if (use && use->tile)
        return;
    if (!packed_takes_type(c, dot, operand))
        compile_note_slow(c, CPU_SLOW_OPERAND_TYPE, dot->loc, tile->loc,
                          name ? name : "the operand");
    else if (!use && tile->op == OP_ACCESS && tile->sym->storage == ST_VIEW)
        compile_note_slow(c, CPU_SLOW_OPERAND_VIEW, dot->loc, tile->loc, name);
    else if (!use)
        compile_note_slow(c, CPU_SLOW_OPERAND_COMPUTED, dot->loc, tile->loc, NULL);
    else if (use->refused)
        compile_note_slow(c, use->why, dot->loc, use->why_at, name);
}

static void note_dot(void *user, struct expr **at)
{
    const struct expr *e = *at;
    if (e->op != OP_DOT || e->type.rank != 2)
        return;
    note_operand(user, e, 0);
    note_operand(user, e, 1);
}

static void note_root(void *user, struct expr **root, bool is_target)
{
    (void)is_target;
    expr_walk(root, note_dot, user);
}

static void note_stmt(void *user, struct stmt *s)
{
    if (s->kind != STMT_ENSURES)
        stmt_expressions(s, note_root, user);
}

void compile_slow_operands(struct compiler *c)
{
    if (!c->plain && c->lanes == 1)
        stmt_walk(c->kernel->body, note_stmt, c);
}

/* --- sums of products --- */

static bool both_packed(const struct compiler *c, const struct expr *dot)
{
    return packed_tile_of(c, dot_tile(dot, 0)) && packed_tile_of(c, dot_tile(dot, 1));
}

/* Returns the statement of the loop, other than `s`, that names the sum; NULL: none. */
static const struct stmt *other_mention(const struct stmt *loop, const struct stmt *s,
                                        const struct sym *sum)
{
    for (const struct stmt *t = loop->body; t; t = t->next) {
        struct stmt alone = *t;
        alone.next = NULL;
        if (t != s && stmt_mentions(&alone, sum) > 0)
            return t;
    }
    return NULL;
}

static const struct expr *without_cast(const struct expr *e)
{
    return e->op == OP_CAST ? e->args[0] : e;
}

/* Notes why the products of a loop are not deferred, as compile_may_defer decides. */
static void note_sum(struct compiler *c, const struct stmt *loop, const struct stmt *s)
{
    const struct expr *dot = s->kind == STMT_ASSIGN ? without_cast(s->value) : NULL;
    if (!dot || s->target->op != OP_REF || dot->op != OP_DOT || dot->count < 3 ||
        dot->type.rank != 2 || !both_packed(c, dot))
        return;
    const struct expr *sum = without_cast(dot->args[2]);
    if (sum->op != OP_REF || sum->sym != s->target->sym)
        return;
    const struct stmt *other = other_mention(loop, s, sum->sym);
    if (routine_compute_dtype(routine_compute_of(sum->type.dtype)) != sum->type.dtype)
        compile_note_slow(c, CPU_SLOW_SUM_TYPE, s->loc, sum->loc, sum->sym->written);
    else if (other && !compile_may_defer(c, loop, s))
        compile_note_slow(c, CPU_SLOW_SUM_READ, s->loc, other->loc, sum->sym->written);
}

static void note_loop(void *user, struct stmt *loop)
{
    if (loop->kind != STMT_FOR && loop->kind != STMT_WHILE)
        return;
    for (const struct stmt *s = loop->body; s; s = s->next)
        note_sum(user, loop, s);
}

/* Returns whether the list adds a product to a variable, also if it does so under a condition. */
static bool adds_product(const struct stmt *first)
{
    for (const struct stmt *s = first; s; s = s->next) {
        const struct expr *e = s->kind == STMT_ASSIGN ? s->value : NULL;
        bool holds = s->kind == STMT_BLOCK || s->kind == STMT_IF;
        if (holds && (adds_product(s->body) || adds_product(s->otherwise)))
            return true;
        if (e && e->op == OP_FMA && expr_same(e->args[2], s->target))
            return true;
    }
    return false;
}

bool compile_slow_is_sum_of_products(const struct stmt *loop)
{
    return adds_product(loop->body);
}

/* --- the program --- */

static int in_text(const void *a, const void *b)
{
    const struct cpu_slow_path *x = a, *y = b;
    if (x->loc.offset != y->loc.offset)
        return x->loc.offset < y->loc.offset ? -1 : 1;
    return x->slow < y->slow ? -1 : x->slow > y->slow;
}

static bool has_products(const struct cpu_program *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (p->code[i].step == step_dot)
            return true;
    return false;
}

void compile_slow_program(struct compiler *c)
{
    struct cpu_program *p = c->program;
    if (!c->plain && c->lanes == 1)
        stmt_walk(c->kernel->body, note_loop, c);
    const struct instr *obstacle = row_blocks_obstacle(p->code);
    if (p->row_chain_count > 0 && !has_products(p) && obstacle)
        compile_note_slow(c, CPU_SLOW_ROWS_STEPS, c->kernel->loc, obstacle->loc, NULL);
    if (c->slow.count > 1)
        qsort(c->slow.data, c->slow.count, sizeof *c->slow.data, in_text);
    p->slow = c->slow.data;
    p->slow_count = c->slow.count;
}

/* --- words --- */

struct slow_words {
    const char *code, *reason, *way_out;
};

static const struct slow_words *words_of(enum cpu_slow slow)
{
    static const struct slow_words words[] = {
#define SLOW(id, code, reason, way_out) {code, reason, way_out},
#include "cpu/slow_paths.def"
#undef SLOW
    };
    return &words[slow];
}

const struct cpu_slow_path *cpu_slow_path_at(const struct cpu_program *p, size_t index)
{
    return index < p->slow_count ? &p->slow[index] : NULL;
}

const char *cpu_slow_code(enum cpu_slow slow)
{
    return words_of(slow)->code;
}

const char *cpu_slow_way_out(const struct cpu_slow_path *s)
{
    return words_of(s->slow)->way_out;
}

const char *cpu_slow_reason(struct arena *a, const struct cpu_slow_path *s)
{
    struct text out;
    int line = 0, column = 0;
    text_init(&out, a);
    if (s->cause.source)
        loc_line_column(s->cause, &line, &column);
    for (const char *at = words_of(s->slow)->reason; *at;) {
        size_t plain = strcspn(at, "{");
        text_printf(&out, "%.*s", (int)plain, at);
        at += plain;
        if (!*at)
            break;
        if (strncmp(at, "{line}", strlen("{line}")) == 0)
            text_printf(&out, "%d", line);
        else
            text_add(&out, s->name ? s->name : "");
        at += strcspn(at, "}");
        at += *at == '}';
    }
    return out.data;
}

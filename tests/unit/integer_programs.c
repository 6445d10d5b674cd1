#include "integer_programs.h"

#include "base/text.h"
#include "tilewright_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>

/* --- as text --- */

static void write_literal(struct text *out, enum dtype t, int64_t v)
{
    const char *name = dtype_table[t].name;
    if (t == DT_BOOL)
        text_add(out, v ? "true" : "false");
    else if (v == INT64_MIN && t == DT_I64)
        text_printf(out, "((%s) (-9223372036854775807 - 1))", name);
    else if (t == DT_U64)
        text_printf(out, "((%s) %" PRIu64 ")", name, (uint64_t)v);
    else
        text_printf(out, "((%s) (%" PRId64 "))", name, v);
}

static void write_term(struct text *out, const struct term *e);

static void write_args(struct text *out, const struct term *e, const char *open,
                       const char *between, const char *close)
{
    text_add(out, open);
    for (int i = 0; i < e->count; i++) {
        text_add(out, i ? between : "");
        write_term(out, e->args[i]);
    }
    text_add(out, close);
}

static void write_op(struct text *out, const struct term *e)
{
    const struct op_info *info = &op_table[e->op];
    if (e->op == OP_SELECT) {
        text_add(out, "(");
        write_term(out, e->args[0]);
        text_add(out, " ? ");
        write_term(out, e->args[1]);
        text_add(out, " : ");
        write_term(out, e->args[2]);
        text_add(out, ")");
    } else if (e->op == OP_CAST) {
        text_printf(out, "((%s) ", dtype_table[e->type].name);
        write_args(out, e, "", "", ")");
    } else if (info->form == FORM_PREFIX) {
        text_printf(out, "(%s", info->text);
        write_args(out, e, "", "", ")");
    } else if (info->form == FORM_INFIX) {
        char between[8];
        snprintf(between, sizeof between, " %s ", info->text);
        write_args(out, e, "(", between, ")");
    } else {
        text_add(out, info->text);
        write_args(out, e, "(", ", ", ")");
    }
}

static void write_term(struct text *out, const struct term *e)
{
    static const char *const names[] = {"", "a", "b", "p", "q", "s", "i", "c"};
    if (e->kind == TERM_LITERAL)
        write_literal(out, e->type, e->number);
    else if (e->kind == TERM_OP)
        write_op(out, e);
    else
        text_add(out, names[e->kind]);
}

static void write_loop(struct text *out, const struct program_item *item)
{
    const struct term_loop *l = item->loop;
    text_add(out, "{ i64 acc = 0; i32 trips = 0; ");
    if (l->unroll)
        text_add(out, "unroll");
    if (l->unroll > 0)
        text_printf(out, "(%d)", l->unroll);
    text_printf(out, " for (%s c = ", dtype_table[l->type].name);
    write_term(out, l->start);
    text_printf(out, "; c %s ", op_table[l->compare].text);
    write_term(out, l->end);
    if (l->most % 2) /* the condition reads a variable of the body, or the body leaves the loop */
        text_printf(out, " && trips < %d", l->most);
    text_printf(out, "; c %s= ", l->down ? "-" : "+");
    write_term(out, l->step);
    text_add(out, ") {\n        ");
    if (l->most)
        text_printf(out, l->most % 2 ? "trips += 1; " : "if (trips == %d) break; trips += 1; ",
                    l->most);
    text_add(out, "acc = acc * 3 + (i64) ");
    write_term(out, item->value);
    text_add(out, "; }\n    ");
}

static const char *write_program(struct arena *arena, const struct integer_program *p)
{
    static const char *const heads[] = {
        "grid(cdiv(n, 64)) threads(64)\n{\n    global i64 X[n] = x, Y[n] = y, O[%d][n] = o;\n"
        "    i32 i = block.x * 64 + thread.x;\n    if (i >= n) return;\n"
        "    %s a = (%s) X[i]; %s b = (%s) Y[i];\n",
        "grid(n) warps(1)\n{\n    global i64 X[n] = x, Y[n] = y, O[%d][n] = o;\n"
        "    i32 i = block.x;\n    %s a = (%s) X[i]; %s b = (%s) Y[i];\n",
        "grid(n / 32) warps(1)\n{\n    global i64 X[n] = x, Y[n] = y, O[%d][n] = o;\n"
        "    i32 at = block.x * 32;\n    reg i32 i[32] = at + iota(32);\n"
        "    reg %s a[32] = (%s) X[at +: 32]; reg %s b[32] = (%s) Y[at +: 32];\n"};
    const char *a = dtype_table[p->a].name, *b = dtype_table[p->b].name;
    struct text out;
    text_init(&out, arena);
    text_add(&out, "kernel k(i32 n, i32 p, i64 q, static i32 s, const i64 *x, const i64 *y, "
                   "i64 *o) ");
    text_printf(&out, heads[p->mode], p->count, a, a, b, b);
    for (int k = 0; k < p->count; k++) {
        const struct program_item *item = &p->items[k];
        text_add(&out, "    ");
        if (item->loop)
            write_loop(&out, item);
        if (p->mode == MODE_TILE)
            text_printf(&out, "O[%d][at +: 32] = ", k);
        else
            text_printf(&out, "O[%d][i] = ", k);
        if (item->loop)
            text_add(&out, "acc; }\n");
        else {
            text_add(&out, "(i64) ");
            write_term(&out, item->value);
            text_add(&out, ";\n");
        }
    }
    text_add(&out, "}\n");
    return out.data;
}

/* --- expected values --- */

struct element {
    const struct integer_program *p;
    int i;
    int64_t counter;
};

static int64_t evaluate(const struct term *e, const struct element *at);

static int64_t evaluate_op(const struct term *e, const struct element *at)
{
    struct literal x[3] = {0}, out;
    if (e->op == OP_WHERE || e->op == OP_SELECT)
        return evaluate(e->args[evaluate(e->args[0], at) ? 1 : 2], at);
    if (e->op == OP_LAND || e->op == OP_LOR) {
        bool first = evaluate(e->args[0], at) != 0;
        return first == (e->op == OP_LOR) ? first : evaluate(e->args[1], at) != 0;
    }
    for (int i = 0; i < e->count; i++)
        x[i].i = evaluate(e->args[i], at);
    if (e->op == OP_CAST)
        return eval_cast(e->type, e->args[0]->type, &x[0]).i;
    assert_true(eval_op(e->op, e->args[0]->type, x, e->count, &out));
    return out.i;
}

static int64_t evaluate(const struct term *e, const struct element *at)
{
    const struct integer_program *p = at->p;
    switch (e->kind) {
    case TERM_LITERAL: return e->number;
    case TERM_A: return dtype_wrap(p->a, p->x[at->i]);
    case TERM_B: return dtype_wrap(p->b, p->y[at->i]);
    case TERM_P: return p->p;
    case TERM_Q: return p->q;
    case TERM_S: return p->s;
    case TERM_INDEX: return at->i;
    case TERM_COUNTER: return at->counter;
    default: return evaluate_op(e, at);
    }
}

enum { ENDLESS = 1 << 20 };

int64_t program_expected(const struct integer_program *p, const struct program_item *item, int i)
{
    struct element at = {p, i, 0};
    const struct term_loop *l = item->loop;
    if (!l)
        return evaluate(item->value, &at);
    uint64_t acc = 0;
    at.counter = evaluate(l->start, &at);
    for (int trips = 0; trips < ENDLESS; trips++) {
        struct literal side[2] = {{.i = at.counter}, {.i = evaluate(l->end, &at)}}, holds;
        assert_true(eval_op(l->compare, l->type, side, 2, &holds));
        if (!holds.i || (l->most && trips == l->most))
            return (int64_t)acc;
        acc = acc * 3 + (uint64_t)evaluate(item->value, &at);
        uint64_t step = (uint64_t)evaluate(l->step, &at), now = (uint64_t)at.counter;
        at.counter = dtype_wrap(l->type, (int64_t)(l->down ? now - step : now + step));
    }
    fail_msg("a loop without end");
    return 0;
}

/* --- both engines --- */

static void give(tw_launch *l, const struct integer_program *p, int64_t *out)
{
    tw_array x = tw_host_array((void *)(uintptr_t)p->x, TW_I64, p->n);
    tw_array y = tw_host_array((void *)(uintptr_t)p->y, TW_I64, p->n);
    tw_array o = tw_host_array(out, TW_I64, p->count, p->n);
    assert_int_equal(tw_launch_set(l, "p", tw_int(p->p)), TW_OK);
    assert_int_equal(tw_launch_set(l, "q", tw_int(p->q)), TW_OK);
    assert_int_equal(tw_launch_set(l, "s", tw_int(p->s)), TW_OK);
    assert_int_equal(tw_launch_array(l, "x", &x), TW_OK);
    assert_int_equal(tw_launch_array(l, "y", &y), TW_OK);
    assert_int_equal(tw_launch_array(l, "o", &o), TW_OK);
}

static bool execute(const struct program_runner *r, const struct integer_program *p,
                    const char *text)
{
    tw_module *m = NULL;
    tw_kernel *gpu = NULL;
    tw_launch *host = NULL, *sim = NULL;
    const tw_sim_options options = tw_sim_options_init();
    tw_status status = tw_module_from_text(r->ctx, "integers.tile", text, strlen(text), &m);
    if (status == TW_OK)
        status = tw_kernel_for_target(tw_module_kernel_at(m, 0), "sm_80", &gpu);
    if (status == TW_OK)
        status = tw_launch_new(tw_module_kernel_at(m, 0), &host);
    if (status == TW_OK)
        status = tw_launch_new(gpu, &sim);
    if (status == TW_OK) {
        give(host, p, r->cpu);
        give(sim, p, r->sim);
        status = tw_launch_run(host);
    }
    if (status == TW_OK)
        status = tw_launch_simulate(sim, &options, NULL);
    if (status != TW_OK)
        print_message("%s: %s\n%s\n", tw_status_name(status), tw_context_messages(r->ctx), text);
    tw_launch_free(host);
    tw_launch_free(sim);
    tw_module_free(m);
    return status == TW_OK;
}

static void report(const struct program_runner *r, const struct integer_program *p, int k, int i,
                   int64_t expected)
{
    struct integer_program one = *p;
    one.count = 1;
    one.items[0] = p->items[k];
    int64_t at = (int64_t)k * p->n + i;
    print_message("cpu %" PRId64 ", sim %" PRId64 ", expected %" PRId64 " for x %" PRId64
                  ", y %" PRId64 ", i %d, p %" PRId64 ", q %" PRId64 ", s %" PRId64 " in\n%s",
                  r->cpu[at], r->sim[at], expected, p->x[i], p->y[i], i, p->p, p->q, p->s,
                  write_program(r->arena, &one));
}

enum { MOST_REPORTS = 30 };

void program_run(struct program_runner *r, const struct integer_program *p)
{
    size_t bytes = (size_t)p->n * (size_t)p->count * sizeof(int64_t);
    memset(r->cpu, 0x55, bytes);
    memset(r->sim, 0x55, bytes);
    r->programs++;
    if (!execute(r, p, write_program(r->arena, p))) {
        r->wrong++;
        return;
    }
    for (int k = 0; k < p->count; k++)
        for (int i = 0; i < p->n; i++) {
            int64_t at = (int64_t)k * p->n + i;
            int64_t expected = program_expected(p, &p->items[k], i);
            r->elements++;
            if (r->cpu[at] == expected && r->sim[at] == expected)
                continue;
            if (r->wrong++ < MOST_REPORTS)
                report(r, p, k, i, expected);
            break;
        }
}

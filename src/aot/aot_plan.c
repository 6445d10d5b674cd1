/* The consequences of a launch's sizes, as statements of C: its grid, its workspace, and the
 * conditions on the sizes. They equal those that src/api/launch_params.c and tw_launch_prepare
 * find for a launch by the library. */
#include "aot/aot.h"

#include <inttypes.h>
#include <string.h>

struct planner {
    struct text *out;
    struct arena *arena;
    const struct aot_param *params;
    VEC(const char *) said; /* statements already printed, so that each occurs once */
};

static const char *expr_text(struct arena *a, const struct expr *e)
{
    struct text t;
    text_init(&t, a);
    expr_print(&t, e);
    return t.data;
}

/* Returns `what`, quoted, and the value of e; NULL: e has more than integers and parameters. */
static const char *shown_and_computed(const struct planner *p, const struct expr *e)
{
    struct text t;
    text_init(&t, p->arena);
    const char *shown = expr_text(p->arena, e);
    aot_quote(&t, shown, strlen(shown));
    text_add(&t, ", ");
    return aot_expr(&t, e, p->params) ? t.data : NULL;
}

static void say_once(struct planner *p, const char *statement)
{
    for (size_t i = 0; i < p->said.count; i++)
        if (strcmp(p->said.data[i], statement) == 0)
            return;
    vec_push(p->arena, &p->said, statement);
    text_printf(p->out, "        %s;\n", statement);
}

/* Sizes that are known without a launch are checked already. */
static void say_of(struct planner *p, const char *function, const struct expr *e)
{
    int64_t known;
    const char *arguments = e && !eval_int(e, NULL, &known) ? shown_and_computed(p, e) : NULL;
    if (arguments)
        say_once(p, arena_printf(p->arena, "%s(aot_p, %s)", function, arguments));
}

/* An array may be NULL if its views have no elements. One bit per parameter: 64 are enough. */
static void plan_need(struct planner *p, const struct kernel *k, const struct sym *view)
{
    struct text t;
    if (!view->base || view->base->index >= 64 || !kernel_uses(k, view))
        return;
    text_init(&t, p->arena);
    text_printf(&t, "aot_needs(aot_p, %d, 1", view->base->index);
    for (int i = 0; i < view->type.rank; i++) {
        text_add(&t, " && ");
        if (!aot_expr(&t, view->dims[i], p->params))
            return;
        text_add(&t, " > 0");
    }
    text_add(&t, ")");
    say_once(p, t.data);
}

static void plan_views(struct planner *p, const struct kernel *k)
{
    for (const struct sym *s = k->symbols; s; s = s->next) {
        if (s->storage != ST_VIEW)
            continue;
        for (int i = 0; i < s->type.rank; i++) {
            say_of(p, "aot_extent", s->dims[i]);
            if (s->strides[i] && s->strides[i]->op != OP_REF)
                say_of(p, "aot_whole", s->strides[i]);
        }
        if (s->base_offset && s->base_offset->op != OP_REF)
            say_of(p, "aot_whole", s->base_offset);
        plan_need(p, k, s);
    }
}

/* Prints the assumes at the top of the body; rows cover those that the compiler added. */
static void plan_assumes(struct planner *p, const struct kernel *k)
{
    for (const struct stmt *s = k->body; s; s = s->next)
        if (s->kind == STMT_EFFECT && s->value->op == OP_ASSUME) {
            if (!s->added)
                say_of(p, "aot_assume", s->value->args[0]);
        } else if (s->kind != STMT_DECL) {
            return;
        }
}

static bool plan_grid(struct planner *p, const struct kernel *k, struct diag *diag)
{
    for (int axis = 0; axis < 3; axis++) {
        int64_t known;
        if (!k->grid[axis] || (eval_int(k->grid[axis], NULL, &known) && known == 1))
            continue;
        const char *arguments = shown_and_computed(p, k->grid[axis]);
        if (!arguments) {
            diag_error(diag, k->grid[axis]->loc,
                       "the grid of kernel `%s` is not arithmetic of integers and parameters, so C "
                       "cannot compute it",
                       k->name);
            return false;
        }
        text_printf(p->out, "        aot_grid(aot_p, %d, %s);\n", axis, arguments);
    }
    return true;
}

static bool plan_room(struct planner *p, const struct sym *view, struct diag *diag)
{
    struct text bytes;
    text_init(&bytes, p->arena);
    for (int i = 0; i < view->type.rank; i++)
        text_add(&bytes, "aot_mul(aot_p, AOT_I64, ");
    text_printf(&bytes, "%zu", dtype_size(view->type.dtype));
    for (int i = 0; i < view->type.rank; i++) {
        text_add(&bytes, ", ");
        if (!aot_expr(&bytes, view->dims[i], p->params)) {
            diag_error(diag, view->loc,
                       "the extents of workspace `%s` are not arithmetic of integers and "
                       "parameters, so C cannot compute them",
                       view->name);
            return false;
        }
        text_add(&bytes, ")");
    }
    text_printf(p->out, "        aot_room(aot_p, \"%s\", %d, %s);\n", view->name, view->zeroed,
                bytes.data);
    return true;
}

int aot_rooms(const struct lowered *lowered)
{
    int rooms = 0;
    for (size_t i = 0; i < lowered->params.count; i++)
        rooms += lowered->params.data[i].kind == LOWER_WORKSPACE ||
                 lowered->params.data[i].kind == LOWER_TICKET;
    return rooms;
}

/* Prints the parameters that are compiled in, because the kernels of a family differ in them. One
 * bit per parameter: 64 are enough. */
static bool plan_statics(const struct planner *p, const struct aot_given *given, struct diag *diag)
{
    uint64_t compiled_in = 0;
    for (int i = 0; i < given->param_count; i++) {
        if (!given->row.is_static[i])
            continue;
        if (i >= 64) {
            diag_error(diag, given->kernel->loc,
                       "`%s` is parameter %d of kernel `%s`: in a family that is built, static "
                       "parameters are among the first 64",
                       given->params[i].name, i + 1, given->kernel->name);
            return false;
        }
        compiled_in |= UINT64_C(1) << i;
    }
    if (compiled_in)
        text_printf(p->out, "        aot_p->compiled_in = UINT64_C(0x%" PRIx64 ");\n", compiled_in);
    return true;
}

bool aot_plan(struct text *out, const struct aot_given *given, const struct aot_param *params,
              struct diag *diag)
{
    struct planner p = {.out = out, .arena = out->arena, .params = params};
    const struct lowered *lowered = given->lowered;
    if (given->family && !plan_statics(&p, given, diag))
        return false;
    plan_views(&p, given->kernel);
    plan_assumes(&p, given->kernel);
    if (!lowered) /* the engine computes the grid and makes the workspace itself */
        return true;
    bool good = plan_grid(&p, given->kernel, diag);
    for (size_t i = 0; i < lowered->params.count && good; i++) {
        const struct lower_param *param = &lowered->params.data[i];
        if (param->kind == LOWER_WORKSPACE)
            good = plan_room(&p, param->sym, diag);
        else if (param->kind == LOWER_TICKET)
            text_add(out, "        aot_room(aot_p, \"ticket\", 1, 4);\n");
    }
    return good;
}

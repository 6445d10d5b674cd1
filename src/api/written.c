/* tw_kernel_written: the places of declarations and uses, for programs that change the text. */
#include "api/objects.h"

#include "lang/syntax.h"
#include "tilewright_look.h"

enum { MOST_HEIGHT = 64 }; /* levels of an expression that is listed operand by operand */

struct written_call {
    tw_kernel *kernel;
    tw_written *out;
    struct line_starts lines;
};

static tw_expression expression_of(struct written_call *c, const struct node *n);

static const tw_expression *operand(struct written_call *c, const struct node *n)
{
    tw_expression *made = arena_new(&c->kernel->module->arena, tw_expression);
    *made = expression_of(c, n);
    return made;
}

static tw_expression expression_of(struct written_call *c, const struct node *n)
{
    bool named = n->kind == N_NAME, literal = n->kind == N_INT;
    tw_expression e = {.length = (int)n->loc.length, .is_number = literal};
    loc_line_starts_find(&c->kernel->module->arena, &c->lines, n->loc, &e.line, &e.column);
    e.name = named ? n->text : NULL;
    e.number = literal ? n->i : 0;
    if (n->kind == N_BINARY && n->height <= MOST_HEIGHT) {
        e.op = op_table[n->op].text;
        e.left = operand(c, n->a);
        e.right = operand(c, n->b);
    }
    return e;
}

static tw_shared_array array_of(struct written_call *c, const struct lang_shared *s)
{
    const struct node *n = s->declared;
    tw_shared_array out = {
        .name = n->text, .by_element = s->by_element, .element_count = (int)s->elements.count};
    loc_line_starts_find(&c->kernel->module->arena, &c->lines, n->loc, &out.line, &out.column);
    for (const struct node *d = n->dims; d && out.rank < TW_MAX_RANK; d = d->next)
        out.extents[out.rank++] = expression_of(c, d);
    tw_element *list = arena_array(&c->kernel->module->arena, tw_element, out.element_count + 1);
    for (int i = 0; i < out.element_count; i++) {
        const struct node *index = s->elements.data[i]->list;
        for (int axis = 0; index && axis < TW_MAX_RANK; index = index->next, axis++)
            list[i].index[axis] = expression_of(c, index->a);
    }
    out.elements = list;
    return out;
}

static tw_status read_written(void *user)
{
    struct written_call *c = user;
    tw_module *m = c->kernel->module;
    struct lang_written w = lang_written(&m->arena, m->parsed, c->kernel->index);
    tw_shared_array *shared = arena_array(&m->arena, tw_shared_array, w.shared.count + 1);
    tw_named_number *numbers = arena_array(&m->arena, tw_named_number, w.numbers.count + 1);
    for (size_t i = 0; i < w.shared.count; i++)
        shared[i] = array_of(c, &w.shared.data[i]);
    for (size_t i = 0; i < w.numbers.count; i++) {
        const struct node *n = w.numbers.data[i];
        numbers[i] = (tw_named_number){n->text, expression_of(c, n->init)};
    }
    tw_written found = {sizeof found, (int)w.shared.count, (int)w.numbers.count, shared, numbers};
    FILL_SIZED(c->out, found);
    return TW_OK;
}

tw_status tw_kernel_written(tw_kernel *k, tw_written *out)
{
    if (!k)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(k->module->ctx, tw_written, out))
        return TW_BAD_ARGUMENT;
    struct written_call call = {.kernel = k, .out = out};
    return context_call(k->module->ctx, read_written, &call);
}

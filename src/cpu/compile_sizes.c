/* Texts of the expressions that a launch evaluates: extents, strides, offsets and the grid. A launch
 * names a part that overflows, and has no printer of expressions. */
#include "cpu/compile.h"

struct sizes {
    struct arena *arena;
    VEC(struct size_text) texts;
};

static void note(struct sizes *s, const struct expr *e)
{
    size_t length;
    if (!e)
        return;
    for (int i = 0; i < e->count; i++)
        note(s, e->args[i]);
    if (e->count == 0 || expr_written(e, &length))
        return;
    struct text text;
    text_init(&text, s->arena);
    expr_print(&text, e);
    vec_push(s->arena, &s->texts, ((struct size_text){e, text.data}));
}

void note_size_texts(struct compiler *c)
{
    struct sizes s = {.arena = c->arena};
    for (int i = 0; i < 3; i++)
        note(&s, c->kernel->grid[i]);
    for (int v = 0; v < c->program->view_count; v++) {
        const struct sym *view = c->program->views[v];
        for (int i = 0; i < view->type.rank; i++) {
            note(&s, view->dims[i]);
            note(&s, view->strides[i]);
        }
        note(&s, view->base_offset);
    }
    c->program->size_texts = s.texts.data;
    c->program->size_text_count = (uint32_t)s.texts.count;
}

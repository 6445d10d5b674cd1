/* The sizes of a launch, and the texts of their expressions. A launch names a part that overflows,
 * and has no printer of expressions. */
#include "cpu/compile/compile.h"

void compile_sizes(struct compiler *c)
{
    struct cpu_program *p = c->program;
    VEC(struct size_text) texts = {.count = 0};
    size_t length;
    launch_sizes_compile_all(&p->sizes, c->arena, c->kernel, p->views, p->view_count);
    for (int i = 0; i < p->sizes.count; i++) {
        const struct expr *e = p->sizes.places[i];
        if (!e || expr_written(e, &length))
            continue;
        struct text text;
        text_init(&text, c->arena);
        expr_print(&text, e);
        vec_push(c->arena, &texts, ((struct size_text){e, text.data}));
    }
    p->size_texts = texts.data;
    p->size_text_count = (uint32_t)texts.count;
}

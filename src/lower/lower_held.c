/* The registers that hold the scalars and tiles of the program: for traces and `show --stage layout`. */
#include "lower/lower_flow.h"
#include "lower/lower_tile_own.h"

static void hold(struct lower *l, const struct sym *s, const struct layout *layout, bool assigned,
                 int words, const struct ptx_operand *word)
{
    const char **names = arena_array(l->arena, const char *, words + 1);
    for (int i = 0; i < words; i++) {
        if (word[i].kind != PTX_REGISTER) /* a constant */
            return;
        names[i] = ptx_register_name(l->arena, l->out->function, word[i].reg);
    }
    struct lower_held held = {s, layout, assigned, words, names};
    vec_push(l->arena, &l->out->held, held);
}

void note_held(struct lower *l)
{
    for (const struct sym *s = l->kernel->symbols; s; s = s->next) {
        const struct variable *v =
            s->storage == ST_SCALAR ? pointer_map_get(&l->bodies->variables, s) : NULL;
        const struct tile_symbol *t =
            s->storage == ST_REG && l->tiles ? pointer_map_get(&l->tiles->symbols, s) : NULL;
        if (v && v->has_register)
            hold(l, s, NULL, true, 1, &v->reg);
        if (t && t->written)
            hold(l, s, t->tile.layout, t->fixed, t->tile.words, t->tile.word);
    }
}

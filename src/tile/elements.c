/* Numbers of a tile's elements: row-major, and those that operations on shapes read. */
#include "tile/tile.h"

#include <assert.h>
#include <string.h>

void type_coordinates(const struct type *t, int64_t number, int64_t *at)
{
    assert(number >= 0 && number < type_elements(t));
    for (int i = t->rank - 1; i >= 0; i--) {
        at[i] = number % t->extent[i];
        number /= t->extent[i];
    }
}

/* Returns the row-major number of the element at the coordinates. */
static int64_t type_number(const struct type *t, const int64_t *at)
{
    int64_t number = 0;
    for (int i = 0; i < t->rank; i++) {
        assert(at[i] >= 0 && at[i] < t->extent[i]);
        number = number * t->extent[i] + at[i];
    }
    return number;
}

int64_t type_broadcast_number(const struct type *from, const struct type *to, const int64_t *at)
{
    int64_t number = 0;
    assert(from->rank <= to->rank);
    for (int i = 0; i < from->rank; i++) {
        int64_t along = at[to->rank - from->rank + i];
        number = number * from->extent[i] + (from->extent[i] == 1 ? 0 : along);
    }
    return number;
}

int64_t expr_moved_number(const struct expr *e, const int64_t *at)
{
    const struct type *from = &e->args[0]->type, *to = &e->type;
    int64_t source[MAX_RANK] = {0};
    int shift = to->rank - from->rank;
    if (e->op == OP_RESHAPE)
        return type_number(to, at);
    if (e->op == OP_BROADCAST)
        return type_broadcast_number(from, to, at);
    if (e->op == OP_TRANS) {
        memcpy(source, at, sizeof source);
        source[from->rank - 1] = at[from->rank - 2];
        source[from->rank - 2] = at[from->rank - 1];
        return type_number(from, source);
    }
    for (int i = 0; i < from->rank; i++) {
        int64_t here = at[i + shift], n = from->extent[i];
        source[i] = e->op == OP_REPEAT ? here % n : here / (to->extent[i + shift] / n);
    }
    return type_number(from, source);
}

struct line type_line(const struct type *t, int axis)
{
    assert(axis < t->rank);
    struct line l = {.count = type_elements(t), .step = 1, .lines = 1};
    if (axis < 0)
        return l;
    for (int i = axis + 1; i < t->rank; i++)
        l.step *= t->extent[i];
    l.lines = l.count / t->extent[axis];
    l.count = t->extent[axis];
    return l;
}

int64_t type_line_first(const struct line *l, int64_t line)
{
    assert(line >= 0 && line < l->lines);
    return line / l->step * l->step * l->count + line % l->step;
}

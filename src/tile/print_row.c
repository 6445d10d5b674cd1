#include "tile/print_row.h"

#include <string.h>

struct maker {
    struct arena *arena;
    struct print_row *row;
    struct text pending; /* before the next part */
    const struct print_piece *piece;
};

static void add_part(struct maker *m, struct print_part part)
{
    part.text = m->pending.length ? m->pending.data : "";
    part.piece = m->piece;
    vec_push(m->arena, &m->row->parts, part);
    text_init(&m->pending, m->arena);
}

bool print_by_ends(const struct print_shown *s, int axis)
{
    return !s->window && s->type.extent[axis] < s->e->type.extent[axis];
}

int64_t print_number_of(const struct print_shown *s, int64_t number)
{
    int64_t at[MAX_RANK] = {0}, whole = 0;
    type_coordinates(&s->type, number, at);
    for (int i = 0; i < s->type.rank; i++) {
        const int64_t n = s->e->type.extent[i];
        if (s->window)
            at[i] += s->window->first[i];
        else if (at[i] >= PRINT_ENDS)
            at[i] += n - s->type.extent[i];
        whole = whole * n + at[i];
    }
    return whole;
}

const char *print_conversion(struct arena *a, const struct print_piece *piece, enum dtype t)
{
    const bool is_float = print_of_float(piece->letter);
    const char letter = t == DT_U64 && strchr("di", piece->letter) ? 'u' : piece->letter;
    return arena_printf(a, "%s%s%c", piece->spec, is_float ? "" : "ll", letter);
}

static struct print_shown shown_of(const struct expr *e, const struct print_window *window)
{
    struct print_shown s = {.e = e, .type = e->type, .window = window};
    for (int i = 0; i < e->type.rank; i++) {
        const int64_t n = e->type.extent[i];
        s.type.extent[i] = window ? window->count[i] : n > PRINT_ALONE ? 2 * PRINT_ENDS : n;
    }
    return s;
}

/* --- text --- */

static void add_axis(struct maker *m, int argument, int axis, int64_t *number)
{
    const struct print_shown *s = &m->row->shown[argument];
    if (axis == s->type.rank) {
        add_part(m, (struct print_part){
                        .kind = PRINT_ELEMENT, .argument = argument, .number = (*number)++});
        return;
    }
    text_add(&m->pending, "[");
    for (int64_t i = 0; i < s->type.extent[axis]; i++) {
        if (i == PRINT_ENDS && print_by_ends(s, axis))
            text_add(&m->pending, ", …");
        if (i > 0)
            text_add(&m->pending, ", ");
        add_axis(m, argument, axis + 1, number);
    }
    text_add(&m->pending, "]");
}

static void add_argument(struct maker *m, int argument)
{
    int64_t number = 0;
    add_axis(m, argument, 0, &number);
}

static void add_coordinates(struct maker *m, enum print_part_kind kind, int count)
{
    text_add(&m->pending, kind == PRINT_BLOCK ? "block (" : " thread (");
    for (int axis = 0; axis < count; axis++) {
        text_add(&m->pending, axis ? "," : "");
        add_part(m, (struct print_part){.kind = kind, .axis = axis});
    }
    text_add(&m->pending, ")");
}

static void add_place(struct maker *m, const struct kernel *k, bool thread)
{
    add_coordinates(m, PRINT_BLOCK, k->grid[2] ? 3 : 2);
    if (thread)
        add_coordinates(m, PRINT_THREAD, k->threads[2] > 1 ? 3 : 2);
}

static void add_format(struct maker *m, const struct expr *e)
{
    const char *format = e->label;
    text_add(&m->pending, " ");
    for (int i = 0; i <= e->count; i++) {
        struct print_piece *piece = arena_new(m->arena, struct print_piece);
        format = print_piece_read(format, piece);
        text_add_n(&m->pending, piece->text, piece->length);
        m->piece = piece;
        if (i < e->count)
            add_argument(m, i);
    }
}

static void add_plain(struct maker *m, const struct expr *e)
{
    if (e->label)
        text_printf(&m->pending, e->count ? " %.80s =" : " %.80s", e->label);
    for (int i = 0; i < e->count; i++) {
        struct text name;
        text_init(&name, m->arena);
        if (!e->label)
            expr_print(&name, e->args[i]);
        if (!e->label)
            text_printf(&m->pending, "%s %.60s =", i > 0 ? "," : "", name.data);
        else if (i > 0)
            text_add(&m->pending, ",");
        text_add(&m->pending, " ");
        add_argument(m, i);
    }
}

/* --- the row --- */

/* Returns the bytes of the longest row. */
static int64_t length_of(const struct expr *e, const struct print_row *row)
{
    enum { PLACE = 128, NAME = 96, BRACKETS = 8, NUMBER = 27, VALUE = 8, ALIGNMENT = 16 };
    int64_t length = PLACE + NAME;
    for (int i = 0; i < e->count; i++) {
        const struct type *t = &row->shown[i].type;
        int64_t rows = 1;
        for (int axis = 0; axis + 1 < t->rank; axis++)
            rows *= t->extent[axis];
        length += NAME + type_elements(t) * NUMBER + rows * 2 * BRACKETS;
    }
    if (row->is_format)
        length = VALUE * PRINT_MOST_VALUES;
    return (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

struct print_row print_row_make(struct arena *a, const struct kernel *k, const struct expr *e,
                                bool by_thread)
{
    static const struct print_piece coordinate = {.spec = "%", .letter = 'd'};
    struct print_row row = {.is_format = print_is_format(e->label)};
    struct maker m = {.arena = a, .row = &row};
    text_init(&m.pending, a);
    row.shown = arena_array(a, struct print_shown, e->count + 1);
    for (int i = 0; i < e->count; i++) {
        row.shown[i] = shown_of(e->args[i], i + 1 == e->count ? e->window : NULL);
        row.elements += type_elements(&row.shown[i].type);
    }
    row.bytes = length_of(e, &row);
    if (row.elements > PRINT_MOST_SHOWN)
        return row;
    m.piece = row.is_format ? &coordinate : NULL;
    add_place(&m, k, by_thread);
    if (row.is_format)
        add_format(&m, e);
    else
        add_plain(&m, e);
    text_add(&m.pending, "\n");
    add_part(&m, (struct print_part){.kind = PRINT_END});
    return row;
}

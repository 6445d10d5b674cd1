/* The program of a trace: its instructions, and the source expressions that they come from. */
#include "sim/sim_trace_own.h"

#include <string.h>

enum { MOST_SITES = UINT16_MAX };

/* --- the source --- */

const char *sim_trace_place(const struct sim_trace *t, const struct ptx_instruction *ins,
                            uint32_t *line, uint32_t *column)
{
    *line = ins->line ? ins->line->line : 0;
    *column = ins->line ? ins->line->column : 0;
    return ins->line ? ptx_file_name(t->settings.module, ins->line->file) : NULL;
}

int sim_trace_ptx_line(const struct sim_trace *t, struct loc where)
{
    int line = 0, column;
    if (!where.source)
        return 0;
    loc_line_column(where, &line, &column);
    return line + t->settings.lines_before;
}

static const struct source *source_of(const struct sim_trace *t, const char *file)
{
    for (size_t i = 0; file && i < t->settings.source_count; i++)
        if (strcmp(t->settings.sources[i]->name, file) == 0)
            return t->settings.sources[i];
    return NULL;
}

static bool is_word(char c)
{
    return text_is_letter(c) || text_is_digit(c) || c == '_';
}

/* Returns the end of the brackets that open at `at`; NULL: they are not closed. */
static const char *bracket_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        depth += *at == '(' || *at == '[';
        depth -= *at == ')' || *at == ']';
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

/* Returns the place in a text; NULL: the text has no such place. */
static const char *find_place(const struct source *s, uint32_t line, uint32_t column)
{
    const char *at = s->text, *end = s->text + s->length;
    if (!line || !column)
        return NULL;
    for (uint32_t i = 1; i < line && at; i++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return at && (size_t)(end - at) >= column ? at + column - 1 : NULL;
}

static bool begins_with(const char *from, const char *end, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(end - from) > length && memcmp(from, word, length) == 0;
}

/* Returns the end of a name with its indices or arguments, A[row][p + tx], dot(a, b), for (…);
 * for an asynchronous copy, the end of the statement. */
static const char *expression_end(const char *from, const char *end)
{
    const char *to = from;
    if (begins_with(from, end, "async "))
        return memchr(from, ';', (size_t)(end - from));
    while (to < end && is_word(*to))
        to++;
    for (const char *next = to; next && to > from;) {
        while (next < end && *next == ' ')
            next++;
        if (next == end || (*next != '[' && *next != '('))
            break;
        next = bracket_end(next, end);
        to = next ? next : to;
    }
    return to;
}

/* Returns the end of the head of a loop: for (…), unroll for (…), pipeline(3) for (…). */
static const char *loop_end(const char *from, const char *end)
{
    const char *to = expression_end(from, end), *next = to;
    while (next && next < end && *next == ' ')
        next++;
    return next && begins_with(next, end, "for") ? expression_end(next, end) : to;
}

/* Returns the end of the statement on the line of `from`: its ';'. Sets *begins to its start. */
static const char *statement_end(const struct source *s, const char *from, const char **begins)
{
    const char *end = s->text + s->length;
    while (from > s->text && from[-1] != '\n')
        from--;
    while (from < end && (*from == ' ' || *from == '\t'))
        from++;
    *begins = from;
    const char *to = memchr(from, ';', (size_t)(end - from));
    const char *line_end = memchr(from, '\n', (size_t)(end - from));
    return !to || (line_end && line_end < to) ? line_end : to;
}

/* Sets the text that begins at the place. */
static void find_text(const struct sim_trace *t, enum trace_kind kind, struct trace_text *out)
{
    const struct source *s = source_of(t, out->file);
    const char *at = s ? find_place(s, out->line, out->column) : NULL, *from = at, *to;
    if (!at)
        return;
    if (kind == TRACE_COMPUTE || kind == TRACE_MMA)
        to = statement_end(s, at, &from);
    else if (kind == TRACE_TURN)
        to = loop_end(at, s->text + s->length);
    else
        to = expression_end(at, s->text + s->length);
    out->column = (uint32_t)((int64_t)out->column + (from - at));
    if (to && to > from)
        out->text = arena_string(t->arena, from, (size_t)(to - from));
}

struct trace_text sim_trace_text(const struct sim_trace *t, const struct ptx_instruction *ins,
                                 enum trace_kind kind)
{
    struct trace_text out = {0};
    out.file = sim_trace_place(t, ins, &out.line, &out.column);
    find_text(t, kind, &out);
    return out;
}

struct trace_text sim_trace_loop_text(const struct sim_trace *t, const struct trace_loop *l)
{
    if (!l->source)
        return sim_trace_text(t, l->branch, TRACE_TURN);
    struct trace_text out = {
        .file = l->is.file, .line = (uint32_t)l->is.line, .column = (uint32_t)l->is.column};
    find_text(t, TRACE_TURN, &out);
    return out;
}

/* --- sites --- */

static const struct sim_trace_access *meant(const struct sim_trace *t, uint32_t line,
                                            uint32_t column, bool shared)
{
    for (size_t i = 0; i < t->accesses.count; i++) {
        const struct sim_trace_access *a = &t->accesses.data[i];
        if (a->line == (int)line && a->column == (int)column && a->shared == shared)
            return a;
    }
    return NULL;
}

/* Returns the variable that an access means. Tiles that are not live at the same time share
 * bytes: the compiler knows which one it is. */
static int variable_of(const struct sim_trace *t, const struct sim_place *place,
                       enum sim_space space, uint32_t at)
{
    bool shared = space == SIM_SHARED;
    uint32_t line, column;
    sim_trace_place(t, place->ins, &line, &column);
    const struct sim_trace_access *a = meant(t, line, column, shared);
    size_t count = shared ? t->shared.count : t->arrays.count;
    const struct trace_memory *all = shared ? t->shared.data : t->arrays.data;
    if (shared && t->accesses.count && (!a || !a->symbol))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (at >= all[i].at && at - all[i].at < all[i].is.bytes &&
            (!shared || !a || a->symbol == all[i].is.symbol))
            return (int)i;
    return -1;
}

int sim_trace_site(struct sim_trace *t, const struct sim_place *place, bool memory,
                   enum sim_space space, int bytes, uint32_t at, enum trace_kind kind)
{
    bool added;
    uint64_t key = (uint64_t)(uintptr_t)place->ins << 12 | (uint64_t)memory << 11 |
                   (uint64_t)(space == SIM_SHARED) << 10 | ((uint64_t)bytes & 1023);
    struct number_entry *e = number_map_entry(t->arena, &t->site_of, key, &added);
    if (!added)
        return (int)e->value - 1;
    if (t->sites.count >= MOST_SITES)
        return -1;
    struct trace_site s = {.ins = place->ins,
                           .function = place->function,
                           .where = place->where,
                           .memory = memory,
                           .space = space,
                           .variable = memory ? variable_of(t, place, space, at) : -1,
                           .bytes = bytes,
                           .kind = kind};
    vec_push(t->arena, &t->sites, s);
    e->value = t->sites.count;
    return (int)e->value - 1;
}

const char *sim_trace_phase(const struct trace_site *s)
{
    bool own = s->memory && s->space == SIM_SHARED && s->variable < 0;
    switch (s->kind) {
    case TRACE_READ: return own ? "store" : s->space == SIM_SHARED ? "compute" : "load";
    case TRACE_WRITE: return own || s->space == SIM_GLOBAL ? "store" : "load";
    case TRACE_UPDATE: return "store";
    case TRACE_ARRIVE:
    case TRACE_RELEASE:
    case TRACE_WARP:
    case TRACE_FENCE:
    case TRACE_COMMIT:
    case TRACE_WAIT: return "sync";
    case TRACE_ISSUE:
    case TRACE_LAND: return "load";
    case TRACE_COMPUTE:
    case TRACE_MMA: return "compute";
    case TRACE_TURN:
    case TRACE_EXIT:
    case TRACE_FAULT:
    case TRACE_KIND_COUNT: break;
    }
    return NULL;
}

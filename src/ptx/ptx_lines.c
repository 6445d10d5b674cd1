/* Finds lines of the program for .loc lines in headers.
 *
 * nvcc inlines the toolkit's functions. Their .loc has a line of the toolkit's header, and the
 * place of the call after `inlined_at` (PTX ISA, debugging directives: .loc). If that call is in
 * a header too, an earlier .loc has the call's place and its own caller. The first place of this
 * chain outside the system headers is the line in the program's own source. */
#include "ptx/ptx_parser.h"

#include <string.h>

enum { MOST_LOOKED_AT = 512 }; /* places searched for a call, at most */

static bool calls_from(const struct ptx_line *line, const struct ptx_line *at)
{
    return line->call_file == at->file && line->call_line == at->line &&
           line->call_column == at->column;
}

void ptx_link_line(struct ptx_parser *p, struct ptx_line *line)
{
    if (!line->has_call)
        return;
    size_t count = p->inlined.count;
    for (size_t i = 1; i <= count && i <= MOST_LOOKED_AT && !line->caller; i++)
        if (calls_from(line, p->inlined.data[count - i]))
            line->caller = p->inlined.data[count - i];
    vec_push(p->arena, &p->inlined, line);
}

/* Returns true for a folder that an installer made: "cuda-13.0", "cuda/12.3". */
static bool has_version(const char *name)
{
    for (const char *at = name; (at = strstr(at, "/cuda")); at++)
        if ((at[5] == '-' || at[5] == '/') && text_is_digit(at[6]))
            return true;
    return false;
}

static bool is_system(const char *name)
{
    static const char *const folders[] = {"/targets/", "/nvidia/", "/lib/clang/", "/lib/gcc/",
                                          "/include/c++/"};
    const char *base = strrchr(name, '/');
    if (strcmp(base ? base + 1 : name, "tilewright_cuda.h") == 0)
        return true;
    if (!strstr(name, "/include/"))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strstr(name, folders[i]))
            return true;
    bool installed = strncmp(name, "/usr/", 5) == 0 && strncmp(name, "/usr/src/", 9) != 0;
    return installed || strncmp(name, "/opt/", 5) == 0 || has_version(name);
}

const char *ptx_file_name(const struct ptx_module *m, uint32_t number)
{
    for (size_t i = 0; m && i < m->items.count; i++)
        if (m->items.data[i].kind == PTX_ITEM_FILE && m->items.data[i].file->number == number)
            return m->items.data[i].file->name;
    return NULL;
}

static bool is_of_system(const struct ptx_module *m, uint32_t file)
{
    const char *name = ptx_file_name(m, file);
    return name && is_system(name);
}

static const struct ptx_line *line_of_program(struct ptx_module *m, const struct ptx_line *line)
{
    struct ptx_line place = *line;
    const struct ptx_line *at = line; /* NULL: only the place is known */
    while (is_of_system(m, place.file)) {
        if (!at || !at->has_call)
            return line;
        place = (struct ptx_line){
            .file = at->call_file, .line = at->call_line, .column = at->call_column};
        at = at->caller;
        if (at)
            place = *at;
    }
    if (at == line)
        return line;
    place.header = line;
    return arena_copy(m->arena, &place, sizeof place);
}

void ptx_settle_lines(struct ptx_module *m)
{
    const struct ptx_line *last = NULL, *settled = NULL;
    for (size_t i = 0; i < m->items.count; i++) {
        struct ptx_function *f = m->items.data[i].function;
        if (m->items.data[i].kind != PTX_ITEM_FUNCTION)
            continue;
        for (size_t k = 0; k < f->body.count; k++) {
            struct ptx_statement *s = &f->body.data[k];
            if (s->kind != PTX_AT_INSTRUCTION || !s->instruction->line)
                continue;
            if (s->instruction->line != last) {
                last = s->instruction->line;
                settled = line_of_program(m, last);
            }
            s->instruction->line = settled;
        }
    }
}

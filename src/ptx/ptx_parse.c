/* Parses text: the module. PTX ISA, PTX module directives.
 *
 *   module    = .version N.N  .target NAME{, NAME}  .address_size N  { item }
 *   item      = .file … | .section … | .alias A, B; | .pragma "…"; | [linkage] variable | [linkage]
 *             function
 *   linkage   = .extern | .visible | .weak | .common */
#include "ptx/ptx_parser.h"

#include <string.h>

/* --- the head --- */

static bool read_version(struct ptx_parser *p)
{
    if (!ptx_accept_dot(p, "version"))
        return ptx_expected(p, ".version at the start of a module");
    /* Reads the two parts from the text, because "8.10" is not a number. */
    bool digits = p->token.length >= 3 && p->token.text[p->token.length - 1] != '.';
    if (p->token.kind != PTX_TOKEN_DOUBLE || p->token.length > 4 || !digits)
        return ptx_expected(p, "a version like 8.0");
    int parts[2] = {0, 0}, part = 0;
    for (size_t i = 0; i < p->token.length; i++)
        if (p->token.text[i] == '.')
            part = 1;
        else
            parts[part] = parts[part] * 10 + (p->token.text[i] - '0');
    if (parts[0] < 1 || parts[0] > 20 || parts[1] < 0 || parts[1] > 9)
        return ptx_expected(p, "a version like 8.0");
    p->module->version = parts[0] * 10 + parts[1];
    ptx_advance(p);
    return true;
}

static void unknown_target(struct ptx_parser *p, struct loc where, const char *name)
{
    const char *known[64];
    size_t count = 0;
    for (size_t i = 0; i < ptx_target_count && count < 64; i++) {
        const struct ptx_target *t = &ptx_targets[i].target;
        known[count++] = t->suffix ? arena_printf(p->arena, "sm_%d%c", t->number, t->suffix)
                                   : arena_printf(p->arena, "sm_%d", t->number);
    }
    diag_error(p->diag, where, "unknown target `%s`", name);
    const char *near = text_nearest(name, known, count);
    if (near)
        diag_note(p->diag, where, "the nearest is %s", near);
}

static bool read_target(struct ptx_parser *p)
{
    if (!ptx_accept_dot(p, "target"))
        return ptx_expected(p, ".target after .version");
    do {
        struct loc where = ptx_here(p);
        const char *name = NULL;
        if (!ptx_read_name(p, "a target like sm_80", &name))
            return false;
        if (strcmp(name, "debug") == 0) {
            p->module->debug = true;
        } else if (strncmp(name, "texmode_", 8) == 0) {
            p->module->texture_mode = name;
        } else if (!ptx_target_parse(name, strlen(name), &p->module->target)) {
            unknown_target(p, where, name);
            return false;
        }
    } while (ptx_accept(p, ','));
    return true;
}

static bool read_address_size(struct ptx_parser *p)
{
    struct loc where = ptx_here(p);
    uint64_t size = 0;
    if (!ptx_accept_dot(p, "address_size"))
        return true; /* 32 is the default, but no assembler takes such programs any more: 64 is
                      * meant */
    if (!ptx_read_number(p, "32 or 64", 64, &size))
        return false;
    if (size != 64) {
        diag_error(p->diag, where, "only programs with 64-bit addresses are supported");
        return false;
    }
    return true;
}

/* --- items --- */

static void push_item(struct ptx_parser *p, struct ptx_item item)
{
    vec_push(p->arena, &p->module->items, item);
}

/* Returns the byte of a C escape, given the characters after its backslash, and sets *length to their
 * number. A backslash before any other character means itself. */
static char escaped(const char *s, size_t *length)
{
    static const char letters[] = "\"\\'abfnrtv", values[] = "\"\\'\a\b\f\n\r\t\v";
    const char *letter = *s ? strchr(letters, *s) : NULL;
    unsigned value = 0;
    *length = 0;
    while (*length < 3 && s[*length] >= '0' && s[*length] <= '7')
        value = value * 8 + (unsigned)(s[(*length)++] - '0');
    if (value > 0 && value < 256)
        return (char)value;
    *length = letter ? 1 : 0;
    return letter ? values[letter - letters] : '\\';
}

/* Returns a path as the file system has it: compilers write bytes that are not ASCII in octal. */
static const char *unescaped(struct arena *a, const char *text)
{
    char *out = arena_string(a, text, strlen(text)), *to = out;
    while (*text) {
        size_t length;
        if (*text++ != '\\') {
            *to++ = text[-1];
            continue;
        }
        *to++ = escaped(text, &length);
        text += length;
    }
    *to = '\0';
    return out;
}

static bool read_file(struct ptx_parser *p)
{
    struct ptx_file *file = arena_new(p->arena, struct ptx_file);
    uint64_t number = 0;
    if (!ptx_read_number(p, "the number of a file", UINT32_MAX, &number) ||
        !ptx_read_string(p, &file->name))
        return false;
    file->number = (uint32_t)number;
    file->name = unescaped(p->arena, file->name);
    if (ptx_accept(p, ',')) {
        file->stamped = true;
        if (!ptx_read_number(p, "a time stamp", UINT64_MAX, &file->timestamp) ||
            !ptx_expect(p, ',', "after the time stamp") ||
            !ptx_read_number(p, "a size", UINT64_MAX, &file->size))
            return false;
    }
    push_item(p, (struct ptx_item){.kind = PTX_ITEM_FILE, .file = file});
    return true;
}

static bool read_function_name(struct ptx_parser *p, struct ptx_function **f)
{
    struct loc where = ptx_here(p);
    const char *name = NULL;
    if (!ptx_read_name(p, "a function", &name))
        return false;
    const struct name_entry *found = name_table_find(&p->globals, name, strlen(name));
    if (!found || found->kind != PTX_NAME_FUNCTION) {
        diag_error(p->diag, where, "`%s` is not a function", name);
        return false;
    }
    *f = found->object;
    return true;
}

/* .alias name, function; */
static bool read_alias(struct ptx_parser *p)
{
    struct ptx_alias *alias = arena_new(p->arena, struct ptx_alias);
    if (!read_function_name(p, &alias->name) || !ptx_expect(p, ',', "after the alias") ||
        !read_function_name(p, &alias->function))
        return false;
    push_item(p, (struct ptx_item){.kind = PTX_ITEM_ALIAS, .alias = alias});
    return ptx_expect(p, ';', "after the alias");
}

static bool read_pragma(struct ptx_parser *p)
{
    do {
        const char *text = NULL;
        if (!ptx_read_string(p, &text))
            return false;
        push_item(p, (struct ptx_item){.kind = PTX_ITEM_PRAGMA, .pragma = text});
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';', "after the pragma");
}

static enum ptx_linkage accept_linkage(struct ptx_parser *p)
{
    static const struct {
        const char *word;
        enum ptx_linkage linkage;
    } words[] = {{"visible", PTX_VISIBLE},
                 {"extern", PTX_EXTERN},
                 {"weak", PTX_WEAK},
                 {"common", PTX_COMMON}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (ptx_accept_dot(p, words[i].word))
            return words[i].linkage;
    return PTX_LOCAL;
}

static bool read_linked(struct ptx_parser *p)
{
    enum ptx_linkage linkage = accept_linkage(p);
    if (ptx_is_dot(p, "entry") || ptx_is_dot(p, "func"))
        return ptx_read_function(p, linkage);
    if (ptx_space_here(p))
        return ptx_read_variables(p, linkage);
    return ptx_expected_type(p, "a variable or a function");
}

static bool read_item(struct ptx_parser *p)
{
    if (ptx_accept_dot(p, "file"))
        return read_file(p);
    if (ptx_accept_dot(p, "section"))
        return ptx_read_section(p);
    if (ptx_accept_dot(p, "alias"))
        return read_alias(p);
    if (ptx_accept_dot(p, "pragma"))
        return read_pragma(p);
    return read_linked(p);
}

/* Skips the rest of an item that cannot be read, to the possible start of another. */
static void skip_item(struct ptx_parser *p)
{
    int depth = 0;
    bool moved = false;
    static const char *const starts[] = {"visible", "extern", "weak", "common", "entry", "func"};
    while (p->token.kind != PTX_TOKEN_END) {
        for (size_t i = 0; moved && i < sizeof starts / sizeof *starts; i++)
            if (ptx_is_dot(p, starts[i]))
                return;
        moved = true;
        if (ptx_is_at(p, '{'))
            depth++;
        bool end = (ptx_is_at(p, '}') && --depth <= 0) || (ptx_is_at(p, ';') && depth <= 0);
        ptx_advance(p);
        if (end) {
            ptx_accept(p, ';');
            return;
        }
    }
}

struct ptx_module *ptx_parse_most(struct arena *arena, const struct source *source,
                                  struct diag *diag)
{
    struct ptx_parser p = {.arena = arena, .diag = diag, .source = source};
    if (source->length > UINT32_MAX / 2) {
        diag_error(diag, LOC_NONE, "this text is too long");
        return NULL;
    }
    p.module = ptx_module_new(arena, (struct ptx_target){0, 0});
    p.registers_left = PTX_FREE_REGISTERS + 16 * (uint64_t)source->length;
    ptx_index_init(&p.index, arena);
    name_table_init(&p.globals, arena);
    ptx_scan_start(&p.scanner, source, diag);
    ptx_advance(&p);
    ptx_advance(&p);
    if (!read_version(&p) || !read_target(&p) || !read_address_size(&p))
        return NULL;
    while (p.token.kind != PTX_TOKEN_END && !diag_full(diag))
        if (!read_item(&p))
            skip_item(&p);
    ptx_settle_lines(p.module);
    return p.module;
}

struct ptx_module *ptx_parse(struct arena *arena, const struct source *source, struct diag *diag)
{
    int errors = diag->errors;
    struct ptx_module *m = ptx_parse_most(arena, source, diag);
    return diag->errors == errors ? m : NULL;
}

/* --- functions with errors --- */

bool ptx_is_within(const struct ptx_function *f, struct loc where)
{
    return where.offset >= f->from && where.offset < f->to;
}

bool ptx_is_opaque(const struct ptx_module *m, struct loc where)
{
    for (size_t i = 0; i < m->opaque.count; i++)
        if (m->opaque.data[i] == where.offset)
            return true;
    return false;
}

bool ptx_refuse(struct ptx_module *m, const struct diag *diag)
{
    bool fine = true;
    for (const struct diagnostic *d = diag->first; d; d = d->next) {
        bool found = d->severity != SEV_ERROR;
        for (size_t i = 0; i < m->items.count && !found; i++) {
            struct ptx_function *f = m->items.data[i].function;
            found = m->items.data[i].kind == PTX_ITEM_FUNCTION && ptx_is_within(f, d->loc);
            if (found)
                f->refused = true;
        }
        fine = fine && (found || ptx_is_opaque(m, d->loc));
    }
    return fine;
}

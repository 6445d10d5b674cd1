#include "driver/program_file.h"

#include "base/arena.h"
#include "driver/unpack.h"

#include <string.h>

static const char *problem;

const char *program_file_problem(void)
{
    return problem;
}

/* Returns the bytes of a compressed section; none: they cannot be unpacked. */
static struct dwarf_bytes unpack(struct arena *a, const char *name, struct dwarf_bytes packed)
{
    enum { ZLIB = 1, ZSTD = 2, MOST = 1 << 30 };
    const struct dwarf_bytes none = {NULL, 0};
    Elf64_Chdr head;
    if (packed.length < sizeof head)
        return none;
    memcpy(&head, packed.at, sizeof head);
    const char *from = (const char *)packed.at + sizeof head;
    size_t bytes = packed.length - sizeof head, room = (size_t)head.ch_size;
    if (head.ch_size > MOST || (head.ch_type != ZLIB && head.ch_type != ZSTD))
        return none;
    char *to = arena_alloc(a, room + 1);
    enum unpacked result = head.ch_type == ZLIB ? unpack_zlib(to, room, from, bytes)
                                                : unpack_zstd(to, room, from, bytes);
    if (result == UNPACK_NO_LIBRARY)
        problem = arena_printf(
            a, "the lines of %s are compressed, and %s is not installed; link it with -gz=none",
            name, head.ch_type == ZLIB ? "libz.so.1" : "libzstd.so.1");
    else if (result == UNPACK_DAMAGED)
        problem = arena_printf(a, "the compressed lines of %s are damaged", name);
    return result == UNPACKED ? (struct dwarf_bytes){(const unsigned char *)to, room} : none;
}

void driver_program_debug_sections(struct arena *a, const struct elf_file *f,
                                   struct dwarf_sections *s)
{
    const struct {
        const char *name;
        struct dwarf_bytes *to;
    } list[] = {{".debug_line", &s->line},        {".debug_line_str", &s->line_str},
                {".debug_info", &s->info},        {".debug_abbrev", &s->abbrev},
                {".debug_str", &s->str},          {".debug_str_offsets", &s->str_offsets},
                {".debug_addr", &s->addr},        {".debug_ranges", &s->ranges},
                {".debug_rnglists", &s->rnglists}};
    s->indices = NULL;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct elf_section found;
        *list[i].to = (struct dwarf_bytes){NULL, 0};
        if (!elf_section(f, list[i].name, &found))
            continue;
        *list[i].to = (struct dwarf_bytes){found.bytes, found.length};
        if (found.compressed)
            *list[i].to = unpack(a, f->name, *list[i].to);
    }
}

struct program_file *program_file_at(struct arena *a, const char *path, const char *name)
{
    static VEC(struct program_file *) files;
    for (size_t i = 0; i < files.count; i++)
        if (strcmp(files.data[i]->path, path) == 0)
            return files.data[i];
    struct program_file *f = arena_new(a, struct program_file);
    f->path = arena_string(a, path, strlen(path));
    vec_push(a, &files, f);
    f->readable = elf_open(&f->elf, f->path);
    f->elf.name = arena_string(a, name, strlen(name));
    if (f->readable)
        driver_program_debug_sections(a, &f->elf, &f->debug);
    return f;
}

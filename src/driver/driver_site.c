/* Places in the program: the return addresses of a call; the names of functions, which come from the
 * symbol table of the program's file; and lines, if the program was built with -g. */
#include "driver/driver_task.h"

#include "base/hash.h"
#include "driver/program_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 4 };
static const void *skipped[SKIPPED]; /* bases of libraries of this project */

void driver_site_skip(const void *address)
{
    Dl_info info;
    if (!dladdr(address, &info))
        return;
    for (int i = 0; i < SKIPPED; i++)
        if (!skipped[i] || skipped[i] == info.dli_fbase) {
            skipped[i] = info.dli_fbase;
            return;
        }
}

void driver_site_here(struct driver_site *site)
{
    if (driver.replayed) {
        *site = driver.replayed->site;
        return;
    }
    site->count = backtrace(site->frames, DRIVER_SITE_FRAMES);
}

static bool is_ours(const void *base)
{
    driver_site_skip((const void *)(uintptr_t)driver_site_here);
    for (int i = 0; i < SKIPPED; i++)
        if (skipped[i] == base)
            return true;
    return false;
}

/* Returns the name of the function at an address of the program, and how far in it is. */
static const char *search(const struct elf_file *f, uint64_t base, uint64_t address,
                          uint64_t *offset)
{
    address -= f->fixed ? 0 : base;
    for (size_t i = 0; f->symbols && i < f->count; i++) {
        const Elf64_Sym *s = &f->symbols[i];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || address - s->st_value >= s->st_size ||
            s->st_name >= f->name_bytes)
            continue;
        *offset = address - s->st_value;
        return f->names + s->st_name;
    }
    return NULL;
}

/* --- text --- */

/* The function that has the address, and its lines. */
struct frame {
    const char *name; /* mangled; NULL: not known */
    uint64_t offset;
    Dl_info info;
    struct dwarf_place lines[DWARF_PLACES];
    int line_count;
};

static void find_frame(struct arena *a, uintptr_t address, struct frame *p)
{
    uintptr_t base = (uintptr_t)p->info.dli_fbase;
    bool of_program = strcmp(p->info.dli_fname, program_invocation_name) == 0;
    struct program_file *f =
        program_file_at(a, of_program ? "/proc/self/exe" : p->info.dli_fname, p->info.dli_fname);
    p->name = p->info.dli_sname;
    p->offset = p->name ? address - (uintptr_t)p->info.dli_saddr : 0;
    p->line_count = 0;
    if (!f->readable)
        return;
    if (!p->name)
        p->name = search(&f->elf, base, address, &p->offset);
    p->line_count = dwarf_places(a, &f->debug, address - (f->elf.fixed ? 0 : base), p->lines);
}

/* "void tmpl<64>(float*)" → "tmpl<64>"; "main::{lambda()#1}::operator()() const" → all before "() const" */
static const char *without_types(struct arena *a, const char *text)
{
    size_t start = 0, end = 0;
    for (int depth = 0; text[end] && (depth || text[end] != '('); end++) {
        if (!depth && strncmp(text + end, "operator()(", 11) == 0) {
            end += 10;
            break;
        }
        depth += (text[end] == '<' || text[end] == '{') - (text[end] == '>' || text[end] == '}');
        if (!depth && text[end] == ' ')
            start = end + 1;
    }
    return arena_string(a, text + start, end - start);
}

/* "_ZL10cudaMallocIiE…" → "cudaMalloc": the first identifier of a mangled name. */
static const char *first_identifier(struct arena *a, const char *name)
{
    const char *at = name;
    size_t length = 0;
    if (strncmp(at, "_Z", 2) != 0)
        return name;
    at += at[2] == 'L' ? 3 : 2;
    while (text_is_digit(*at))
        length = length * 10 + (size_t)(*at++ - '0');
    return length && length <= strlen(at) ? arena_string(a, at, length) : name;
}

/* Returns the name as in the source; whole, if the program has the C++ library. */
static const char *plain_name(struct arena *a, const char *name)
{
    char *(*demangle)(const char *, char *, size_t *, int *);
    int status = 0;
    *(void **)&demangle = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    char *text = demangle ? demangle(name, NULL, NULL, &status) : NULL;
    if (!text)
        return first_identifier(a, name);
    const char *kept = without_types(a, text);
    free(text);
    return kept;
}

static const char *describe(struct arena *a, const struct frame *p, uintptr_t address)
{
    const char *file = text_base_name(p->info.dli_fname);
    if (!p->name)
        return arena_printf(a, "%s+0x%llx", file,
                            (unsigned long long)(address - (uintptr_t)p->info.dli_fbase));
    return arena_printf(a, "%s+0x%llx in %s", plain_name(a, p->name), (unsigned long long)p->offset,
                        file);
}

/* "lib::tmpl<a::b>" → "tmpl<a::b>" */
static const char *without_scope(const char *name)
{
    const char *last = name;
    for (int depth = 0; *name; name++) {
        depth += (*name == '<') - (*name == '>');
        if (!depth && name[0] == ':' && name[1] == ':')
            last = name + 2;
    }
    return last;
}

/* Returns true if a function of the host is the one that launches a kernel. The mangled name of a static
 * function has an L before its length, which the kernel's has not, and the compiler may add ".cold". In
 * debug information static functions have only the name of the source. */
static bool is_of_kernel(struct arena *a, const char *name, const char *kernel)
{
    if (strncmp(name, "_Z", 2) != 0)
        return strcmp(name, without_scope(plain_name(a, kernel))) == 0;
    while (*name && (*name == *kernel || (*name == 'L' && text_is_digit(name[1])))) {
        kernel += *name == *kernel;
        name++;
    }
    return !*kernel && (!*name || *name == '.');
}

/* Returns true for functions that nvcc writes to launch a kernel. */
static bool is_launcher(struct arena *a, const char *name, const char *kernel)
{
    return (kernel && is_of_kernel(a, name, kernel)) || strstr(name, "__device_stub_");
}

/* Returns true for those, and for functions of the toolkit's headers, by their names: their caller is
 * the place. */
static bool is_between(struct arena *a, const char *name, const char *kernel)
{
    static const char *const starts[] = {"libcudart_static", "cuda", "__cuda"};
    const char *plain = plain_name(a, name);
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(plain, starts[i], strlen(starts[i])) == 0)
            return true;
    return is_launcher(a, name, kernel);
}

/* Returns true for files of the program: not the headers of the toolkit and of the system, nor the
 * files that nvcc writes. */
static bool is_own_file(const char *file)
{
    bool of_toolkit = strstr(file, "/targets/x86_64-linux/") || strstr(file, "/local/cuda");
    return !(of_toolkit && strstr(file, "/include/")) && !strstr(file, "/cuda_runtime.h") &&
           !strstr(file, ".cudafe1.") && strncmp(file, "/usr/include/", 13) != 0 &&
           strncmp(file, "/usr/lib/", 9) != 0;
}

/* Returns the innermost line of a frame that is the program's own; NULL: it has none. The last of the
 * lines is that of the function, the others are those of functions that were inlined into it. */
static const struct dwarf_place *own_line(struct arena *a, const struct frame *p,
                                          const char *kernel)
{
    for (int i = 0; i < p->line_count; i++) {
        const char *name = i + 1 < p->line_count ? p->lines[i].function : p->name;
        if (is_own_file(p->lines[i].file) && !(name && is_launcher(a, name, kernel)))
            return &p->lines[i];
    }
    return NULL;
}

/* Returns a path for people: relative to the folder in which the program runs, if it is below that. */
static const char *shown_path(const char *path)
{
    char *here = getcwd(NULL, 0);
    size_t length = here ? strlen(here) : 0;
    bool below = length > 1 && strncmp(path, here, length) == 0 && path[length] == '/';
    free(here);
    return below ? path + length + 1 : path;
}

const struct driver_place driver_unknown_place = {.function = "an unknown place",
                                                  .text = "an unknown place"};

static void make_place(struct arena *a, const struct frame *p, uintptr_t address,
                       const struct dwarf_place *line, struct driver_place *out)
{
    *out = (struct driver_place){.function = describe(a, p, address)};
    out->text = out->function;
    if (!line)
        return;
    out->file = line->file;
    out->line = line->line;
    out->text = arena_printf(a, "%s:%d (%s)", shown_path(out->file), out->line, out->function);
}

/* Finds the innermost frame with a line of the program's own. A frame without lines ends the search, and
 * then the innermost frame outside of the functions of is_between is the place. */
static void find_place(struct arena *a, const struct driver_site *site, const char *kernel,
                       struct driver_place *out)
{
    bool is_own = false;
    *out = driver_unknown_place;
    for (int i = 0, found = 0; i < site->count; i++) {
        uintptr_t address = (uintptr_t)site->frames[i] - 1; /* inside of the call */
        struct frame p;
        if (!dladdr((void *)address, &p.info) || is_ours(p.info.dli_fbase))
            continue;
        find_frame(a, address, &p);
        /* in printf of memory of the device, the caller of printf is the place */
        bool of_system = strncmp(text_base_name(p.info.dli_fname), "libc.so", 7) == 0;
        const struct dwarf_place *line = own_line(a, &p, kernel);
        bool between = of_system || (p.name && is_between(a, p.name, kernel));
        if (line || !found++ || (!is_own && !between))
            make_place(a, &p, address, line, out);
        is_own = is_own || !between;
        if (line || (is_own && !p.line_count))
            return;
    }
}

const struct driver_place *driver_site_place(const struct driver_site *site, const char *kernel)
{
    static struct number_map places; /* by the hash of the addresses and the kernel */
    struct arena *a = &driver.arena;
    uint64_t hash =
        hash_bytes(HASH_BEGIN, site->frames, (size_t)site->count * sizeof *site->frames);
    bool added;
    if (kernel)
        hash = hash_bytes(hash, kernel, strlen(kernel));
    const struct number_entry *known = number_map_find(&places, hash);
    if (known)
        return (const struct driver_place *)(uintptr_t)known->value;
    struct driver_place *made = arena_new(a, struct driver_place);
    find_place(a, site, kernel, made);
    number_map_entry(a, &places, hash, &added)->value = (uintptr_t)made;
    return made;
}

const char *driver_site_text(const struct driver_site *site, const char *kernel)
{
    return driver_site_place(site, kernel)->text;
}

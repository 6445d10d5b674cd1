/* Places in the program: the return addresses of a call, and the names of functions, which come from
 * the symbol table of the program's file. */
#include "driver/driver_task.h"
#include "driver/elf_symbols.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>

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

/* The function that has the address. */
struct place {
    const char *name; /* mangled; NULL: not known */
    uint64_t offset;
    Dl_info info;
};

static void find_place(struct arena *a, uintptr_t address, struct place *p)
{
    struct elf_file f;
    p->name = p->info.dli_sname;
    p->offset = p->name ? address - (uintptr_t)p->info.dli_saddr : 0;
    if (p->name || !elf_open(&f, p->info.dli_fname))
        return;
    p->name = search(&f, (uintptr_t)p->info.dli_fbase, address, &p->offset);
    p->name = p->name ? arena_string(a, p->name, strlen(p->name)) : NULL;
    elf_close(&f);
}

/* "void tmpl<64>(float*)" → "tmpl<64>" */
static const char *without_types(struct arena *a, const char *text)
{
    size_t start = 0, end = 0;
    for (int depth = 0; text[end] && (depth || text[end] != '('); end++) {
        depth += (text[end] == '<') - (text[end] == '>');
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

static const char *describe(struct arena *a, const struct place *p, uintptr_t address)
{
    const char *file = text_base_name(p->info.dli_fname);
    if (!p->name)
        return arena_printf(a, "%s+0x%llx", file,
                            (unsigned long long)(address - (uintptr_t)p->info.dli_fbase));
    return arena_printf(a, "%s+0x%llx in %s", plain_name(a, p->name), (unsigned long long)p->offset,
                        file);
}

/* Returns true for functions of the toolkit's headers, and for those that nvcc writes to launch a
 * kernel: their caller is the place. */
static bool is_between(struct arena *a, const char *name, const char *kernel)
{
    static const char *const starts[] = {"libcudart_static", "cuda", "__cuda", "__device_stub__",
                                         "__wrapper__device"};
    const char *plain = plain_name(a, name);
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncmp(plain, starts[i], strlen(starts[i])) == 0)
            return true;
    return (kernel && strcmp(name, kernel) == 0) || strstr(name, "__device_stub_");
}

const char *driver_site_text(struct arena *a, const struct driver_site *site, const char *kernel)
{
    const char *first = NULL;
    for (int i = 0; i < site->count; i++) {
        uintptr_t address = (uintptr_t)site->frames[i] - 1; /* inside of the call */
        struct place p;
        if (!dladdr((void *)address, &p.info) || is_ours(p.info.dli_fbase))
            continue;
        find_place(a, address, &p);
        const char *text = describe(a, &p, address);
        bool of_system = strncmp(text_base_name(p.info.dli_fname), "libc.so", 7) == 0;
        /* in printf of memory of the device, the caller of printf is the place */
        if (!of_system && (!p.name || !is_between(a, p.name, kernel)))
            return text;
        first = first ? first : text;
    }
    return first ? first : "an unknown place";
}

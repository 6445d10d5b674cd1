/* Programs that contain the runtime themselves: nvcc links it statically unless `-cudart shared` is
 * given. That runtime asks the driver for tables that NVIDIA does not publish. So the program's own
 * copies of the published functions are replaced before it starts: their first bytes become jumps to
 * this library, whose addresses the program's symbol table gives. `tilewright` preloads this library
 * for that. */
#include "runtime/runtime.h"

#include "driver/elf_symbols.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__) && RUNTIME_VERSION == 13

enum { JUMP = 5, TRAMPOLINE = 32 };

/* The program's runtime: its functions from `low` to `high`, by virtual addresses of the file. */
struct contained {
    struct elf_file file;
    uintptr_t base; /* where the program is loaded */
    uint64_t low, high;
    int count;
    void *opened; /* the library that has the functions of its version */
    unsigned char *trampolines;
};

static const char *name_of(const struct contained *c, const Elf64_Sym *s)
{
    bool is_function = ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_value && s->st_size >= JUMP &&
                       s->st_name < c->file.name_bytes;
    const char *name = is_function ? c->file.names + s->st_name : "";
    if (strncmp(name, "__cuda", 6) == 0 || strncmp(name, "cuda", 4) == 0)
        return name;
    return NULL;
}

/* --- code --- */

static unsigned char *put(unsigned char *at, const void *bytes, size_t count)
{
    memcpy(at, bytes, count);
    return at + count;
}

/* Writes a jump to a target anywhere; with `name` in the register of the first argument, unless it is
 * NULL. */
static void write_trampoline(unsigned char *at, const void *target, const char *name)
{
    if (name) { /* movabs name, %rdi */
        at = put(at, "\x48\xbf", 2);
        at = put(at, &name, 8);
    }
    at = put(at, "\x49\xbb", 2); /* movabs target, %r11 */
    at = put(at, &target, 8);
    put(at, "\x41\xff\xe3", 3); /* jmp *%r11 */
}

static void write_jump(unsigned char *at, const unsigned char *target)
{
    int32_t distance = (int32_t)(target - (at + JUMP));
    at[0] = 0xe9;
    memcpy(at + 1, &distance, sizeof distance);
}

/* Maps memory for trampolines that jumps of 32 bits reach. */
static bool map_near(struct contained *c)
{
    enum { STEP = 1 << 20, TRIES = 1000 };
    size_t bytes = (size_t)c->count * TRAMPOLINE;
    uintptr_t from = (c->base + c->high) / STEP * STEP;
    for (int i = 1; i < TRIES; i++)
        for (int way = -1; way <= 1; way += 2) {
            uintptr_t wanted = from + (uintptr_t)(way * i) * STEP;
            void *at = mmap((void *)wanted, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (at == (void *)wanted) {
                c->trampolines = at;
                return true;
            }
            if (at != MAP_FAILED)
                munmap(at, bytes);
        }
    return false;
}

static bool protect(const struct contained *c, int how)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = (c->base + c->low) / page * page, end = c->base + c->high + JUMP;
    return mprotect((void *)from, end - from, how) == 0;
}

static void replace(const struct contained *c)
{
    unsigned char *next = c->trampolines;
    for (size_t i = 0; i < c->file.count; i++) {
        const Elf64_Sym *s = &c->file.symbols[i];
        const char *name = name_of(c, s);
        if (!name || s->st_value < c->low || s->st_value > c->high)
            continue;
        void *target = dlsym(c->opened, name);
        const void *report_missing = (const void *)(uintptr_t)runtime_missing;
        write_trampoline(next, target ? target : report_missing, target ? NULL : strdup(name));
        write_jump((unsigned char *)(c->base + s->st_value), next);
        next += TRAMPOLINE;
    }
}

/* --- the program --- */

/* Finds the range of the runtime's functions: those that this library has, too. */
static void find_range(struct contained *c)
{
    for (size_t i = 0; i < c->file.count; i++) {
        const Elf64_Sym *s = &c->file.symbols[i];
        const char *name = name_of(c, s);
        if (!name || !dlsym(c->opened, name))
            continue;
        if (!c->low || s->st_value < c->low)
            c->low = s->st_value;
        if (s->st_value > c->high)
            c->high = s->st_value;
    }
    for (size_t i = 0; i < c->file.count; i++) {
        const Elf64_Sym *s = &c->file.symbols[i];
        c->count += name_of(c, s) && s->st_value >= c->low && s->st_value <= c->high;
    }
}

static bool has(const struct contained *c, const char *wanted)
{
    for (size_t i = 0; i < c->file.count; i++) {
        const char *name = name_of(c, &c->file.symbols[i]);
        if (name && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* Opens the library for the version of the program's runtime: this one, or its neighbour. */
static void *open_version(const struct contained *c)
{
    Dl_info info;
    char path[4096];
    if (!dladdr((const void *)(uintptr_t)open_version, &info))
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) : 0;
    bool old = has(c, "cudaGetDeviceProperties_v2");
    snprintf(path, sizeof path, "%.*s/libcudart.so.%d", folder, info.dli_fname, old ? 12 : 13);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The first object of the list is the program. */
static int take_base(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    *(uintptr_t *)user = info->dlpi_addr;
    return 1;
}

__attribute__((constructor)) static void replace_contained_runtime(void)
{
    struct contained c = {.base = 0};
    if (!elf_open(&c.file, "/proc/self/exe"))
        return;
    dl_iterate_phdr(take_base, &c.base);
    if (c.file.symbols && has(&c, "__cudaRegisterFatBinary"))
        c.opened = open_version(&c);
    if (c.opened)
        find_range(&c);
    if (c.count && map_near(&c) && protect(&c, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        replace(&c);
        mprotect(c.trampolines, (size_t)c.count * TRAMPOLINE, PROT_READ | PROT_EXEC);
        protect(&c, PROT_READ | PROT_EXEC);
    }
    elf_close(&c.file);
}

#endif

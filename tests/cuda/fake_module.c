/* Modules: PTX, or a "cubin" of fake_ptxas, which is a mark with the PTX after it. */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>

static const char mark[8] = "FAKECUB";

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 }; /* CUjit_option */

/* Writes the text to the caller's buffer for errors, if it gave one. */
static void tell(unsigned count, const int *options, void **values, const char *text)
{
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == JIT_ERROR_LOG)
            log = values[i];
        if (options[i] == JIT_ERROR_LOG_BYTES)
            room = (size_t)(uintptr_t)values[i];
    }
    if (log && room)
        snprintf(log, room, "%s", text);
}

/* CUDA 13.0 accepts PTX up to 9.0, 12.4 up to 8.4 (PTX ISA, "PTX ISA Version History";
 * approximate from 12.5 on). */
static bool takes_version(const struct ptx_module *m)
{
    int driver = (int)fake_setting("FAKE_CUDA_VERSION", 13000);
    return m->version <= (driver / 1000 - 4) * 10 + driver % 1000 / 10;
}

static int read_module(struct fake_module *m, const char *text, struct text *log)
{
    size_t length = strlen(text);
    diag_init(&m->diag, &m->arena);
    m->source = (struct source){"kernel.ptx", arena_string(&m->arena, text, length), length};
    m->module = ptx_parse(&m->arena, &m->source, &m->diag);
    if (!m->module || !ptx_verify(m->module, &m->diag)) {
        diag_render(log, &m->diag, false);
        return INVALID_PTX;
    }
    if (!takes_version(m->module))
        return UNSUPPORTED_PTX;
    return m->module->target.number > fake_capability() ? NO_BINARY : GOOD;
}

/* The simulator identifies functions and variables by address, so unloaded modules are kept to
 * the end: their addresses are not reused. */
static struct fake_object *unloaded;

void fake_module_free(struct fake_module *m)
{
    fake_forget_module(m);
    fake_remove(m);
    m->object.next = unloaded;
    unloaded = &m->object;
}

__attribute__((destructor)) static void finish(void)
{
    while (unloaded) {
        struct fake_module *m = (struct fake_module *)unloaded;
        unloaded = unloaded->next;
        arena_free(&m->arena);
        free(m);
    }
}

static int load(struct fake_module **out, const char *text, unsigned count, const int *options,
                void **values)
{
    struct fake_module *m = fake_new(FAKE_MODULE, sizeof *m);
    if (!m)
        return NO_MEMORY;
    arena_init(&m->arena, &allocator_libc, &m->out_of_memory);
    if (setjmp(m->out_of_memory)) {
        fake_module_free(m);
        return NO_MEMORY;
    }
    struct text log;
    text_init(&log, &m->arena);
    int result = read_module(m, text, &log);
    if (result)
        tell(count, options, values, log.data);
    if (result)
        fake_module_free(m);
    else
        *out = m;
    return result;
}

API int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                           void **values)
{
    FAKE_UNSAFE;
    bool cubin = strncmp(image, mark, sizeof mark) == 0;
    struct fake_module *m = NULL;
    int result = load(&m, (const char *)image + (cubin ? sizeof mark : 0), count, options, values);
    *module = m;
    return result;
}

API int cuModuleUnload(void *module)
{
    FAKE_RELEASE;
    if (fake_current_device() < 0 || !fake_object(module, FAKE_MODULE))
        return INVALID_HANDLE;
    int result = fake_state() ? fake_state() : fake_drain();
    fake_module_free(module);
    return entered ? entered : result;
}

API int cuModuleGetFunction(void **function, void *module, const char *name)
{
    FAKE_CONTEXT;
    struct fake_module *m = fake_object(module, FAKE_MODULE);
    const struct ptx_function *found = m ? ptx_find_function(m->module, name) : NULL;
    if (!found)
        return m ? NOT_FOUND : INVALID_HANDLE;
    if (setjmp(m->out_of_memory))
        return NO_MEMORY;
    struct fake_kernel *k = arena_new(&m->arena, struct fake_kernel);
    *k = (struct fake_kernel){.from = m, .function = found, .dynamic_shared = 48 * 1024};
    *function = k;
    return GOOD;
}

#ifndef FAKE_CUDA_OLD
API int cuFuncLoad(void *function)
{
    FAKE_UNSAFE;
    return function ? GOOD : INVALID_HANDLE;
}
#endif

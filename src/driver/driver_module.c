/* Modules: PTX, or fat binaries that have PTX; their kernels and variables. A library is a module,
 * and a kernel's handle is a function's. Unloaded modules keep their memory, because findings point
 * into them. */
#include "driver/driver.h"

#include "base/platform.h"
#include "driver/driver_order.h"
#include "driver/fat_binary.h"
#include "driver/ptx_link.h"
#include "sim/sim_machine.h"
#include "target/gpus.h"

#include <string.h>

enum { JIT_ERROR_LOG = 5, JIT_ERROR_LOG_BYTES = 6 }; /* CUjit_option */

/* The caller's options of a load. */
struct jit {
    unsigned count;
    const int *options;
    void *const *values;
};

static void tell(const struct jit *jit, const char *text)
{
    char *log = NULL;
    size_t room = 0;
    for (unsigned i = 0; i < jit->count; i++) {
        if (jit->options[i] == JIT_ERROR_LOG)
            log = jit->values[i];
        if (jit->options[i] == JIT_ERROR_LOG_BYTES)
            room = (size_t)(uintptr_t)jit->values[i];
    }
    if (log && room)
        snprintf(log, room, "%s", text);
}

/* --- reading --- */

struct load_call {
    const void *image;
    struct jit jit;
    struct driver_module *made;
};

/* Returns the image's PTX in the driver's arena; NULL after a report. */
static const char *ptx_of(const void *image, int *result)
{
    struct arena *a = &driver.arena;
    const char *why, *text;
    size_t length;
    switch (fat_image_of(image)) {
    case FAT_TEXT: return arena_string(a, image, strlen(image));
    case FAT_MACHINE_CODE:
        *result = DRIVER_NO_BINARY;
        driver_refuse("no-ptx", NULL,
                      "a module is machine code alone, which cannot be simulated; load its "
                      "PTX");
        return NULL;
    case FAT_BINARY: break;
    }
    text = fat_ptx(a, image, driver.settings.gpu->capability, &length, &why);
    if (text)
        return text;
    *result = DRIVER_NO_BINARY;
    driver_refuse("no-ptx", NULL, "the program's kernels cannot be simulated: %s", why);
    return NULL;
}

/* Links a text that calls cudaGraphSetConditional with its definition, which the machine code of a GPU
 * has: the handle is the address of a value and of a mark (driver_task.h, driver_condition). */
static const char *link_functions(const char *text)
{
    static const char set_conditional[] =
        ".version 6.0\n.target sm_50\n.address_size 64\n"
        ".visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
        "{\n\t.reg .b64 %at;\n\t.reg .b32 %value;\n"
        "\tld.param.b64 %at, [handle];\n\tld.param.b32 %value, [value];\n"
        "\tst.global.v2.b32 [%at], {%value, 1};\n\tret;\n}\n";
    const char *texts[] = {text, set_conditional}, *why;
    if (!strstr(text, ".extern .func cudaGraphSetConditional"))
        return text;
    const char *linked =
        driver_ptx_link(&driver.arena, texts, sizeof texts / sizeof texts[0], &why);
    return linked ? linked : text;
}

/* Parses the text. An error in a function affects only the kernels that need it. */
static bool read_text(struct driver_module *m)
{
    enum { MOST_ERRORS = 1000 };
    diag_init(&m->found, &m->arena);
    m->found.limit = MOST_ERRORS;
    m->module = ptx_parse_most(&m->arena, &m->source, &m->found);
    if (!m->module || !ptx_refuse(m->module, &m->found) || diag_full(&m->found))
        return false;
    ptx_verify(m->module, &m->found);
    return ptx_refuse(m->module, &m->found) && !diag_full(&m->found);
}

static void read_sources(struct driver_module *m)
{
    for (size_t i = 0; i < m->module->items.count; i++) {
        const struct ptx_item *item = &m->module->items.data[i];
        size_t length;
        const char *why, *text;
        if (item->kind != PTX_ITEM_FILE || !platform_file_exists(item->file->name))
            continue;
        text = platform_read_file(&m->arena, item->file->name, &length, &why);
        if (!text)
            continue;
        struct source *s = arena_new(&m->arena, struct source);
        *s = (struct source){item->file->name, text, length};
        vec_push(&m->arena, &m->sources, s);
    }
}

/* Returns the reason why a function cannot be simulated: it calls one that neither the program nor
 * the machine has. NULL: there is none. */
static const char *undefined_call(struct driver_module *m, const struct ptx_function *f)
{
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        if (s->kind != PTX_AT_INSTRUCTION || s->instruction->op != PTX_CALL ||
            s->instruction->operand_count < 2)
            continue;
        const struct ptx_operand *o = &s->instruction->operands[1];
        if (o->kind == PTX_SYMBOL && o->base == PTX_BASE_FUNCTION && !o->function->defined &&
            !sim_builtin(o->function->name))
            return arena_printf(&m->arena,
                                "the program has no definition of the function `%s`: link the "
                                "object file that has it",
                                ptx_plain_name(&m->arena, o->function->name));
    }
    return NULL;
}

/* Returns the reason why a kernel, or a function that it reaches, cannot be simulated. */
static const char *why_refused(struct driver_module *m, const struct ptx_function *kernel)
{
    struct ptx_reach r = {.arena = &m->arena, .module = m->module};
    ptx_reach(&r, kernel);
    for (size_t i = 0; i < r.functions.count; i++) {
        const struct ptx_function *f = r.functions.data[i];
        const struct diagnostic *d = m->found.first;
        if (strncmp(f->name, "__cudaCDP", strlen("__cudaCDP")) == 0)
            return "kernels that launch kernels are not supported; let the host launch them";
        while (f->refused && d && !(d->severity == SEV_ERROR && ptx_is_within(f, d->loc)))
            d = d->next;
        if (f->refused)
            return d ? d->message : "it has parts that are not known";
    }
    const char *why = NULL;
    for (size_t i = 0; i < r.functions.count && !why; i++)
        why = undefined_call(m, r.functions.data[i]);
    return why;
}

/* Returns true for an instruction by which accesses of different blocks may be ordered: a fence, an
 * acquire or release, a volatile access. */
static bool orders_blocks(const struct ptx_instruction *ins)
{
    return ins->op == PTX_FENCE || ins->op == PTX_MEMBAR || ptx_has(ins, MOD_ACQUIRE) ||
           ptx_has(ins, MOD_RELEASE) || ptx_has(ins, MOD_ACQ_REL) || ptx_has(ins, MOD_VOLATILE);
}

/* Finds out what a kernel's instructions say of the order of blocks and of kernels. */
static void scan(struct driver_module *m, struct driver_kernel *kernel)
{
    struct ptx_reach r = {.arena = &m->arena, .module = m->module};
    ptx_reach(&r, kernel->function);
    for (size_t i = 0; i < r.functions.count; i++)
        for (size_t k = 0; k < r.functions.data[i]->body.count; k++) {
            const struct ptx_statement *s = &r.functions.data[i]->body.data[k];
            if (s->kind != PTX_AT_INSTRUCTION)
                continue;
            kernel->orders_blocks = kernel->orders_blocks || orders_blocks(s->instruction);
            kernel->controls_grids =
                kernel->controls_grids || s->instruction->op == PTX_GRIDDEPCONTROL;
        }
    if (kernel->controls_grids)
        driver_order_expect_overlaps();
}

static void add_kernels(struct driver_module *m)
{
    for (size_t i = 0; i < m->module->items.count; i++) {
        const struct ptx_item *item = &m->module->items.data[i];
        if (item->kind != PTX_ITEM_FUNCTION || !item->function->entry || !item->function->defined)
            continue;
        struct driver_kernel *k = driver_new(DRIVER_KERNEL, sizeof *k);
        if (!k)
            longjmp(driver.out_of_memory, 1);
        *k = (struct driver_kernel){.from = m,
                                    .function = item->function,
                                    .shown = ptx_plain_name(&m->arena, item->function->name),
                                    .dynamic_shared = GPU_STATIC_SHARED,
                                    .static_shared = -1,
                                    .refused = why_refused(m, item->function)};
        scan(m, k);
        vec_push(&m->arena, &m->kernels, k);
    }
}

/* Places the variables that the host names, too: __managed__. */
static bool place_variables(const struct driver_module *m)
{
    for (size_t i = 0; i < m->module->items.count; i++) {
        const struct ptx_item *item = &m->module->items.data[i];
        if (item->kind == PTX_ITEM_VARIABLE && item->variable->attribute &&
            strcmp(item->variable->attribute, ".managed") == 0 &&
            !driver_place_managed(item->variable))
            return false;
    }
    return true;
}

static int refuse_text(struct driver_module *m, const struct jit *jit)
{
    struct text text;
    text_init(&text, &m->arena);
    diag_render(&text, &m->found, false);
    tell(jit, text.data ? text.data : "");
    driver_refuse("bad-ptx", NULL, "%s", text.data ? text.data : "a module is not PTX");
    return DRIVER_INVALID_PTX;
}

static int load(void *user)
{
    struct load_call *call = user;
    int result = DRIVER_INVALID_IMAGE;
    const char *text = ptx_of(call->image, &result);
    if (!text)
        return result;
    struct driver_module *m = driver_new(DRIVER_MODULE, sizeof *m);
    if (!m)
        return DRIVER_OUT_OF_MEMORY;
    arena_init(&m->arena, &allocator_libc, &driver.out_of_memory);
    text = link_functions(text);
    m->source = (struct source){"module.ptx", text, strlen(text)};
    if (!read_text(m)) {
        driver_retire(m);
        return refuse_text(m, &call->jit);
    }
    if (m->module->target.number > driver.settings.gpu->capability) {
        driver_retire(m);
        return DRIVER_NO_BINARY;
    }
    read_sources(m);
    driver_trace_module(m);
    add_kernels(m);
    call->made = m;
    return place_variables(m) && driver_machine_load(m) ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
}

static int load_image(void **module, const void *image, const struct jit *jit)
{
    struct load_call call = {.image = image, .jit = *jit};
    if (!module || !image)
        return DRIVER_INVALID_VALUE;
    int result = driver_guard(load, &call);
    *module = result == DRIVER_SUCCESS ? call.made : NULL;
    return result;
}

int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                       void **values)
{
    IN_CONTEXT;
    return load_image(module, image, &(struct jit){count, options, values});
}

int cuModuleLoadData(void **module, const void *image)
{
    IN_CONTEXT;
    return load_image(module, image, &(struct jit){0});
}

int cuModuleLoadFatBinary(void **module, const void *image)
{
    IN_CONTEXT;
    return load_image(module, image, &(struct jit){0});
}

struct file_call {
    const char *path, *text;
};

static int read_file(void *user)
{
    struct file_call *call = user;
    size_t length;
    const char *why;
    call->text = platform_read_file(&driver.arena, call->path, &length, &why);
    return call->text ? DRIVER_SUCCESS : DRIVER_FILE_NOT_FOUND;
}

int cuModuleLoad(void **module, const char *path)
{
    IN_CONTEXT;
    struct file_call call = {.path = path};
    if (!module || !path)
        return DRIVER_INVALID_VALUE;
    int result = driver_guard(read_file, &call);
    return result == DRIVER_SUCCESS ? load_image(module, call.text, &(struct jit){0}) : result;
}

int cuModuleUnload(void *module)
{
    IN_CONTEXT;
    const struct driver_module *m = driver_object(module, DRIVER_MODULE);
    if (!m)
        return DRIVER_INVALID_HANDLE;
    for (size_t i = 0; i < m->kernels.count; i++)
        driver_retire(m->kernels.data[i]);
    driver_retire(m);
    return DRIVER_SUCCESS;
}

int cuModuleGetLoadingMode(int *mode)
{
    IN_CONTEXT;
    if (!mode)
        return DRIVER_INVALID_VALUE;
    *mode = 1; /* eager */
    return DRIVER_SUCCESS;
}

/* --- what a module has --- */

struct driver_kernel *driver_kernel_of(const void *handle)
{
    return driver_object(handle, DRIVER_KERNEL);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    IN_CONTEXT;
    const struct driver_module *m = driver_object(module, DRIVER_MODULE);
    if (!m || !function || !name)
        return m ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    for (size_t i = 0; i < m->kernels.count; i++)
        if (strcmp(m->kernels.data[i]->function->name, name) == 0) {
            *function = m->kernels.data[i];
            return DRIVER_SUCCESS;
        }
    return DRIVER_NOT_FOUND;
}

struct global_call {
    const struct driver_module *from;
    const char *name;
    uint64_t address, bytes;
};

static int find_global(void *user)
{
    struct global_call *call = user;
    const struct ptx_variable *v = ptx_find_variable(call->from->module, call->name);
    if (!v || (v->space != MOD_GLOBAL && v->space != MOD_CONST))
        return DRIVER_NOT_FOUND;
    call->bytes = ptx_variable_size(v);
    return sim_variable(driver_machine(), v, &call->address) ? DRIVER_SUCCESS : DRIVER_NOT_FOUND;
}

int cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name)
{
    IN_CONTEXT;
    struct global_call call = {.from = driver_object(module, DRIVER_MODULE), .name = name};
    if (!call.from || !name)
        return name ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    int result = driver_guard(find_global, &call);
    if (result == DRIVER_SUCCESS && address)
        *address = call.address;
    if (result == DRIVER_SUCCESS && bytes)
        *bytes = (size_t)call.bytes;
    return result;
}

/* --- libraries --- */

int cuLibraryLoadData(void **library, const void *image, int *jit, void **jit_values,
                      unsigned jit_count, int *options, void **values, unsigned count)
{
    IN_CONTEXT;
    (void)options, (void)values, (void)count;
    return load_image(library, image, &(struct jit){jit_count, jit, jit_values});
}

int cuLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values,
                          unsigned jit_count, int *options, void **values, unsigned count)
{
    ENTER;
    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    return cuModuleLoad(library, path);
}

ENTRY(cuLibraryUnload, (void *library), cuModuleUnload(library))
ENTRY(cuLibraryGetKernel, (void **kernel, void *library, const char *name),
      cuModuleGetFunction(kernel, library, name))

int cuModuleGetFunctionCount(unsigned *count, void *module)
{
    IN_CONTEXT;
    const struct driver_module *m = driver_object(module, DRIVER_MODULE);
    if (!m || !count)
        return m ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    *count = (unsigned)m->kernels.count;
    return DRIVER_SUCCESS;
}

int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module)
{
    IN_CONTEXT;
    const struct driver_module *m = driver_object(module, DRIVER_MODULE);
    if (!m || !functions)
        return m ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    for (unsigned i = 0; i < count && i < m->kernels.count; i++)
        functions[i] = m->kernels.data[i];
    return DRIVER_SUCCESS;
}

ENTRY(cuLibraryGetKernelCount, (unsigned *count, void *library),
      cuModuleGetFunctionCount(count, library))
ENTRY(cuLibraryEnumerateKernels, (void **kernels, unsigned count, void *library),
      cuModuleEnumerateFunctions(kernels, count, library))

int cuKernelGetLibrary(void **library, void *kernel)
{
    IN_CONTEXT;
    const struct driver_kernel *k = driver_kernel_of(kernel);
    if (!k || !library)
        return k ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    *library = k->from;
    return DRIVER_SUCCESS;
}

int cuLibraryGetModule(void **module, void *library)
{
    IN_CONTEXT;
    if (!module || !driver_object(library, DRIVER_MODULE))
        return module ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    *module = library;
    return DRIVER_SUCCESS;
}

ENTRY(cuLibraryGetGlobal, (uint64_t * address, size_t *bytes, void *library, const char *name),
      cuModuleGetGlobal_v2(address, bytes, library, name))

int cuKernelGetFunction(void **function, void *kernel)
{
    IN_CONTEXT;
    if (!function || !driver_kernel_of(kernel))
        return function ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    *function = kernel;
    return DRIVER_SUCCESS;
}

int cuFuncGetName(const char **name, void *function)
{
    IN_CONTEXT;
    const struct driver_kernel *k = driver_kernel_of(function);
    if (!name || !k)
        return name ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    *name = k->function->name;
    return DRIVER_SUCCESS;
}

ENTRY(cuKernelGetName, (const char **name, void *kernel), cuFuncGetName(name, kernel))

int cuFuncGetModule(void **module, void *function)
{
    IN_CONTEXT;
    const struct driver_kernel *k = driver_kernel_of(function);
    if (!module || !k)
        return module ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    *module = k->from;
    return DRIVER_SUCCESS;
}

CONTEXT_ENTRY(cuFuncLoad, (void *function),
              driver_kernel_of(function) ? DRIVER_SUCCESS : DRIVER_INVALID_HANDLE)

int cuFuncSetSharedMemConfig(void *function, int config)
{
    IN_CONTEXT;
    if (!driver_kernel_of(function))
        return DRIVER_INVALID_HANDLE;
    return config >= 0 && config <= DRIVER_MOST_BANKS ? DRIVER_SUCCESS : DRIVER_INVALID_VALUE;
}

/* Every kernel is loaded with its module. */
int cuFuncIsLoaded(int *state, void *function)
{
    enum { LOADED = 1 };
    IN_CONTEXT;
    if (!driver_kernel_of(function))
        return DRIVER_INVALID_HANDLE;
    if (!state)
        return DRIVER_INVALID_VALUE;
    *state = LOADED;
    return DRIVER_SUCCESS;
}

/* Linking by the program itself (cuLink…): PTX and fat binaries become one text of PTX, which takes the
 * place of the machine code. */
#include "driver/driver.h"

#include "base/platform.h"
#include "driver/fat_binary.h"
#include "driver/ptx_link.h"
#include "target/gpus.h"

#include <string.h>

enum input { INPUT_PTX = 1, INPUT_FAT_BINARY = 2 }; /* CUjitInputType */

struct link {
    VEC(const char *) texts; /* these and the result are in the driver's arena */
    char *linked;
};

struct link_call {
    struct link *link;
    int type;
    const void *data;
    size_t bytes;
    const char *path; /* NULL: data */
};

static int refuse(const char *why)
{
    return driver_unsupported(
        arena_printf(&driver.arena,
                     "the input of a link cannot be simulated: %s; give PTX, or a fat "
                     "binary that has PTX",
                     why));
}

static int add(void *user)
{
    struct link_call *call = user;
    struct arena *a = &driver.arena;
    const char *why = "it is machine code, an object file or a library", *text = NULL;
    if (call->path) {
        call->data = platform_read_file(a, call->path, &call->bytes, &why);
        if (!call->data)
            return DRIVER_FILE_NOT_FOUND;
    }
    if (call->type == INPUT_PTX)
        text = arena_string(a, call->data, strnlen(call->data, call->bytes));
    else if (call->type == INPUT_FAT_BINARY)
        text = fat_ptx(a, call->data, driver.settings.gpu->capability, &call->bytes, &why);
    if (!text)
        return refuse(why);
    vec_push(a, &call->link->texts, text);
    return DRIVER_SUCCESS;
}

static int complete(void *user)
{
    const struct link_call *call = user;
    const char *why;
    struct link *l = call->link;
    l->linked = driver_ptx_link(&driver.arena, l->texts.data, l->texts.count, &why);
    if (l->linked)
        return DRIVER_SUCCESS;
    driver_refuse("bad-ptx", NULL, "a link failed: %s", why);
    return DRIVER_INVALID_PTX;
}

int cuLinkCreate_v2(unsigned count, int *options, void **values, void **state)
{
    IN_CONTEXT;
    (void)count, (void)options, (void)values;
    if (!state)
        return DRIVER_INVALID_VALUE;
    *state = driver_new(DRIVER_LINK, sizeof(struct link));
    return *state ? DRIVER_SUCCESS : DRIVER_OUT_OF_MEMORY;
}

int cuLinkAddData_v2(void *state, int type, void *data, size_t bytes, const char *name,
                     unsigned count, int *options, void **values)
{
    IN_CONTEXT;
    (void)name, (void)count, (void)options, (void)values;
    struct link_call call = {
        .link = driver_object(state, DRIVER_LINK), .type = type, .data = data, .bytes = bytes};
    if (!call.link || !data)
        return call.link ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    return driver_guard(add, &call);
}

int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *options,
                     void **values)
{
    IN_CONTEXT;
    (void)count, (void)options, (void)values;
    struct link_call call = {.link = driver_object(state, DRIVER_LINK), .type = type, .path = path};
    if (!call.link || !path)
        return call.link ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    return driver_guard(add, &call);
}

int cuLinkComplete(void *state, void **image, size_t *bytes)
{
    IN_CONTEXT;
    struct link_call call = {.link = driver_object(state, DRIVER_LINK)};
    if (!call.link || !image)
        return call.link ? DRIVER_INVALID_VALUE : DRIVER_INVALID_HANDLE;
    int result = driver_guard(complete, &call);
    *image = result == DRIVER_SUCCESS ? call.link->linked : NULL;
    if (bytes)
        *bytes = *image ? strlen(*image) + 1 : 0;
    return result;
}

int cuLinkDestroy(void *state)
{
    IN_CONTEXT;
    struct link *l = driver_object(state, DRIVER_LINK);
    if (!l)
        return DRIVER_INVALID_HANDLE;
    driver_delete(l);
    return DRIVER_SUCCESS;
}

/* Finds the targets and the kernels that the command line of `build` names. */
#include "build/build.h"
#include "cli/device_asked.h"

#include <stdlib.h>
#include <string.h>

/* Adds a device for families. device: a GPU's name, or the target again. */
static void add_device(struct builder *b, const char *target, const char *device)
{
    tw_device here = tw_device_init();
    const char *name = strcmp(target, device) == 0 ? NULL : device;
    if (!name && strcmp(target, "cpu") != 0 && device_named(target, &here)) /* cuda */
        name = here.model;
    for (int i = 0; i < b->device_count; i++)
        if (strcmp(b->devices[i].target, target) == 0 &&
            (name && b->devices[i].device ? strcmp(b->devices[i].device, name) == 0
                                          : name == b->devices[i].device))
            return;
    if (b->device_count < BUILD_TARGETS)
        b->devices[b->device_count++] =
            (struct built_device){need_text("%s", target), name ? need_text("%s", name) : NULL};
}

static int add_target(struct builder *b, const char *name, size_t length)
{
    char *target = need_text("%.*s", (int)length, name), room[16];
    char *device = need_text("%s", target);
    if (target_called(target, room)) {
        free(target);
        target = need_text("%s", room);
    }
    add_device(b, target, device);
    free(device);
    bool again = false;
    for (int i = 0; i < b->target_count; i++)
        again = again || strcmp(b->targets[i], target) == 0;
    int status = STATUS_OK;
    char *hint = capability_hint(target);
    if (strcmp(target, "cpu") != 0 && !names_gpu(target))
        status = usage_error(NULL, b->self,
                             "--device %s: there are cpu, sm_80 and up, a GPU by name (h100), and "
                             "cuda, the GPU that is here%s",
                             target, hint);
    else if (b->target_count == BUILD_TARGETS)
        status = usage_error(NULL, b->self, "--device: at most %d", BUILD_TARGETS);
    free(hint);
    if (status != STATUS_OK || again) {
        free(target);
        return status;
    }
    b->targets[b->target_count++] = target;
    return STATUS_OK;
}

int build_find_targets(struct builder *b)
{
    int status = STATUS_OK;
    for (const struct option_use *u = NULL;
         status == STATUS_OK && (u = options_next(b->given, "device", u));)
        for (const char *at = u->values[0]; *at && status == STATUS_OK;) {
            size_t length = strcspn(at, ",");
            status = add_target(b, at, length);
            at += length + (at[length] == ',');
        }
    return status == STATUS_OK && b->target_count == 0 ? add_target(b, "sm_80", 5) : status;
}

static void add_known(struct known_kernel **list, int *count, const struct program *p, tw_kernel *k)
{
    ADD_TO(*list, *count, (struct known_kernel){p, k});
}

static void add_kernel_of(struct builder *b, const struct program *p, tw_kernel *k)
{
    add_known(&b->kernels, &b->kernel_count, p, k);
    add_known(&b->members, &b->member_count, p, k);
}

static void add_family_of(struct builder *b, const struct program *p)
{
    add_known(&b->families, &b->family_count, p, tw_family_kernel(p->family, 0));
    for (int k = 0; k < tw_family_kernel_count(p->family); k++)
        add_known(&b->members, &b->member_count, p, tw_family_kernel(p->family, k));
}

int build_find_kernels(struct builder *b)
{
    b->programs = need_memory((size_t)b->given->word_count * sizeof *b->programs);
    for (int i = 0; i < b->given->word_count; i++) {
        struct program *p = &b->programs[b->program_count++];
        int status = program_open_in(p, b->given->words[i], b->ctx, NULL);
        if (status != STATUS_OK)
            return status;
        if (p->family) {
            add_family_of(b, p);
            continue;
        }
        int count = tw_module_kernel_count(p->module);
        if (!p->kernel)
            for (int k = 0; k < count; k++)
                add_kernel_of(b, p, tw_module_kernel_at(p->module, k));
        if (p->kernel || count == 0) {
            tw_kernel *k = program_kernel(p, b->self);
            if (!k)
                return STATUS_USAGE;
            add_kernel_of(b, p, k);
        }
    }
    return STATUS_OK;
}

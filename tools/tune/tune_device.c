/* The device that `tune` measures on. */
#include "tune/tune.h"

#include "tilewright_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Properties of a GPU, as reported by a child that opens it. */
struct gpu_facts {
    tw_status status;
    char target[32], model[96], why[800];
    int multiprocessors, ordinal;
    int64_t l2_bytes, memory_bytes;
};

/* name: "cuda", "cuda:1" */
static void look_at_gpu(const struct tuning *t, const char *name, struct gpu_facts *out)
{
    tw_kernel *k;
    tw_device d = tw_device_init();
    out->status = tw_kernel_for_target(t->members[0].kernel, name, &k);
    if (out->status != TW_OK) {
        char *shown = messages_shown(t->ctx);
        snprintf(out->why, sizeof out->why, "%s", shown);
        free(shown);
        return;
    }
    snprintf(out->target, sizeof out->target, "%s", tw_kernel_target(k));
    if (device_named(name, &d)) {
        snprintf(out->model, sizeof out->model, "%s", d.model);
        out->multiprocessors = d.cores;
        out->ordinal = d.ordinal;
        out->l2_bytes = d.l2_bytes;
        out->memory_bytes = d.memory_bytes;
    }
}

/* Queries the GPU in a child process. The parent must not open it, because a CUDA context does
 * not survive `fork`. */
static bool ask_gpu(const struct tuning *t, const char *name, struct gpu_facts *out)
{
    int ends[2];
    *out = (struct gpu_facts){.status = TW_UNSUPPORTED};
    if (pipe(ends) != 0)
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        look_at_gpu(t, name, out);
        _exit(write(ends[1], out, sizeof *out) == sizeof *out ? 0 : 1);
    }
    close(ends[1]);
    ssize_t got;
    do
        got = pid > 0 ? read(ends[0], out, sizeof *out) : -1;
    while (got < 0 && pid > 0 && errno == EINTR);
    close(ends[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return got == sizeof *out;
}

/* Makes the members' kernels for the target. */
static int take_target(struct tuning *t, const char *target)
{
    for (int i = 0; i < t->member_count; i++) {
        struct member *m = &t->members[i];
        tw_status s = tw_kernel_for_target(m->kernel, target, &m->kernel);
        if (s != TW_OK) {
            complain_library(NULL, t->ctx, s);
            return STATUS_USAGE;
        }
    }
    return STATUS_OK;
}

static int choose_gpu(struct tuning *t, const char *device)
{
    struct gpu_facts gpu;
    bool own = strncmp(device, "cuda", 4) == 0; /* else a target, on the first GPU */
    if (!ask_gpu(t, own ? device : "cuda", &gpu)) {
        complain(NULL, "the process that was to open the GPU ended");
        return STATUS_FAILED;
    }
    if (gpu.status != TW_OK) {
        fputs(gpu.why, stderr);
        return STATUS_USAGE;
    }
    t->on_gpu = true;
    t->device = need_text("%s", gpu.model);
    t->multiprocessors = gpu.multiprocessors;
    t->ordinal = gpu.ordinal;
    t->l2_bytes = gpu.l2_bytes;
    t->memory_bytes = gpu.memory_bytes;
    return take_target(t, own ? gpu.target : device);
}

/* Takes a device's name as stored. The model knows most GPUs, and so which candidates are the same
 * program there. */
static int choose_stored(struct tuning *t, const char *device)
{
    tw_gpu known = tw_gpu_init();
    t->device = need_text("%s", device);
    t->foreign = !tw_gpu_find(device, &known);
    if (t->foreign)
        return STATUS_OK;
    t->on_gpu = true;
    t->multiprocessors = known.multiprocessors;
    return take_target(t, known.target);
}

int device_choose(struct tuning *t)
{
    const char *device = options_value(t->given, "device");
    if (device && names_gpu(device))
        return choose_gpu(t, device);
    if (device && t->only_stored && strcmp(device, "cpu") != 0)
        return choose_stored(t, device);
    tw_gpu known = tw_gpu_init();
    if (device && tw_gpu_find(device, &known))
        return usage_error(NULL, t->self,
                           "--device %s: `tune` measures on this machine (--device cuda, or cpu). "
                           "For a GPU that is not here, `tilewright explain FILE --sweep BM=32,64 "
                           "--device %s` predicts times",
                           device, device);
    if (device && strcmp(device, "cpu") != 0)
        return usage_error(NULL, t->self, "--device %s: there are cpu and cuda", device);
    return STATUS_OK;
}

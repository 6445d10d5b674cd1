/* The roofs of this machine: measured once, and kept in a file in the folder of assembled kernels.
 * The file names the processor, the routines and the number of threads; another machine, another
 * version or a damaged file measures again. */
#include "api/objects.h"
#include "base/number.h"
#include "cpu/peaks.h"
#include "tilewright_profile.h"

#include <stdio.h>
#include <string.h>

static const char file_head[] = "tilewright roofs 2";
static const char *const level_names[CPU_LEVELS] = {"L1", "L2", "L3", "memory"};

struct roofs_call {
    tw_context *ctx;
    bool measure;
    tw_device host;
    struct cpu_peaks peaks;
    bool kept;
    tw_cpu_roofs out;
};

/* Returns the lines that a file of this machine begins with. */
static const char *head_of(const struct roofs_call *call)
{
    return arena_printf(&call->ctx->scratch,
                        "%s\nlibrary %s\nprocessor %s\nroutines %s\nthreads %d\n", file_head,
                        TW_VERSION, call->host.model, routine_set_choose(false)->name,
                        call->ctx->parallel.run ? call->ctx->parallel.threads : 1);
}

static const char *path_of(const struct roofs_call *call)
{
    const char *folder = cuda_cache_folder(call->ctx->cache);
    int threads = call->ctx->parallel.run ? call->ctx->parallel.threads : 1;
    return *folder ? arena_printf(&call->ctx->scratch, "%s/roofs-%d.txt", folder, threads) : NULL;
}

/* Gives the place of each number of the file. Returns their count. */
static int numbers_of(struct cpu_peaks *p, const char *names[], double *places[])
{
    int count = 0;
    for (int i = 0; i < PEAK_COUNT; i++, count++) {
        names[count] = cpu_peak_name((enum cpu_peak)i);
        places[count] = &p->rate[i];
    }
    for (int i = 0; i < CPU_LEVELS; i++, count++) {
        names[count] = level_names[i];
        places[count] = &p->bandwidth[i];
    }
    for (int i = 0; i < 3; i++, count++) {
        static const char *const sizes[] = {"bytes-of-L1", "bytes-of-L2", "bytes-of-L3"};
        names[count] = sizes[i];
        places[count] = &p->cache[i];
    }
    return count;
}
enum { NUMBERS = PEAK_COUNT + CPU_LEVELS + 3 };

/* Reads the numbers, each on a line after its name. false: the file is damaged. */
static bool read_numbers(const char *text, struct cpu_peaks *p)
{
    const char *names[NUMBERS];
    double *places[NUMBERS];
    int count = numbers_of(p, names, places);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(names[i]);
        char *end;
        if (strncmp(text, names[i], length) != 0 || text[length] != ' ')
            return false;
        *places[i] = number_read(text + length + 1, &end);
        if (end == text + length + 1 || *end != '\n' || !(*places[i] >= 0 && *places[i] < 1e18))
            return false;
        text = end + 1;
    }
    return *text == '\0' && p->rate[PEAK_F32] > 0;
}

static bool read_kept(struct roofs_call *call)
{
    const char *path = path_of(call), *head = head_of(call), *why;
    size_t length;
    if (!path || call->measure)
        return false;
    char *text = platform_read_file(&call->ctx->scratch, path, &length, &why);
    if (!text || strlen(text) != length || strncmp(text, head, strlen(head)) != 0)
        return false;
    call->peaks.threads = call->ctx->parallel.run ? call->ctx->parallel.threads : 1;
    return read_numbers(text + strlen(head), &call->peaks);
}

/* Keeps the roofs. If the folder cannot be written, the next call measures again. */
static void keep(struct roofs_call *call)
{
    const char *path = path_of(call), *names[NUMBERS], *why;
    double *places[NUMBERS];
    struct text out;
    if (!path)
        return;
    text_init(&out, &call->ctx->scratch);
    text_add(&out, head_of(call));
    int count = numbers_of(&call->peaks, names, places);
    for (int i = 0; i < count; i++)
        text_printf(&out, "%s %.17g\n", names[i], *places[i]);
    if (platform_make_folder(&call->ctx->scratch, cuda_cache_folder(call->ctx->cache), &why))
        platform_store_file(&call->ctx->scratch, path, out.data, out.length, &why);
}

static void measure_outside(void *user)
{
    struct roofs_call *call = user;
    if (!cpu_measure_peaks(&call->ctx->allocator, &call->ctx->parallel, &call->peaks))
        call->peaks.rate[PEAK_F32] = 0;
}

static tw_status roofs_call(void *user)
{
    struct roofs_call *call = user;
    tw_cpu_roofs *o = &call->out;
    struct arena *a = &call->ctx->message_memory;
    call->host = tw_device_init();
    tw_device_at(0, &call->host);
    call->kept = read_kept(call);
    context_settle(call->ctx);
    if (!call->kept) {
        context_outside(call->ctx, measure_outside, call);
        if (call->peaks.rate[PEAK_F32] <= 0)
            return TW_NO_MEMORY;
        keep(call);
    }
    o->processor = arena_string(a, call->host.model, strlen(call->host.model));
    o->instructions = routine_set_choose(false)->name;
    o->threads = call->peaks.threads;
    o->kept = call->kept;
    o->f32 = call->peaks.rate[PEAK_F32];
    o->f64 = call->peaks.rate[PEAK_F64];
    o->bf16 = call->peaks.rate[PEAK_BF16];
    o->i8 = call->peaks.rate[PEAK_I8];
    memcpy(o->cache_bytes, call->peaks.cache, sizeof o->cache_bytes);
    memcpy(o->bandwidth, call->peaks.bandwidth, sizeof o->bandwidth);
    return TW_OK;
}

tw_status tw_context_roofs(tw_context *ctx, bool measure, tw_cpu_roofs *out)
{
    if (!ctx)
        return TW_BAD_ARGUMENT;
    if (!SIZED_FITS(ctx, tw_cpu_roofs, out))
        return TW_BAD_ARGUMENT;
    struct roofs_call call = {.ctx = ctx, .measure = measure};
    tw_status status = context_call(ctx, roofs_call, &call);
    if (status == TW_OK)
        FILL_SIZED(out, call.out);
    return status;
}

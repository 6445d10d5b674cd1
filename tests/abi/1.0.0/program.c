/* A program of version 1.0.0: compiled with the headers of this folder, it runs with the library that was
 * just built. It uses each function and struct that is stable, and checks what they give. The second GPU
 * part needs a driver ($TILEWRIGHT_CUDA_DRIVER); it makes files in the folder that is its argument. */
#include "tilewright_build.h"
#include "tilewright_entry.h"
#include "tilewright_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s\n%s", __LINE__, #condition, tw_context_messages(ctx));             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define NEED(call) CHECK((call) == TW_OK)

enum { N = 40 };

static const char text[] =
    "type T = {f32, f16};\n"
    "tune W = {1, 2};\n"
    "require(W < 64);\n"
    "kernel scale(i32 n, f32 by, const T *x, T *y) grid(cdiv(n, 32)) warps(W)\n"
    "{\n"
    "    global T X[n] = x, Y[n] = y;\n"
    "    Y[block.x * 32 +: 32] = (T) (X[block.x * 32 +: 32] * by);\n"
    "    ensures Y == X * by;\n"
    "}\n";

static tw_context *ctx;
static float x[N], y[N];

struct seen {
    size_t allocations, printed, progress;
    int wrong;
    tw_status ended;
    bool cancel;
};

static void *resize(void *user, void *ptr, size_t old_size, size_t size)
{
    (void)old_size;
    ((struct seen *)user)->allocations++;
    if (size)
        return realloc(ptr, size);
    free(ptr);
    return NULL;
}

static void print(void *user, const char *said, size_t length)
{
    (void)said;
    ((struct seen *)user)->printed += length;
}

static void progress(void *user, const char *doing, int64_t done, int64_t total)
{
    (void)doing;
    (void)done;
    (void)total;
    ((struct seen *)user)->progress++;
}

static void parallel(void *user, int tasks, void (*task)(void *argument, int index), void *argument)
{
    (void)user;
    for (int i = 0; i < tasks; i++)
        task(argument, i);
}

static void each_wrong(void *user, const tw_wrong *w)
{
    struct seen *seen = user;
    seen->wrong++;
    CHECK(strcmp(w->view, "Y") == 0 && strcmp(w->param, "y") == 0 && w->rank == 1 &&
          w->extent[0] == N && w->at[0] == 3 && w->element == 3 && w->got == 7 && w->want == 6);
}

static void ended(void *user, tw_launch *l, tw_status status)
{
    (void)l;
    ((struct seen *)user)->ended = status;
}

static void types_and_statuses(void)
{
    char shown[16];
    unsigned char half[2];
    CHECK(strcmp(tw_status_name(TW_NOT_ASSUMED), "TW_NOT_ASSUMED") == 0 &&
          strcmp(tw_status_text(TW_OK), "success") == 0);
    CHECK(tw_version_number() / 10000 == TW_VERSION_MAJOR && atoi(tw_version()) == 1 &&
          tw_version_number() >= TW_VERSION_NUMBER);
    CHECK(tw_text_shown("a\x1b", 2, TW_SHOWN_LINE, shown, sizeof shown) == 5 &&
          strcmp(shown, "a\\x1b") == 0);
    CHECK(strcmp(tw_dtype_name(TW_BF16), "bf16") == 0 && tw_dtype_size(TW_F64) == 8 &&
          tw_dtype_from_name("bool") == TW_BOOL && strcmp(tw_dtype_numpy(TW_F16), "f2") == 0);
    tw_dtype_store(TW_F16, half, 1.5);
    CHECK(tw_dtype_load(TW_F16, half) == 1.5);
    CHECK(strcmp(tw_code_name(TW_CODE_OUTSIDE), "out-of-bounds") == 0);
    CHECK(strcmp(tw_target_at(0), "cpu") == 0);
}

static void messages(void)
{
    tw_module *m;
    tw_message message = tw_message_init();
    static const char race[] = "kernel race(f32 *y) grid(1) threads(64)\n"
                               "{\n"
                               "    global f32 Y[64] = y;\n"
                               "    shared f32 s[64];\n"
                               "    s[thread.x] = 1;\n"
                               "    Y[thread.x] = s[63 - thread.x];\n"
                               "}\n";
    tw_launch *l;
    CHECK(tw_module_from_text(ctx, "wrong.tile", "kernel k(", 9, &m) == TW_BAD_PROGRAM);
    CHECK(tw_context_message(ctx, 0, &message) && message.severity == TW_ERROR &&
          strcmp(message.file, "wrong.tile") == 0 && message.line == 1 && message.column > 1 &&
          message.code == TW_CODE_SYNTAX && strstr(message.shown, message.text) &&
          strstr(tw_context_messages(ctx), message.text));
    NEED(tw_module_from_text(ctx, "race.tile", race, sizeof race - 1, &m));
    NEED(tw_launch_new(tw_module_kernel(m, "race"), &l));
    CHECK(tw_launch_check(l) == TW_UNSYNCHRONISED && tw_context_message(ctx, 0, &message));
    CHECK(message.code == TW_CODE_RACE && message.access_count == 2 && message.edit_count == 1);
    const tw_access *access = message.accesses[0];
    const tw_edit *edit = message.edits[0];
    CHECK(access->line == 6 && access->rank == 1 && strcmp(access->variable, "s") == 0 &&
          strcmp(access->what, "read") == 0 && strcmp(access->space, "shared") == 0);
    CHECK(edit->line == 6 && edit->remove == 0 && strstr(edit->insert, "sync();"));
    CHECK(!tw_launch_undecided(l));
    tw_module_free(m);
}

static tw_module *kernels(void)
{
    tw_module *m;
    tw_param param = tw_param_init();
    tw_tune tune = tw_tune_init();
    tw_type type = tw_type_init();
    const char *violated;
    bool allowed;
    int decided;
    CHECK(tw_module_from_file(ctx, "/nothing/here.tile", &m) == TW_NO_FILE);
    NEED(tw_module_from_text(ctx, "scale.tile", text, sizeof text - 1, &m));
    tw_kernel *k = tw_module_kernel(m, "scale");
    CHECK(k && k == tw_module_kernel_at(m, 0) && tw_module_kernel_count(m) == 1);
    CHECK(strcmp(tw_kernel_name(k), "scale") == 0 && strcmp(tw_kernel_target(k), "cpu") == 0 &&
          tw_kernel_has_ensures(k) && !tw_kernel_thread_level(k));
    CHECK(tw_kernel_param_count(k) == 4);
    NEED(tw_kernel_param(k, 2, &param));
    CHECK(strcmp(param.name, "x") == 0 && param.is_pointer && param.is_const && !param.is_static &&
          !param.is_ensured && param.dtype == TW_DTYPE_NONE && strcmp(param.type_name, "T") == 0 &&
          param.rank == 1 && strcmp(param.dims[0], "n") == 0);
    CHECK(tw_kernel_tune_count(k) == 1);
    NEED(tw_kernel_tune(k, 0, &tune));
    CHECK(strcmp(tune.name, "W") == 0 && tune.count == 2 && tune.values[1].kind == TW_INTEGER &&
          tune.values[1].i == 2);
    CHECK(tw_kernel_type_count(k) == 1);
    NEED(tw_kernel_type(k, 0, &type));
    CHECK(strcmp(type.name, "T") == 0 && type.count == 2 && type.choices[1] == TW_F16);
    tw_value tuned = tw_int(64);
    CHECK(!tw_kernel_allows(k, &tuned, &violated) && strstr(violated, "W < 64"));
    NEED(tw_kernel_decides(k, &tuned, &allowed, &decided));
    CHECK(!allowed && decided == 1);
    return m;
}

static tw_launch *launch_of(tw_kernel *k)
{
    tw_launch *l;
    NEED(tw_launch_new(k, &l));
    NEED(tw_launch_set(l, "by", tw_float(2)));
    NEED(tw_launch_tune(l, "W", tw_int(2)));
    NEED(tw_launch_type(l, "T", TW_F32));
    return l;
}

static void launches(tw_module *m, struct seen *seen)
{
    tw_launch *l = launch_of(tw_module_kernel(m, "scale"));
    tw_array a = tw_host_array(x, TW_F32, N), shape = tw_array_init();
    tw_verdict verdict = tw_verdict_init();
    tw_value value;
    double ms;
    a.bytes = sizeof x;
    NEED(tw_launch_array(l, "x", &a));
    NEED(tw_launch_shape(l, "y", &shape));
    CHECK(shape.rank == 1 && shape.shape[0] == N && shape.dtype == TW_F32 && !shape.data &&
          shape.place == TW_ON_HOST);
    NEED(tw_launch_array(l, "y", &tw_host_array(y, TW_F32, N)));
    NEED(tw_launch_allow_overlap(l, false));
    NEED(tw_launch_keep_inputs(l, true));
    NEED(tw_launch_prepare(l));
    NEED(tw_launch_value(l, "n", &value));
    CHECK(value.kind == TW_INTEGER && value.i == N);
    NEED(tw_launch_value(l, "by", &value));
    CHECK(value.kind == TW_FLOAT && value.f == 2);
    NEED(tw_launch_run(l));
    CHECK(y[N - 1] == 2 * x[N - 1]);
    NEED(tw_launch_begin(l, ended, seen));
    NEED(tw_launch_wait(l));
    CHECK(seen->ended == TW_OK);
    NEED(tw_launch_time(l, 3, &ms));
    CHECK(ms > 0);
    NEED(tw_launch_verify(l, &verdict));
    CHECK(verdict.ok && verdict.checked == N && verdict.undecided == 0 && verdict.rank == 1 &&
          verdict.max_error <= verdict.tolerance && strcmp(verdict.view, "Y") == 0);
    y[3] = 7;
    CHECK(tw_launch_each_wrong(l, each_wrong, seen) == TW_WRONG_VALUES && seen->wrong == 1);
    CHECK(tw_launch_verify(l, &verdict) == TW_WRONG_VALUES && !verdict.ok && verdict.at[0] == 3 &&
          verdict.got == 7 && verdict.want == 6);
    NEED(tw_launch_check(l));
    seen->cancel = true;
    CHECK(tw_launch_run(l) == TW_CANCELLED);
    seen->cancel = false;
    tw_launch_free(l);
    tw_kernel_forget(tw_module_kernel(m, "scale"));
}

static void entries(tw_module *m)
{
    tw_launch *l = launch_of(tw_module_kernel(m, "scale"));
    tw_entry *e;
    tw_error error = tw_error_init();
    tw_value arguments[] = {tw_int(N), tw_float(3), tw_pointer(x), tw_pointer(y)};
    NEED(tw_entry_new(l, &e));
    tw_launch_free(l);
    NEED(tw_entry_ready(e, arguments, 4, NULL, &error));
    NEED(tw_entry_start(e, arguments, 4, NULL, &error));
    CHECK(y[5] == 3 * x[5] && tw_entry_variants(e) == 1 && error.status == TW_OK);
    CHECK(tw_entry_start(e, arguments, 3, NULL, &error) == TW_BAD_ARGUMENT &&
          error.status == TW_BAD_ARGUMENT && error.code == TW_CODE_ARGUMENT && error.line == 4 &&
          error.column > 0 && strcmp(error.file, "scale.tile") == 0 &&
          strstr(error.text, "3 were"));
    tw_entry_free(e);
}

/* The first members of dlpack.h's DLManagedTensor, and its last. */
struct managed {
    void *data;
    int32_t device_type, device_id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t offset;
    void *manager;
    void (*deleter)(struct managed *self);
};

static void gpu(tw_module *m)
{
    tw_kernel *k;
    void *memory[2], *stream, *event[2], *managed;
    double ms;
    tw_occupancy occupancy = tw_occupancy_init();
    tw_cache cache = tw_cache_init();
    tw_launch_attributes attributes = tw_launch_attributes_init();
    tw_device device = tw_device_init();
    CHECK(tw_device_at(1, &device) && strcmp(device.name, "cuda") == 0 && device.capability >= 80 &&
          device.memory_bytes > 0 && *device.description && *device.model && device.ordinal == 0);
    NEED(tw_kernel_for_target(tw_module_kernel(m, "scale"), "cuda", &k));
    tw_launch *l = launch_of(k);
    for (int i = 0; i < 2; i++) {
        NEED(tw_device_allocate(ctx, sizeof x, &memory[i]));
        NEED(tw_event_new(ctx, &event[i]));
    }
    NEED(tw_stream_new(ctx, &stream));
    NEED(tw_device_copy_in(ctx, memory[0], x, sizeof x, stream));
    NEED(tw_device_fill(ctx, memory[1], 0, sizeof y, stream));
    NEED(tw_launch_array(l, "x", &tw_device_array(memory[0], TW_F32, N)));
    NEED(tw_launch_array(l, "y", &tw_device_array(memory[1], TW_F32, N)));
    NEED(tw_launch_assemble(l));
    NEED(tw_launch_ready(l, stream));
    NEED(tw_event_record(ctx, event[0], stream));
    NEED(tw_launch_start(l, stream));
    NEED(tw_event_record(ctx, event[1], stream));
    NEED(tw_event_elapsed(ctx, event[0], event[1], &ms));
    attributes.priority = -1;
    NEED(tw_launch_start_with(l, stream, &attributes));
    attributes.cluster[0] = 17;
    CHECK(tw_launch_start_with(l, stream, &attributes) == TW_BAD_ARGUMENT);
    NEED(tw_stream_wait(ctx, stream));
    NEED(tw_device_copy_out(ctx, y, memory[1], sizeof y, stream));
    CHECK(y[7] == 2 * x[7]);
    NEED(tw_launch_occupancy(l, &occupancy));
    CHECK(occupancy.threads == 64 && occupancy.registers > 0 && occupancy.blocks > 0);
    NEED(tw_context_cache(ctx, &cache));
    CHECK(!cache.folder && cache.kernels == 0);
    NEED(tw_device_dlpack(ctx, &tw_device_array(memory[0], TW_F32, N), &managed));
    struct managed *tensor = managed;
    CHECK(tensor->data == memory[0] && tensor->rank == 1 && tensor->shape[0] == N);
    NEED(tw_launch_dlpack(l, "x", tensor));
    tensor->deleter(tensor);
    tw_launch_free(l);
    for (int i = 0; i < 2; i++)
        NEED(tw_event_free(ctx, event[i]));
    NEED(tw_device_free(ctx, memory[1]));
    NEED(tw_stream_free(ctx, stream));
}

static void builds(tw_module *m, const char *folder)
{
    tw_build *b;
    tw_kernel *k;
    tw_size_range range = {"n", 1, INT64_MAX};
    tw_build_when when = tw_build_when_init();
    tw_build_image image = tw_build_image_init();
    const char *header, *source;
    when.ranges = &range;
    when.range_count = 1;
    NEED(tw_build_new(ctx, "shipped", &b));
    NEED(tw_kernel_for_target(tw_module_kernel(m, "scale"), "sm_80", &k));
    tw_launch *l = launch_of(k);
    NEED(tw_build_add(b, l, &when));
    CHECK(tw_build_image_at(b, 0, &image) && strcmp(image.target, "sm_80") == 0 &&
          strstr(image.ptx, ".target sm_80") && !tw_build_image_at(b, 1, &image));
    CHECK(tw_build_machine_code(b, 0, "none", 4) == TW_BAD_PROGRAM);
    NEED(tw_build_texts(b, &header, &source));
    CHECK(strstr(header, "shipped") && strstr(source, "shipped"));
    NEED(tw_build_write(b, folder));
    CHECK(tw_build_write(b, "/nothing/here") == TW_NO_FILE);
    tw_build_free(b);
    tw_launch_free(l);
}

int main(int argc, char **argv)
{
    struct seen seen = {0};
    tw_config config = tw_config_init();
    tw_device host = tw_device_init();
    config.resize = resize;
    config.print = print;
    config.progress = progress;
    config.cancelled = tw_flag_is_set;
    config.cancelled_user = &seen.cancel;
    config.parallel = parallel;
    config.resize_user = config.print_user = config.progress_user = &seen;
    config.threads = 2;
    config.check_steps = 1000000;
    config.cache = "";
    if (argc < 2 || tw_context_new(&config, &ctx) != TW_OK)
        return 1;
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    CHECK(tw_device_at(0, &host) && strcmp(host.name, "cpu") == 0 && host.cores > 0);
    types_and_statuses();
    messages();
    tw_module *m = kernels();
    launches(m, &seen);
    entries(m);
    gpu(m);
    builds(m, argv[1]);
    tw_module_free(m);
    tw_context_free(ctx);
    ctx = NULL;
    if (!seen.allocations || !seen.progress)
        return 1;
    puts("all values are as in 1.0.0");
    return 0;
}

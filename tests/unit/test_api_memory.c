/* Every allocation of a long story, which touches all of tilewright.h, fails in turn. The call that
 * it happens in does without, or says TW_NO_MEMORY, and made again it works; the rest of the story
 * goes on as if nothing had been; at the end nothing is left. A last test holds the story to the
 * header: a function that is not in it fails. */
#include "cuda_helper.h"
#include "dlpack_structs.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    "type T = {f32, f16};\n"
    "tune B = {32, 64};\n"
    "require(B <= 64);\n"
    "kernel scale(i32 n, f32 by, const T *a, T *c) grid(cdiv(n, B)) warps(1)\n"
    "{\n"
    "    global T A[n] = a, C[n] = c;\n"
    "    shared T s[B];\n"
    "    s = A[block.x * B +: B];\n"
    "    sync();\n"
    "    C[block.x * B +: B] = (T) (s * by);\n"
    "    ensures C == (T) (A * by);\n"
    "}\n";

enum { LENGTH = 128 };

/* An allocator of which one allocation fails; from any thread. */
struct failing {
    pthread_mutex_t lock;
    long calls, fail_at, live;
    bool failed;
};

static void *failing_resize(void *user, void *ptr, size_t old_size, size_t size)
{
    struct failing *f = user;
    pthread_mutex_lock(&f->lock);
    bool fails = size > 0 && f->calls++ == f->fail_at;
    f->failed |= fails;
    if (!fails)
        f->live += (long)size - (ptr ? (long)old_size : 0);
    pthread_mutex_unlock(&f->lock);
    if (fails)
        return NULL;
    if (size > 0)
        return realloc(ptr, size);
    free(ptr);
    return NULL;
}

struct story {
    struct failing memory;
    char folder[32], path[64];
    float a[LENGTH], c[LENGTH];
    tw_context *ctx;
    tw_module *module, *from_file;
    tw_kernel *gpu;
    tw_launch *host, *device;
    tw_entry *entry, *device_entry;
    tw_ptx *ptx, *ptx_from_file;
    tw_build *build;
    tw_expected *expected;
    tw_store *store;
    void *memory_a, *memory_c, *stream, *from, *to;
    char *ptx_text;
};

/* --- modules and kernels --- */

static tw_status open_context(struct story *s)
{
    tw_config config = {.resize = failing_resize, .resize_user = &s->memory, .threads = 2};
    return tw_context_new(&config, &s->ctx);
}

static tw_status load_text(struct story *s)
{
    return tw_module_from_text(s->ctx, "scale.tile", text, strlen(text), &s->module);
}

static tw_status load_file(struct story *s)
{
    tw_status status = tw_module_from_file(s->ctx, s->path, &s->from_file);
    if (status == TW_OK)
        tw_module_free(s->from_file);
    return status;
}

static tw_status describe(struct story *s)
{
    tw_kernel *k = tw_module_kernel_at(s->module, 0);
    tw_param param;
    tw_tune tune;
    tw_type type;
    const char *violated;
    assert_int_equal(tw_module_kernel_count(s->module), 1);
    assert_string_equal(tw_kernel_name(k), "scale");
    assert_string_equal(tw_kernel_target(k), tw_target_at(0));
    assert_true(tw_kernel_has_ensures(k) && !tw_kernel_thread_level(k));
    assert_int_equal(tw_kernel_param_count(k) + tw_kernel_tune_count(k) + tw_kernel_type_count(k),
                     6);
    tw_status status = tw_kernel_param(k, 0, &param);
    status = status == TW_OK ? tw_kernel_tune(k, 0, &tune) : status;
    status = status == TW_OK ? tw_kernel_type(k, 0, &type) : status;
    tw_written written;
    status = status == TW_OK ? tw_kernel_written(k, &written) : status;
    if (status == TW_OK && !tw_kernel_allows(k, tune.values, &violated))
        return TW_NO_MEMORY;
    bool allowed;
    int decided;
    status = status == TW_OK ? tw_kernel_decides(k, tune.values, &allowed, &decided) : status;
    return status == TW_OK && !tw_module_kernel(s->module, "scale") ? TW_NO_MEMORY : status;
}

/* --- launches on the host --- */

static tw_status new_host(struct story *s)
{
    return tw_launch_new(tw_module_kernel_at(s->module, 0), &s->host);
}

static tw_status give(tw_launch *l, void *a, void *c, tw_place place)
{
    tw_array x = {.data = a, .dtype = TW_F32, .rank = 1, .shape = {LENGTH}, .place = place}, y = x;
    y.data = c;
    tw_status status = tw_launch_array(l, "a", &x);
    status = status == TW_OK ? tw_launch_array(l, "c", &y) : status;
    return status == TW_OK ? tw_launch_set(l, "by", (tw_scalar){.is_float = true, .f = 2}) : status;
}

static tw_status set_host(struct story *s)
{
    tw_status status = give(s->host, s->a, s->c, TW_ON_HOST);
    status = status == TW_OK ? tw_launch_type(s->host, "T", TW_F32) : status;
    return status == TW_OK ? tw_launch_tune(s->host, "B", integer(32)) : status;
}

static tw_status prepare(struct story *s)
{
    tw_scalar n;
    tw_array shape;
    const char *param;
    int64_t value;
    tw_status status = tw_launch_prepare(s->host);
    status = status == TW_OK ? tw_launch_value(s->host, "n", &n) : status;
    status = status == TW_OK ? tw_launch_shape(s->host, "c", &shape) : status;
    status = status == TW_OK ? tw_launch_check(s->host) : status;
    status = status == TW_OK ? tw_launch_compared(s->host, 0, &param, &value) : status;
    return status == TW_NOT_FOUND ? TW_OK : status; /* nothing is compared */
}

static tw_status run(struct story *s)
{
    return tw_launch_run(s->host);
}

static tw_status run_timed(struct story *s)
{
    double ms;
    return tw_launch_time(s->host, 2, &ms);
}

static tw_status verify(struct story *s)
{
    return tw_launch_verify(s->host, NULL);
}

static void see_wrong(void *user, const tw_wrong *w)
{
    (void)user;
    (void)w;
}

/* A copy of an input that the run overwrites. */
static tw_status keep_inputs(struct story *s)
{
    tw_launch *l;
    float over[LENGTH] = {0};
    assert_false(tw_flag_is_set(NULL));
    tw_status status = tw_launch_new(tw_module_kernel_at(s->module, 0), &l);
    if (status != TW_OK)
        return status;
    status = give(l, over, over, TW_ON_HOST);
    status = status == TW_OK ? tw_launch_keep_inputs(l, true) : status;
    status = status == TW_OK ? tw_launch_allow_overlap(l, true) : status;
    status = status == TW_OK ? tw_launch_run(l) : status;
    tw_launch_free(l);
    return status;
}

static tw_status verify_each(struct story *s)
{
    return tw_launch_each_wrong(s->host, see_wrong, NULL);
}

static tw_status begin_and_wait(struct story *s)
{
    tw_status status = tw_launch_begin(s->host, NULL, NULL);
    return status == TW_OK ? tw_launch_wait(s->host) : status;
}

static tw_status show(struct story *s)
{
    const char *shown;
    assert_true(tw_launch_undecided(s->host) == NULL && tw_pass_summary(0));
    return tw_launch_show(s->host, tw_pass_name(0), &shown);
}

static tw_status take_dlpack(struct story *s)
{
    struct dl_tensor tensor = {s->a, 1, 0, 1, 2, 32, 1, (int64_t[]){LENGTH}, NULL, 0};
    return tw_launch_dlpack(s->host, "a", &tensor);
}

static tw_status open_entry(struct story *s)
{
    return tw_entry_new(s->host, &s->entry);
}

static tw_status start_entry(struct story *s)
{
    tw_argument args[] = {tw_integer(LENGTH), tw_float(3), tw_pointer(s->a), tw_pointer(s->c)};
    tw_status status = tw_entry_ready(s->entry, args, 4, NULL);
    status = status == TW_OK ? tw_entry_start(s->entry, args, 4, NULL) : status;
    char said[8];
    tw_entry_message(s->entry, said, sizeof said);
    assert_true(status != TW_OK || tw_entry_variants(s->entry) == 1);
    return status;
}

/* --- tuning --- */

static tw_status expect_values(struct story *s)
{
    tw_status status = s->expected ? TW_OK : tw_expected_new(s->ctx, &s->expected);
    status = status == TW_OK ? tw_launch_run(s->host) : status;
    return status == TW_OK ? tw_launch_verify_by(s->host, s->expected, NULL) : status;
}

static tw_status estimate(struct story *s)
{
    tw_estimate e;
    return tw_launch_estimate(s->host, 0, &e);
}

static tw_status open_store(struct story *s)
{
    char path[96];
    snprintf(path, sizeof path, "%s/tuned.db", s->folder);
    return tw_store_open(s->ctx, path, &s->store);
}

/* A second time, as for looking something up. */
static tw_status look_at_store(struct story *s)
{
    tw_store *again;
    tw_status status = tw_store_open_existing(s->ctx, tw_store_path(s->store), &again);
    tw_store_close(again);
    return status;
}

static tw_status keep_result(struct story *s)
{
    tw_tuned row, taken;
    int count;
    assert_non_null(tw_store_path(s->store));
    tw_status status = tw_launch_tuning_key(s->host, NULL, &row);
    row.status = TW_OK;
    row.samples = 1;
    row.milliseconds = 1;
    status = status == TW_OK ? tw_store_put(s->store, &row) : status;
    status = status == TW_OK ? tw_store_find(s->store, NULL, &count) : status;
    assert_true(status != TW_OK || tw_store_at(s->store, 0));
    status = status == TW_OK ? tw_launch_tuned(s->host, s->store, NULL, true, &taken) : status;
    return status == TW_OK ? tw_store_forget(s->store, NULL, &count) : status;
}

/* --- the simulator, PTX --- */

static tw_status for_target(struct story *s)
{
    return tw_kernel_for_target(tw_module_kernel_at(s->module, 0), "cuda", &s->gpu);
}

static tw_status new_device(struct story *s)
{
    return tw_launch_new(s->gpu, &s->device);
}

static tw_status simulate(struct story *s)
{
    tw_status status = give(s->device, s->a, s->c, TW_ON_HOST);
    static const tw_sim_turn order[] = {{0, 0}};
    tw_sim_options o = {.watch = TW_WATCH_ALL, .order = order, .order_count = 1};
    if (status == TW_OK)
        status = tw_launch_despite_races(s->device, true);
    if (status == TW_OK)
        status = tw_launch_simulate(s->device, &o, NULL);
    tw_launch_despite_races(s->device, false);
    return status;
}

static tw_status show_ptx(struct story *s)
{
    const char *ptx;
    tw_shown_line line;
    tw_status status = tw_launch_show(s->device, NULL, &ptx);
    for (int i = 0; status == TW_OK && tw_launch_shown_line(s->device, i, &line); i++)
        continue;
    status = status == TW_OK ? tw_launch_show_stage(s->device, TW_STAGE_LAYOUT, &ptx) : status;
    tw_layouts layouts;
    status = status == TW_OK ? tw_launch_layouts(s->device, &layouts) : status;
    status = status == TW_OK ? tw_launch_show_stage(s->device, TW_STAGE_PTX, &ptx) : status;
    if (status == TW_OK && !s->ptx_text)
        s->ptx_text = strdup(ptx);
    return status;
}

static tw_status read_ptx(struct story *s)
{
    return tw_ptx_from_text(s->ctx, "scale.ptx", s->ptx_text, strlen(s->ptx_text), &s->ptx);
}

static tw_status read_ptx_file(struct story *s)
{
    char path[96];
    snprintf(path, sizeof path, "%s/scale.ptx", s->folder);
    FILE *file = fopen(path, "w");
    fputs(s->ptx_text, file);
    fclose(file);
    tw_status status = tw_ptx_from_file(s->ctx, path, &s->ptx_from_file);
    if (status == TW_OK)
        tw_ptx_free(s->ptx_from_file);
    return status;
}

static tw_status launch_ptx(struct story *s)
{
    int block[3];
    tw_ptx_param p;
    tw_ptx_argument arguments[8] = {{0}};
    static const int32_t n = LENGTH;
    static const float by = 2;
    const char *name = tw_ptx_kernel_at(s->ptx, 0);
    assert_string_equal(tw_ptx_kernel_called(s->ptx, 0), name);
    int count = tw_ptx_param_count(s->ptx, name);
    assert_true(tw_ptx_kernel_count(s->ptx) == 1 && count <= 8 && tw_ptx_target(s->ptx));
    for (int i = 0; i < count; i++) {
        tw_status status = tw_ptx_param_at(s->ptx, name, i, &p);
        if (status != TW_OK)
            return status;
        bool array = p.bytes == 8, is_float = strstr(p.type, "f32") || strstr(p.name, "by");
        arguments[i] = (tw_ptx_argument){
            .data = array ? (strstr(p.name, "_c") ? (void *)s->c : (void *)s->a)
                          : (void *)(uintptr_t)(is_float ? (const void *)&by : (const void *)&n),
            .bytes = array ? sizeof s->a : p.bytes,
            .is_array = array};
    }
    tw_ptx_launch l = {.grid = {2}, .block = {32}, .arguments = arguments, .argument_count = count};
    l.shared_bytes = 64 * sizeof(float);
    if (tw_ptx_block(s->ptx, name, block))
        memcpy(l.block, block, sizeof block);
    tw_sim_options o = {.watch = 0};
    tw_explanation e;
    tw_status status = tw_ptx_simulate(s->ptx, &l, &o, NULL);
    if (status == TW_OK)
        status = tw_ptx_explain(s->ptx, &l, NULL, &e);
    return status == TW_OK ? tw_ptx_run(s->ptx, &l, NULL) : status;
}

static tw_status give_sources(struct story *s)
{
    const char *name = tw_ptx_source_at(s->ptx, 0);
    tw_status status = name ? tw_ptx_source(s->ptx, name, text, strlen(text)) : TW_OK;
    tw_status refused = status == TW_OK ? tw_ptx_machine_code(s->ptx, "no", 2) : status;
    return refused == TW_BAD_PROGRAM ? TW_OK : refused;
}

/* --- ahead of time --- */

static tw_status open_build(struct story *s)
{
    return tw_build_new(s->ctx, "shipped", &s->build);
}

/* A build that could not be added to is good for nothing: a fresh one each time. */
static tw_status fill_build(struct story *s)
{
    const char *header, *source;
    tw_build_image image;
    tw_build_free(s->build);
    tw_status status = open_build(s);
    status = status == TW_OK ? tw_build_add(s->build, s->device, NULL) : status;
    status = status == TW_OK ? tw_build_texts(s->build, &header, &source) : status;
    assert_true(status != TW_OK || tw_build_image_at(s->build, 0, &image));
    if (status == TW_OK && (status = tw_build_machine_code(s->build, 0, "no", 2)) == TW_BAD_PROGRAM)
        status = TW_OK;
    return status == TW_OK ? tw_build_write(s->build, s->folder) : status;
}

/* --- a GPU, by a driver without one --- */

static tw_status device_memory(struct story *s)
{
    tw_status status = s->memory_a ? TW_OK : tw_device_allocate(s->ctx, sizeof s->a, &s->memory_a);
    if (status == TW_OK && !s->memory_c)
        status = tw_device_allocate(s->ctx, sizeof s->c, &s->memory_c);
    status = status == TW_OK ? tw_device_fill(s->ctx, s->memory_c, 0, sizeof s->c, NULL) : status;
    return status == TW_OK ? tw_device_copy_in(s->ctx, s->memory_a, s->a, sizeof s->a, NULL)
                           : status;
}

static tw_status streams(struct story *s)
{
    tw_status status = s->stream ? TW_OK : tw_stream_new(s->ctx, &s->stream);
    status = status == TW_OK && !s->from ? tw_event_new(s->ctx, &s->from) : status;
    return status == TW_OK && !s->to ? tw_event_new(s->ctx, &s->to) : status;
}

static tw_status start(struct story *s)
{
    double ms;
    tw_status status = give(s->device, s->memory_a, s->memory_c, TW_ON_DEVICE);
    status = status == TW_OK ? tw_launch_ready(s->device, s->stream) : status;
    status = status == TW_OK ? tw_event_record(s->ctx, s->from, s->stream) : status;
    status = status == TW_OK ? tw_launch_start(s->device, s->stream) : status;
    status = status == TW_OK ? tw_launch_start_with(s->device, s->stream, NULL) : status;
    status = status == TW_OK ? tw_event_record(s->ctx, s->to, s->stream) : status;
    status = status == TW_OK ? tw_event_elapsed(s->ctx, s->from, s->to, &ms) : status;
    status = status == TW_OK ? tw_stream_wait(s->ctx, s->stream) : status;
    return status == TW_OK ? tw_device_copy_out(s->ctx, s->c, s->memory_c, sizeof s->c, s->stream)
                           : status;
}

static tw_status look_at_device(struct story *s)
{
    tw_occupancy o;
    tw_device d;
    tw_cache cache;
    tw_status status = tw_launch_occupancy(s->device, &o);
    assert_true(tw_device_at(0, &d));
    return status == TW_OK ? tw_context_cache(s->ctx, &cache) : status;
}

static tw_status explain_device(struct story *s)
{
    tw_explanation x;
    tw_gpu gpu, found;
    assert_true(tw_gpu_at(0, &gpu) && tw_gpu_find(gpu.name, &found));
    assert_string_equal(gpu.name, found.name);
    return tw_launch_explain(s->device, NULL, &x);
}

static tw_status assemble(struct story *s)
{
    tw_status status = tw_launch_assemble(s->device); /* nothing is kept here */
    return status == TW_UNSUPPORTED ? TW_OK : status;
}

static tw_status start_on_device(struct story *s)
{
    tw_argument args[] = {tw_integer(LENGTH), tw_float(3), tw_pointer(s->memory_a),
                          tw_pointer(s->memory_c)};
    tw_status status = s->device_entry ? TW_OK : tw_entry_new(s->device, &s->device_entry);
    return status == TW_OK ? tw_entry_start(s->device_entry, args, 4, NULL) : status;
}

static tw_status give_away(struct story *s)
{
    struct dl_managed *managed;
    void *out;
    tw_array x = {.data = s->memory_a, .dtype = TW_F32, .rank = 1, .shape = {LENGTH}};
    x.place = TW_ON_DEVICE;
    tw_status status = tw_device_dlpack(s->ctx, &x, &out);
    if (status != TW_OK)
        return status;
    managed = out;
    managed->deleter(managed);
    return TW_OK;
}

static tw_status close_device(struct story *s)
{
    tw_entry_free(s->device_entry);
    tw_status status = tw_device_free(s->ctx, s->memory_c);
    status = status == TW_OK ? tw_event_free(s->ctx, s->from) : status;
    status = status == TW_OK ? tw_event_free(s->ctx, s->to) : status;
    return status == TW_OK ? tw_stream_free(s->ctx, s->stream) : status;
}

static tw_status close_host(struct story *s)
{
    tw_entry_free(s->entry);
    tw_build_free(s->build);
    tw_expected_free(s->expected);
    tw_store_close(s->store);
    tw_kernel_forget(tw_module_kernel_at(s->module, 0));
    tw_launch_free(s->host);
    tw_ptx_free(s->ptx);
    return TW_OK;
}

static const struct {
    const char *name;
    tw_status (*step)(struct story *s);
} steps[] = {
#define STEP(name)                                                                                 \
    {                                                                                              \
#name, name                                                                                \
    }
    STEP(open_context),   STEP(load_text),     STEP(load_file),       STEP(describe),
    STEP(new_host),       STEP(set_host),      STEP(prepare),         STEP(run),
    STEP(run_timed),      STEP(verify),        STEP(keep_inputs),     STEP(verify_each),
    STEP(begin_and_wait), STEP(show),          STEP(take_dlpack),     STEP(open_entry),
    STEP(start_entry),    STEP(expect_values), STEP(estimate),        STEP(open_store),
    STEP(keep_result),    STEP(look_at_store), STEP(for_target),      STEP(new_device),
    STEP(simulate),       STEP(show_ptx),      STEP(read_ptx),        STEP(read_ptx_file),
    STEP(launch_ptx),     STEP(give_sources),  STEP(open_build),      STEP(fill_build),
    STEP(device_memory),  STEP(streams),       STEP(start),           STEP(look_at_device),
    STEP(explain_device), STEP(assemble),      STEP(start_on_device), STEP(give_away),
    STEP(close_device),   STEP(close_host),
#undef STEP
};

/* Tells it with allocation `fail_at` failing; false: there is none such. */
static bool tell(const char *folder, long fail_at)
{
    static struct story s;
    s = (struct story){.memory = {.lock = PTHREAD_MUTEX_INITIALIZER, .fail_at = fail_at}};
    strcpy(s.folder, folder);
    snprintf(s.path, sizeof s.path, "%s/scale.tile", folder);
    for (int i = 0; i < LENGTH; i++)
        s.a[i] = (float)i;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        bool before = s.memory.failed;
        tw_status status = steps[i].step(&s);
        bool here = s.memory.failed && !before;
        if (here && status == TW_NO_MEMORY)
            status = steps[i].step(&s);
        if (status != TW_OK)
            fail_msg("allocation %ld: %s: %s: %s", fail_at, steps[i].name, tw_status_name(status),
                     tw_context_messages(s.ctx));
    }
    tw_context_free(s.ctx);
    free(s.ptx_text);
    assert_int_equal(s.memory.live, 0);
    return s.memory.failed;
}

static void remove_folder(const char *folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

static void every_allocation_fails(void **state)
{
    (void)state;
    char folder[] = "/tmp/tw-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/scale.tile", folder);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    assert_false(tell(folder, -1));
    long n = 0;
    while (tell(folder, n))
        n++;
    print_message("%ld allocations\n", n);
    assert_true(n > 300);
    remove_folder(folder);
}

/* --- the story and the header --- */

static char *contents(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("no %s", path);
    char *all = calloc(1, 1 << 20);
    assert_true(fread(all, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return all;
}

/* Functions that only read a table have nothing to allocate. */
static bool reads_a_table(const char *name)
{
    return strncmp(name, "tw_dtype_", 9) == 0 || strcmp(name, "tw_shape_next") == 0 ||
           strcmp(name, "tw_status_text") == 0 || strcmp(name, "tw_code_name") == 0 ||
           strcmp(name, "tw_version") == 0 || strcmp(name, "tw_text_shown") == 0 ||
           strcmp(name, "tw_context_message") == 0;
}

static void all_of_the_header_is_in_it(void **state)
{
    (void)state;
    char *header = contents("include/tilewright.h"),
         *own = contents(TW_TEST_ROOT "/tests/unit/test_api_memory.c");
    int found = 0;
    for (const char *at = header; (at = strstr(at, "TW_API "));) {
        char call[64];
        at += 7;
        const char *end = strchr(at, '('), *begin = end;
        while (begin && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_'))
            begin--;
        if (!begin || strncmp(begin, "tw_", 3) != 0)
            continue;
        snprintf(call, sizeof call, "%.*s(", (int)(end - begin), begin);
        found++;
        if (!strstr(own, call)) {
            call[strlen(call) - 1] = '\0';
            if (!reads_a_table(call))
                fail_msg("%s is not in the story", call);
        }
    }
    assert_true(found > 100);
    free(header);
    free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_allocation_fails, cuda_setup, cuda_teardown),
        cmocka_unit_test(all_of_the_header_is_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Builds: kernels of launches as C to ship. src/aot writes the C; this file compiles the
 * kernels. */
#include "api/ahead.h"

#include "base/platform.h"
#include "cpu/image.h"
#include "emit/emit.h"

#include <string.h>

/* --- objects --- */

struct new_call {
    tw_build *build;
    const char *name;
};

static tw_status new_call(void *user)
{
    const struct new_call *call = user;
    struct aot_build *b = &call->build->build;
    if (!aot_name_good(call->name)) {
        diag_error(&call->build->ctx->diag, LOC_NONE,
                   "`%s` cannot start the names of C: letters, digits and `_`, a letter first, and "
                   "not the name of a header of C",
                   call->name);
        return TW_BAD_ARGUMENT;
    }
    b->arena = &call->build->arena;
    b->name = arena_string(b->arena, call->name, strlen(call->name));
    b->version = TW_VERSION;
    return TW_OK;
}

static void build_destroy(tw_build *b)
{
    arena_free(&b->texts);
    arena_free(&b->arena);
    context_object_free(b->ctx, b, sizeof *b);
}

tw_status tw_build_new(tw_context *ctx, const char *name, tw_build **out)
{
    if (out)
        *out = NULL;
    REFUSE_IF(ctx, ctx, !name || !out, "tw_build_new: `name` or `out` is NULL");
    tw_build *b = context_object(ctx, sizeof *b);
    if (!b)
        return context_no_memory(ctx);
    b->ctx = ctx;
    context_arena(ctx, &b->arena);
    context_arena(ctx, &b->texts);
    tw_status status = context_call(ctx, new_call, &(struct new_call){b, name});
    if (status != TW_OK) {
        build_destroy(b);
        return status;
    }
    b->next = ctx->builds;
    ctx->builds = b;
    ctx->frees.build = tw_build_free;
    *out = b;
    return TW_OK;
}

void tw_build_free(tw_build *b)
{
    if (!b)
        return;
    UNLINK(tw_build, b->ctx->builds, b);
    build_destroy(b);
}

/* --- adding --- */

struct add_call {
    tw_build *build;
    tw_launch *launch;
    const tw_build_when *when;
    const struct build_family *family;
    const char *variant;
    bool only_tries;   /* adds nothing */
    const bool *known; /* by parameter: it is compiled in */
    struct aot_given given;
};

static struct diag *diag_of(const struct add_call *c)
{
    return &c->launch->ctx->diag;
}

/* Returns the shape in the first view of the pointer, "[m][k]". */
static const char *shape_of(struct arena *a, const struct lang_param *p)
{
    struct text t;
    text_init(&t, a);
    for (int i = 0; i < p->rank; i++)
        text_printf(&t, "[%s]", p->dim_text[i]);
    return t.data;
}

/* The parameters of a family's function: those that its kernels share, then all numbers of the device,
 * because each kernel has its own of these. */
static int param_count(const struct add_call *c)
{
    const struct lang_kernel *info = c->launch->kernel->info;
    return c->family ? lang_caller_params(info) + DEVICE_CLUSTERS : info->param_count;
}

/* Returns the function's parameter that is the kernel's parameter p. */
static int param_index(const struct add_call *c, int p)
{
    const struct lang_kernel *info = c->launch->kernel->info;
    enum device_number device = info->params[p].device;
    return c->family && device ? lang_caller_params(info) + (int)device - 1 : p;
}

static void describe_params(struct add_call *c)
{
    const tw_launch *l = c->launch;
    const struct lang_kernel *info = l->kernel->info;
    struct arena *a = &l->ctx->scratch;
    int callers = lang_caller_params(info);
    c->given.param_count = param_count(c);
    struct aot_param *list = arena_array(a, struct aot_param, c->given.param_count);
    for (int i = 0; i < callers; i++) {
        const struct lang_param *p = &info->params[i];
        list[i] = (struct aot_param){
            .name = p->name,
            .is_pointer = p->is_pointer,
            .is_const = p->is_const,
            .is_static = p->is_static,
            .dtype = p->type_variable >= 0 ? l->choice.types[p->type_variable] : p->dtype,
            .shape = shape_of(a, p),
            .has_default = p->has_default,
            .default_value = p->value,
            .derived = p->derived,
            .derived_text = p->derived_text,
        };
    }
    for (int i = callers; i < c->given.param_count; i++) {
        enum device_number n =
            c->family ? (enum device_number)(i - callers + 1) : info->params[i].device;
        list[i] = (struct aot_param){.name = n == DEVICE_SMS ? "device_sms" : "device_clusters",
                                     .device = n,
                                     .dtype = DT_I32,
                                     .shape = ""};
    }
    c->given.params = list;
}

void ahead_build_types(struct arena *a, const struct lang_kernel *info, const enum dtype *chosen,
                       const char **types, const char **suffix)
{
    struct text words, names;
    text_init(&words, a);
    text_init(&names, a);
    for (int t = 0; t < info->type_count; t++) {
        const char *name = dtype_table[chosen[t]].name;
        text_printf(&words, "%s%s = %s", t ? ", " : "", info->types[t].name, name);
        text_printf(&names, "%s%s", t ? "_" : "", name);
    }
    *types = words.data;
    *suffix = names.data;
}

/* Names the function that gets the version. */
static void describe_function(struct add_call *c)
{
    const tw_launch *l = c->launch;
    struct aot_given *g = &c->given;
    if (c->family) {
        g->family = c->family->name;
        g->variant = c->variant;
        g->file = c->family->file;
        g->types = c->family->types;
        g->suffix = c->family->suffix;
        return;
    }
    g->file = l->kernel->module->source.name;
    ahead_build_types(&l->ctx->scratch, l->kernel->info, l->choice.types, &g->types, &g->suffix);
}

static bool find_range(struct add_call *c, const tw_size_range *range, struct aot_range *out)
{
    const struct lang_kernel *info = c->launch->kernel->info;
    for (int p = 0; p < info->param_count; p++) {
        const struct aot_param *param = &c->given.params[p];
        if (strcmp(param->name, range->param) != 0)
            continue;
        if (param->is_pointer || !dtype_is_int(param->dtype)) {
            diag_error(diag_of(c), info->params[p].loc, "`%s` is not an integer: it has no range",
                       range->param);
            return false;
        }
        *out = (struct aot_range){p, range->least, range->most};
        return true;
    }
    diag_error(diag_of(c), LOC_NONE, "kernel `%s` has no scalar parameter `%s`", info->name,
               range->param);
    return false;
}

/* Returns the alignment in bytes; 0: an invalid one, reported. */
static int alignment_of(const struct add_call *c)
{
    int bytes = c->when && c->when->alignment ? c->when->alignment : 16;
    if (bytes > 0 && bytes <= 16 && (bytes & (bytes - 1)) == 0)
        return bytes;
    diag_error(diag_of(c), LOC_NONE, "an alignment of %d bytes: expected 1, 2, 4, 8 or 16", bytes);
    return 0;
}

static bool describe_row(struct add_call *c)
{
    const tw_launch *l = c->launch;
    struct arena *a = &l->ctx->scratch;
    int count = c->when ? c->when->range_count : 0;
    struct aot_range *ranges = arena_array(a, struct aot_range, count);
    int params = c->given.param_count, *divisor = arena_array(a, int, params);
    bool *is_static = arena_array(a, bool, params), *absent = arena_array(a, bool, params);
    struct literal *values = arena_array(a, struct literal, params);
    for (int i = 0; i < count; i++)
        if (!find_range(c, &c->when->ranges[i], &ranges[i]))
            return false;
    for (int i = 0; i < params; i++) {
        divisor[i] = 1;
        absent[i] = true;
    }
    for (int p = 0; p < l->kernel->info->param_count; p++) {
        int i = param_index(c, p);
        divisor[i] = c->given.params[i].is_pointer ? 1 : l->choice.divisor[p];
        is_static[i] = c->given.params[i].is_static;
        values[i] = l->choice.values[p];
        absent[i] = false;
    }
    c->given.row = (struct aot_row){.device = c->when ? c->when->device : NULL,
                                    .is_static = is_static,
                                    .absent = absent,
                                    .values = values,
                                    .divisor = divisor,
                                    .alignment = l->kernel->executor->lowers ? alignment_of(c) : 1,
                                    .range_count = count,
                                    .ranges = ranges,
                                    .tuned = resolve_tunes_text(l, false)};
    return c->given.row.alignment > 0;
}

static bool statics_known(const struct add_call *c)
{
    const tw_launch *l = c->launch;
    const struct lang_kernel *info = l->kernel->info;
    bool all = true;
    for (int p = 0; p < info->param_count; p++) {
        if (!info->params[p].is_static || l->choice.known[p])
            continue;
        all = false;
        diag_error(diag_of(c), info->params[p].loc,
                   "`%s` is static, compiled in: say for which values `%s` is built (--set %s=…, "
                   "several times for several)",
                   info->params[p].name, info->name, info->params[p].name);
        if (info->params[p].derived)
            diag_note(diag_of(c), info->params[p].derived->loc,
                      "or say the values that it follows from");
    }
    return all;
}

/* Compiles for each set of instructions that this library has routines for. */
tw_status host_ship(struct add_call *c, struct kernel *ir, const struct pass_context *passes)
{
    struct arena *a = &c->launch->ctx->scratch;
    VEC(struct aot_program) programs = {0};
    for (const struct param *p = ir->params; p; p = p->next)
        if (p->sym->device) {
            diag_error(
                diag_of(c), ir->loc,
                "kernel `%s` uses `%s`, which programs for the cpu that are shipped do not know",
                ir->name, op_device_number_text(p->sym->device));
            diag_note(diag_of(c), ir->loc,
                      "let the caller give the number: `i32 sms` in the parameter list");
            return TW_UNSUPPORTED;
        }
    if (kernel_uses_roles(ir)) {
        diag_error(diag_of(c), ir->loc,
                   "kernel `%s` has roles, mbarriers or tensor copies, and programs for the cpu "
                   "that are shipped cannot have them",
                   ir->name);
        diag_note(diag_of(c), ir->loc,
                  "`tilewright run --device cpu` and tw_load run it; ship a kernel without them");
        return TW_UNSUPPORTED;
    }
    const struct routine_set *set;
    for (int i = 0; (set = routine_set_listed(i)); i++) {
        const char *why = NULL;
        struct cpu_program *p = cpu_compile_with(a, ir, set, false, &why);
        struct image image = {0};
        for (int j = 0; p && j < passes->joined_count; j++)
            cpu_add_joined(a, p, passes->joined[j].kernel, passes->joined[j].joins);
        if (p)
            image = image_write(a, p, &why);
        if (!image.words) {
            diag_error(diag_of(c), ir->loc, "kernel `%s` cannot run on the cpu: %s", ir->name, why);
            return TW_UNSUPPORTED;
        }
        vec_push(a, &programs, ((struct aot_program){set->name, image.words, image.count}));
    }
    c->given.kernel = ir;
    c->given.program_count = (int)programs.count;
    c->given.programs = programs.data;
    c->given.target = aot_cpu;
    return TW_OK;
}

/* Lowers without source lines: shipped kernels are not debugged by line. */
tw_status gpu_ship(struct add_call *c, struct kernel *ir, const struct pass_context *passes)
{
    (void)passes;
    const tw_kernel *k = c->launch->kernel;
    struct lowered *out = arena_new(&k->module->ctx->scratch, struct lowered);
    int count = k->info->param_count;
    int *alignment = arena_array(&k->module->ctx->scratch, int, count + 1);
    for (int p = 0; p < count; p++) {
        int element = (int)dtype_size(c->given.params[p].dtype);
        alignment[p] = c->given.row.alignment > element ? c->given.row.alignment : element;
    }
    struct lowered_options options = {.target = k->device, .alignment = alignment};
    if (!emit_kernel(&k->module->ctx->scratch, ir, &options, diag_of(c), out)) {
        if (out->excess != LOWERED_FITS)
            fit_note(k, &c->launch->choice, c->known, out->excess);
        return TW_BAD_PROGRAM;
    }
    c->given.kernel = ir;
    c->given.lowered = out;
    c->given.target = k->asked;
    c->given.code = k->device;
    return TW_OK;
}

/* Gives the symbols of the parameters their numbers in the function. */
static void number_params(const struct add_call *c, struct kernel *ir)
{
    for (struct param *p = ir->params; p; p = p->next)
        p->sym->index = param_index(c, p->sym->index);
}

static tw_status compile(struct add_call *c)
{
    const tw_launch *l = c->launch;
    const struct lang_kernel *info = l->kernel->info;
    struct arena *a = &l->ctx->scratch;
    bool *known = arena_array(a, bool, info->param_count);
    for (int p = 0; p < info->param_count; p++)
        known[p] = info->params[p].is_static;
    c->known = known;
    struct kernel *ir = choice_check(a, diag_of(c), l->kernel, &l->choice, known);
    if (!ir)
        return TW_BAD_PROGRAM;
    struct pass_context passes;
    tw_status status = choice_passes_kept(l->kernel, ir, &l->choice, known, NULL, &passes);
    status = status == TW_OK ? l->kernel->executor->ship(c, ir, &passes) : status;
    number_params(c, ir);
    return status;
}

/* Returns true if a size has its default because the launch does not say it. */
static bool is_default(const tw_launch *l, int p)
{
    const struct lang_param *param = &l->kernel->info->params[p];
    return param->has_default && !l->value_set[p] &&
           (param->device || l->choice.values[p].i == param->value.i);
}

/* Keeps only the divisors that a version may require of a caller's sizes. That of a derived parameter
 * is a fact about these sizes, not about a caller's, and so is that of a default, 0 for example: the
 * caller may give another value. Versions of a kernel by itself differ by multiples of 16 alone. The
 * CPU has one version for all sizes. */
static void forget_divisors(struct add_call *c)
{
    tw_launch *l = c->launch;
    const struct lang_kernel *info = l->kernel->info;
    for (int p = 0; p < info->param_count; p++)
        if (info->params[p].derived || is_default(l, p) || !l->kernel->executor->lowers ||
            (!c->family && l->choice.divisor[p] == 8))
            l->choice.divisor[p] = 1;
}

static tw_status add_call(void *user)
{
    struct add_call *c = user;
    tw_status status = launch_resolve_facts(c->launch);
    c->launch->prepared = false;
    if (status != TW_OK)
        return status;
    if (!statics_known(c))
        return TW_BAD_ARGUMENT;
    forget_divisors(c);
    describe_params(c);
    describe_function(c);
    if (!describe_row(c))
        return TW_BAD_ARGUMENT;
    status = compile(c);
    if (status != TW_OK || c->only_tries)
        return status;
    return aot_add(&c->build->build, &c->given, diag_of(c)) ? TW_OK : TW_UNSUPPORTED;
}

tw_status ahead_build_try(tw_build *b, tw_launch *l, const struct build_family *family,
                          const char *variant)
{
    struct add_call call = {
        .build = b, .launch = l, .family = family, .variant = variant, .only_tries = true};
    return context_call(b->ctx, add_call, &call);
}

tw_status ahead_build_add(tw_build *b, tw_launch *l, const tw_build_when *when,
                          const struct build_family *family, const char *variant)
{
    struct add_call call = {
        .build = b, .launch = l, .when = when, .family = family, .variant = variant};
    return context_call(b->ctx, add_call, &call);
}

tw_status tw_build_add(tw_build *b, tw_launch *l, const tw_build_when *when)
{
    REFUSE_IF(b, b->ctx, !l || l->ctx != b->ctx, "tw_build_add: `l` is NULL or of another context");
    tw_build_when own;
    tw_status status = when ? READ_SIZED(b->ctx, tw_build_when, &own, when) : TW_OK;
    return status == TW_OK ? ahead_build_add(b, l, when ? &own : NULL, NULL, NULL) : status;
}

/* --- images --- */

/* Returns the index-th image for a GPU; NULL: there are fewer. */
static struct aot_image *gpu_image(struct aot_build *b, int index)
{
    for (size_t i = 0; i < b->images.count; i++)
        if (b->images.data[i].ptx && index-- == 0)
            return &b->images.data[i];
    return NULL;
}

static tw_status settle_call(void *user)
{
    aot_settle(user);
    return TW_OK;
}

bool tw_build_image_at(tw_build *b, int index, tw_build_image *out)
{
    if (!b || !out || index < 0 || !SIZED_FITS(b->ctx, tw_build_image, out) ||
        context_call(b->ctx, settle_call, &b->build) != TW_OK)
        return false;
    const struct aot_image *image = gpu_image(&b->build, index);
    if (!image)
        return false;
    FILL_SIZED(out, ((tw_build_image){.ptx = image->ptx, .target = image->code->name}));
    return true;
}

struct code_call {
    tw_build *build;
    int index;
    const void *cubin;
    size_t length;
};

static tw_status code_call(void *user)
{
    const struct code_call *c = user;
    struct aot_image *image = gpu_image(&c->build->build, c->index);
    if (c->length < 4 || memcmp(c->cubin, "\177ELF", 4) != 0) {
        diag_error(&c->build->ctx->diag, LOC_NONE,
                   "the code made from the PTX for %s is not a cubin", image->code->name);
        return TW_BAD_PROGRAM;
    }
    image->cubin = arena_copy(&c->build->arena, c->cubin, c->length);
    image->cubin_length = c->length;
    return TW_OK;
}

tw_status tw_build_machine_code(tw_build *b, int index, const void *cubin, size_t length)
{
    REFUSE_IF(b, b->ctx, index < 0 || !gpu_image(&b->build, index) || !cubin,
              "tw_build_machine_code: there is no such image, or `cubin` is NULL");
    return context_call(b->ctx, code_call, &(struct code_call){b, index, cubin, length});
}

/* --- the files --- */

struct texts_call {
    tw_build *build;
    struct text header, source;
    const char *folder;
};

static tw_status texts_call(void *user)
{
    struct texts_call *c = user;
    tw_build *b = c->build;
    if (b->build.functions.count == 0) {
        diag_error(&b->ctx->diag, LOC_NONE, "build `%s` has no kernel", b->build.name);
        return TW_BAD_ARGUMENT;
    }
    aot_settle(&b->build);
    arena_free(&b->texts);
    text_init(&c->header, &b->texts);
    text_init(&c->source, &b->texts);
    aot_header(&c->header, &b->build);
    aot_source(&c->source, &b->build);
    return TW_OK;
}

tw_status tw_build_texts(tw_build *b, const char **header, const char **source)
{
    if (header)
        *header = NULL;
    if (source)
        *source = NULL;
    REFUSE_IF(b, b->ctx, !header || !source, "tw_build_texts: `header` or `source` is NULL");
    struct texts_call call = {.build = b};
    tw_status status = context_call(b->ctx, texts_call, &call);
    if (status == TW_OK) {
        *header = call.header.data;
        *source = call.source.data;
    }
    return status;
}

static tw_status write_call(void *user)
{
    struct texts_call *c = user;
    tw_status status = texts_call(c);
    if (status != TW_OK)
        return status;
    struct arena *a = &c->build->ctx->scratch;
    const char *name = c->build->build.name, *why = "";
    struct platform_output files[2] = {
        {arena_printf(a, "%s/%s.h", c->folder, name), c->header.data, c->header.length},
        {arena_printf(a, "%s/%s.c", c->folder, name), c->source.data, c->source.length}};
    int failed;
    if (platform_write_files(a, files, 2, &failed, &why))
        return TW_OK;
    diag_error(&c->build->ctx->diag, LOC_NONE, "%s cannot be written: %s", files[failed].path, why);
    return TW_NO_FILE;
}

tw_status tw_build_write(tw_build *b, const char *folder)
{
    REFUSE_IF(b, b->ctx, !folder, "tw_build_write: `folder` is NULL");
    return context_call(b->ctx, write_call, &(struct texts_call){.build = b, .folder = folder});
}

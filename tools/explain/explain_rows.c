/* Finds the kernels for `explain` from the words, --compare and --sweep, and explains each. */
#include "explain/explained.h"
#include "cli/doing.h"

#include <stdlib.h>
#include <string.h>

/* Lengths of axes without a given size: rows and columns, and the axes left of them. */
enum { USUAL_EXTENT = 1024, USUAL_OUTER_EXTENT = 8 };
enum { MOST_ROWS = 256, MOST_VALUES = 64 };

/* --sweep NAME=16,32,64 */
struct sweep {
    char name[64];
    char values[MOST_VALUES][64];
    int count;
};

/* --- which kernels --- */

/* Returns the words of the command and the names that --compare lists. *count: their number. The
 * caller frees each and the list. */
static char **words_asked(struct explain *x, int *count)
{
    char **words = need_memory(sizeof *words);
    *count = 0;
    for (int i = 0; i < x->given->word_count; i++) {
        ADD_TO(words, *count, need_text("%s", x->given->words[i]));
    }
    for (const struct option_use *u = NULL; (u = options_next(x->given, "compare", u));)
        for (const char *at = u->values[0]; *at;) {
            int length = (int)strcspn(at, ",");
            if (length) {
                ADD_TO(words, *count, need_text("%.*s", length, at));
            }
            at += length + (at[length] == ',');
        }
    return words;
}

/* --- sweeps --- */

static int read_sweep(struct explain *x, const char *text, struct sweep *s)
{
    size_t name = strcspn(text, "=");
    *s = (struct sweep){0};
    bool good = name && name < sizeof s->name && text[name] == '=' && text[name + 1];
    if (good)
        memcpy(s->name, text, name);
    for (const char *at = text + name + 1; good && *at;) {
        size_t length = strcspn(at, ",");
        good = length && length < sizeof s->values[0] && s->count < MOST_VALUES;
        if (good)
            memcpy(s->values[s->count++], at, length);
        at += length + (at[length] == ',');
    }
    return good ? STATUS_OK
                : usage_error(&x->complaints, x->command,
                              "--sweep %s: expected NAME=VALUE,VALUE…, at most %d values, e.g. "
                              "T=16,32,64",
                              text, MOST_VALUES);
}

static int read_sweeps(struct explain *x, struct sweep *sweeps, int *count)
{
    *count = 0;
    for (const struct option_use *u = NULL; (u = options_next(x->given, "sweep", u));) {
        if (*count == MOST_SWEEPS)
            return usage_error(&x->complaints, x->command, "--sweep: at most %d at a time",
                               MOST_SWEEPS);
        struct sweep *s = &sweeps[(*count)++];
        int status = read_sweep(x, u->values[0], s);
        for (int i = 0; i < *count - 1 && status == STATUS_OK; i++)
            if (strcmp(sweeps[i].name, s->name) == 0)
                status =
                    usage_error(&x->complaints, x->command,
                                "--sweep %s: `%s` is swept twice; one list has all values: "
                                "--sweep %s=%s,%s",
                                u->values[0], s->name, s->name, sweeps[i].values[0], s->values[0]);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static const char *const settings[] = {"tune", "set", "type"};

/* Returns "tune", "set" or "type", the option that sets the name in the kernel, or NULL if none
 * does. */
static const char *option_of(tw_kernel *k, const char *name)
{
    for (int i = 0; i < 3; i++)
        if (setting_named(k, settings[i], name))
            return settings[i];
    return NULL;
}

/* Returns whether a sweep of the name applies to this row: the name is an option of the kernel,
 * or a constant of its file. */
static bool is_swept(const struct explain_row *r, const char *name)
{
    return option_of(r->kernel, name) || explain_has_const(r->program.text, name);
}

/* --- sizes that no option gives --- */

/* Returns the usual length of an axis, or 0 if the name is not an axis. Axes left of rows and
 * columns, such as batches and heads, are short. */
static int usual_extent(tw_kernel *k, const char *name)
{
    tw_param p = tw_param_init();
    int usual = 0;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        for (int axis = 0; p.is_pointer && axis < p.rank; axis++)
            if (strcmp(p.dims[axis], name) == 0)
                usual = axis >= p.rank - 2 ? USUAL_EXTENT : usual ? usual : USUAL_OUTER_EXTENT;
    return usual;
}

static void assume_extents(struct explain_row *r, tw_launch *l, tw_kernel *k)
{
    tw_param p = tw_param_init();
    tw_value v;
    free(r->assumed);
    r->assumed = NULL;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        bool known = p.is_pointer || p.derived || tw_launch_value(l, p.name, &v) == TW_OK;
        int usual = known ? 0 : usual_extent(k, p.name);
        if (!usual)
            continue;
        append_text(&r->assumed, "%s%s=%d", r->assumed ? "," : "", p.name, usual);
        tw_launch_set(l, p.name, tw_int(usual));
    }
}

/* --- a launch --- */

/* Applies the values of a combination whose names the kernel has. */
static int apply_sweeps(struct explain *x, struct explain_row *r, tw_launch *l, tw_kernel *k)
{
    int status = STATUS_OK;
    for (int i = 0; i < r->swept_count && status == STATUS_OK; i++) {
        const char *option = option_of(k, r->swept[i].name);
        if (option)
            status = apply_assignment(l, k, &r->program, x->given, option, "sweep", &r->swept[i]);
    }
    return status;
}

int explain_launch(struct explain *x, struct explain_row *r, tw_kernel *k, tw_launch **out)
{
    tw_status s = tw_launch_new(k, out);
    if (s != TW_OK) {
        complain_library(&x->complaints, x->ctx, s);
        return STATUS_FAILED;
    }
    int status = chosen_apply(&r->chosen, &r->program, *out);
    if (status == STATUS_OK)
        status = apply_settings(*out, k, &r->program, x->given, true);
    if (status == STATUS_OK)
        status = apply_sweeps(x, r, *out, k);
    if (status != STATUS_OK)
        return status;
    assume_extents(r, *out, k);
    char *missing = missing_scalars(*out, k);
    if (missing)
        status =
            usage_error(&x->complaints, x->command, "%s: say --set %s", tw_kernel_name(k), missing);
    free(missing);
    return status;
}

/* --- a row --- */

static void add_choice(struct explain_row *r, const char *name, tw_dtype t, const char *between)
{
    tw_value v;
    char text[40];
    if (tw_launch_value(r->launch, name, &v) != TW_OK)
        return;
    format_scalar(text, sizeof text, v, t);
    append_text(&r->choice, "%s%s=%s", r->choice ? between : "", name, text);
}

static void describe(struct explain_row *r)
{
    tw_param p = tw_param_init();
    tw_tune t = tw_tune_init();
    char type[96];
    for (int i = 0; tw_kernel_param(r->kernel, i, &p) == TW_OK; i++)
        if (!p.is_pointer)
            add_choice(r, p.name, p.dtype, " ");
    r->sizes = r->choice ? strlen(r->choice) : 0;
    for (int i = 0; tw_kernel_tune(r->kernel, i, &t) == TW_OK; i++)
        add_choice(r, t.name, TW_DTYPE_NONE, i ? " " : ", ");
    for (int i = 0; tw_kernel_param(r->kernel, i, &p) == TW_OK; i++) {
        tw_array a = tw_array_init();
        if (!p.is_pointer || tw_launch_shape(r->launch, p.name, &a) != TW_OK)
            continue;
        format_array_type(type, sizeof type, &a);
        append_text(&r->arrays, "%s%s %s", r->arrays ? ", " : "", p.name, type);
    }
}

/* Names the row after its file, or after its kernel if the file has several, and adds the swept
 * values. */
static void name_row(struct explain_row *r)
{
    const char *slash = strrchr(r->program.path, '/'), *file = slash ? slash + 1 : r->program.path;
    if (r->chosen.variant || tw_module_kernel_count(r->program.module) > 1)
        r->name = need_text("%s", tw_kernel_name(r->kernel));
    else
        r->name = need_text("%.*s", (int)strcspn(file, "."), file);
    for (int i = 0; i < r->swept_count; i++)
        if (is_swept(r, r->swept[i].name))
            append_text(&r->name, " %s=%s", r->swept[i].name, r->swept[i].value);
}

/* Takes the program's kernel for the GPU's target. */
static int take_kernel(struct explain *x, struct explain_row *r)
{
    tw_kernel *k = program_kernel(&r->program, x->command);
    tw_status s = k ? tw_kernel_for_target(k, x->gpu.target, &r->kernel) : TW_OK;
    if (s != TW_OK)
        complain_library(&x->complaints, x->ctx, s);
    return k && s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

static int open_row(struct explain *x, const char *word, struct explain_row *r)
{
    if (is_ptx_file(word)) /* of --compare */
        return usage_error(&x->complaints, x->command,
                           "%s: PTX and CUDA C are explained by themselves", word);
    int status = program_open_in(&r->program, word, x->ctx, &x->complaints);
    if (status != STATUS_OK)
        return status;
    if (!program_is_family(&r->program)) {
        status = chosen_refuse(&r->program, x->given);
        return status == STATUS_OK ? take_kernel(x, r) : status;
    }
    status = chosen_begin(&r->chosen, &r->program, x->given, x->gpu.target, x->gpu.name);
    r->kernel = r->chosen.any;
    return status;
}

/* Chooses a kernel of a family for the row's sizes. */
static int choose_member(struct explain *x, struct explain_row *r)
{
    tw_launch *l = NULL;
    int status = explain_launch(x, r, r->kernel, &l);
    if (status == STATUS_OK)
        status = chosen_take(&r->chosen, &r->program, l);
    tw_launch_free(l);
    return status == STATUS_OK ? take_kernel(x, r) : status;
}

/* Returns whether the text can be a constant's value. Any other text would add a line that the
 * file does not have. */
static bool is_constant(const char *text)
{
    tw_value v;
    return parse_scalar(text, &v) || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
}

/* Compiles the kernel again, from a text in which swept constants have the row's values. */
static int set_consts(struct explain *x, struct explain_row *r)
{
    struct program *p = &r->program;
    char *values = NULL;
    for (int i = 0; i < r->swept_count; i++) {
        const struct assignment *a = &r->swept[i];
        char *text =
            option_of(r->kernel, a->name) ? NULL : explain_with_const(p->text, a->name, a->value);
        if (!text)
            continue;
        if (!is_constant(a->value)) {
            free(text);
            free(values);
            return usage_error(&x->complaints, x->command,
                               "--sweep %s=%s: `%s` is not a number, true or false", a->name,
                               a->value, a->value);
        }
        append_text(&values, "%s%s=%s", values ? ", " : "", a->name, a->value);
        free(r->text);
        p->text = r->text = text;
        p->length = strlen(text);
    }
    if (!r->text)
        return STATUS_OK;
    tw_status s = tw_module_from_text(p->ctx, p->path, p->text, p->length, &p->module);
    tw_kernel *k = s == TW_OK ? tw_module_kernel(p->module, tw_kernel_name(r->kernel)) : NULL;
    s = k ? tw_kernel_for_target(k, x->gpu.target, &r->kernel) : s == TW_OK ? TW_NOT_FOUND : s;
    if (s != TW_OK) {
        complain_library(&x->complaints, x->ctx, s);
        complain_more(&x->complaints, "(the text is that of %s with --sweep %s)", p->path, values);
    }
    free(values);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* Halves an extent until the kernel can be launched. Returns the result, or 0 if this extent is
 * not the cause, because a smaller value does not reduce the block's shared memory. */
static int64_t smaller_extent(struct explain *x, struct explain_row *r, const char *name,
                              const tw_explain_options *options)
{
    enum { LEAST = 8 };
    tw_launch *l = NULL;
    tw_value v = {0};
    tw_explanation e = r->e;
    bool matters =
        explain_launch(x, r, r->kernel, &l) == STATUS_OK && tw_launch_value(l, name, &v) == TW_OK;
    while (matters && !e.launches && v.i >= 2 * LEAST) {
        v.i /= 2;
        tw_launch_set(l, name, v);
        matters = tw_launch_explain(l, options, &e) != TW_OK || /* another limit is exceeded */
                  e.shared_bytes < r->e.shared_bytes;
    }
    tw_launch_free(l);
    return matters && e.launches ? v.i : 0;
}

/* Advises smaller sizes, from which the tiles follow, for a kernel that cannot be launched. */
static void advise_smaller(struct explain *x, struct explain_row *r,
                           const tw_explain_options *options)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(r->kernel, i, &p) == TW_OK; i++) {
        int64_t extent = p.is_static && usual_extent(r->kernel, p.name)
                             ? smaller_extent(x, r, p.name, options)
                             : 0;
        if (extent)
            append_text(&r->advice, "%s Tiles grow with %s: with --set %s=%lld it can be launched.",
                        r->advice ? "" : r->e.advice, p.name, p.name, (long long)extent);
    }
    if (r->advice)
        r->e.advice = r->advice;
}

static void say_why_not(struct explain *x, struct explain_row *r, tw_status s)
{
    tw_message m = tw_message_init();
    bool endless = tw_context_message(x->ctx, 0, &m) && m.code == TW_CODE_ENDLESS;
    complain_library(&x->complaints, x->ctx, s);
    if (endless)
        complain_more(&x->complaints, "(--step-limit N lets each block run for longer)");
    else if (s == TW_FAULT)
        complain_more(&x->complaints, "(`tilewright check %s` says more of it)", r->program.path);
}

/* Stores why one row of several has no results: the first message is the reason. Its place and
 * the last note become the advice. */
static void take_why_not(struct explain *x, struct explain_row *r, tw_status s)
{
    tw_message first = {.size = sizeof first, .text = tw_status_text(s)}, m = tw_message_init();
    bool compiles = s != TW_BAD_PROGRAM && s != TW_UNSYNCHRONISED;
    char *note = NULL;
    tw_context_message(x->ctx, 0, &first);
    r->why_not = need_text("%s%s", compiles ? "" : "does not compile: ", first.text);
    for (int i = 1; tw_context_message(x->ctx, i, &m); i++)
        if (m.severity == TW_NOTE) {
            free(note);
            note = need_text("%s", m.text);
        }
    if (first.file)
        append_text(&r->advice, "%s:%d%s", first.file, first.line, note ? ": " : "");
    if (note)
        append_text(&r->advice, "%s", note);
    free(note);
    r->refused = s;
    r->e = (tw_explanation){
        .size = sizeof(tw_explanation), .gpu = x->gpu, .why_not = r->why_not, .advice = r->advice};
}

/* Explains a row. If there are `others`, a row that cannot be explained shows the reason. */
static int explain_row(struct explain *x, struct explain_row *r, bool others)
{
    int64_t registers = 0, steps = 0;
    int status = explain_launch(x, r, r->kernel, &r->launch);
    if (status != STATUS_OK)
        return status;
    if (!options_integer(x->given, "registers", 16, 255, &registers) ||
        !options_integer(x->given, "step-limit", 1, INT64_MAX / 2, &steps))
        return STATUS_USAGE;
    tw_explain_options options = {.size = sizeof options,
                                  .gpu = x->gpu.name,
                                  .registers = (int)registers,
                                  .step_limit = steps};
    doing("explaining", tw_kernel_name(r->kernel));
    r->e = tw_explanation_init();
    tw_status s = tw_launch_explain(r->launch, &options, &r->e);
    doing(NULL, NULL);
    if (s == TW_OK && !r->e.launches)
        advise_smaller(x, r, &options);
    if (s != TW_OK && others && s != TW_NO_MEMORY && s != TW_CANCELLED) {
        take_why_not(x, r, s);
    } else if (s != TW_OK) {
        say_why_not(x, r, s);
        bool begun = s == TW_FAULT || s == TW_NO_MEMORY || s == TW_CANCELLED;
        return begun ? STATUS_FAILED : STATUS_USAGE;
    }
    describe(r);
    name_row(r);
    return STATUS_OK;
}

/* --- all of them --- */

static struct explain_row *add_row(struct explain *x)
{
    struct explain_row *r = ADD_NEW(x->rows, x->row_count);
    memset(r, 0, sizeof *r);
    return r;
}

/* Chooses the combination of that number; the values of the last sweep vary fastest. */
static void choose(struct explain_row *r, const struct sweep *sweeps, int count, int number)
{
    for (int i = count - 1; i >= 0; i--) {
        struct assignment *a = &r->swept[i];
        memcpy(a->name, sweeps[i].name, sizeof a->name);
        memcpy(a->value, sweeps[i].values[number % sweeps[i].count], sizeof a->value);
        number /= sweeps[i].count;
    }
    r->swept_count = count;
}

/* Selects the sweeps whose names the kernel, or its file, has. */
static int sweeps_of(const struct explain_row *r, const struct sweep *all, int count,
                     struct sweep *own)
{
    int n = 0;
    for (int i = 0; i < count; i++)
        if (is_swept(r, all[i].name))
            own[n++] = all[i];
    return n;
}

static int add_rows_of(struct explain *x, const char *word, const struct sweep *sweeps, int count)
{
    struct sweep *own = need_memory(MOST_SWEEPS * sizeof *own);
    int combinations = 1, own_count = 0, status = STATUS_OK;
    for (int i = 0; i < combinations && status == STATUS_OK; i++) {
        if (x->row_count == MOST_ROWS) {
            status =
                usage_error(&x->complaints, x->command, "at most %d rows at a time", MOST_ROWS);
            break;
        }
        struct explain_row *r = add_row(x);
        status = open_row(x, word, r);
        if (status == STATUS_OK && i == 0) {
            own_count = sweeps_of(r, sweeps, count, own);
            for (int s = 0; s < own_count; s++)
                combinations *= own[s].count;
        }
        if (status == STATUS_OK)
            choose(r, own, own_count, i);
        if (status == STATUS_OK && r->chosen.family)
            status = choose_member(x, r);
        if (status == STATUS_OK)
            status = set_consts(x, r);
    }
    free(own);
    return status;
}

static int say_not_swept(struct explain *x, const char *name)
{
    enum { MOST = 127 };
    const char *names[MOST + 1] = {0}, *known;
    char **consts = NULL;
    int n = 0, const_count = 0;
    for (int k = 0; k < x->row_count; k++) {
        explain_consts(x->rows[k].program.text, &consts, &const_count);
        for (int o = 0; o < 3; o++)
            for (int j = 0; n < MOST && (known = setting_at(x->rows[k].kernel, settings[o], j));
                 j++)
                names[n++] = known;
    }
    for (int i = 0; i < const_count && n < MOST; i++)
        names[n++] = consts[i];
    char *hint = name_hint(name, names);
    usage_error(&x->complaints, x->command,
                "--sweep %s: there is no tuned value, size, type or constant of that name%s", name,
                hint);
    free(hint);
    for (int i = 0; i < const_count; i++)
        free(consts[i]);
    free(consts);
    return STATUS_USAGE;
}

/* Checks that some kernel has each swept name. */
static int sweeps_known(struct explain *x, const struct sweep *sweeps, int count)
{
    for (int i = 0; i < count; i++) {
        bool found = false;
        for (int k = 0; k < x->row_count && !found; k++)
            found = is_swept(&x->rows[k], sweeps[i].name);
        if (!found)
            return say_not_swept(x, sweeps[i].name);
    }
    return STATUS_OK;
}

/* Refuses a swept name to which another option gives a value. */
static int swept_alone(struct explain *x, const struct sweep *sweeps, int count)
{
    for (int i = 0; i < count; i++)
        for (int o = 0; o < 3; o++)
            if (settings_give(x->given, settings[o], sweeps[i].name))
                return usage_error(&x->complaints, x->command,
                                   "--sweep %s, --%s %s: which values is `%s` to have? Leave one "
                                   "of the two options out",
                                   sweeps[i].name, settings[o], sweeps[i].name, sweeps[i].name);
    return STATUS_OK;
}

static int known_settings(struct explain *x)
{
    struct known_kernel *list = need_memory((size_t)x->row_count * sizeof *list);
    for (int i = 0; i < x->row_count; i++)
        list[i] = (struct known_kernel){&x->rows[i].program, x->rows[i].kernel};
    int status = settings_known(list, x->row_count, x->given);
    free(list);
    return status;
}

static int open_rows(struct explain *x, char *const *words, int word_count)
{
    struct sweep *sweeps = need_memory(MOST_SWEEPS * sizeof *sweeps);
    int count, status = read_sweeps(x, sweeps, &count);
    for (int i = 0; i < word_count && status == STATUS_OK; i++)
        status = add_rows_of(x, words[i], sweeps, count);
    if (status == STATUS_OK)
        status = sweeps_known(x, sweeps, count);
    if (status == STATUS_OK)
        status = swept_alone(x, sweeps, count);
    if (status == STATUS_OK)
        status = known_settings(x);
    free(sweeps);
    return status;
}

static bool any_explained(const struct explain *x)
{
    for (int i = 0; i < x->row_count; i++)
        if (x->rows[i].refused == TW_OK)
            return true;
    return false;
}

/* Explains all rows. If none has results, reports the error of the first row as if it were the
 * only one. */
static int explain_rows(struct explain *x)
{
    int status = STATUS_OK;
    for (int i = 0; i < x->row_count && status == STATUS_OK; i++)
        status = explain_row(x, &x->rows[i], x->row_count > 1);
    if (status != STATUS_OK || any_explained(x))
        return status;
    struct explain_row *first = &x->rows[0];
    tw_launch_free(first->launch);
    first->launch = NULL;
    return explain_row(x, first, false);
}

int explain_find_rows(struct explain *x)
{
    int count;
    char **words = words_asked(x, &count);
    int status = count ? open_rows(x, words, count)
                       : usage_error(&x->complaints, x->command,
                                     "--compare %s: expected names of kernels, or files",
                                     options_value(x->given, "compare"));
    for (int i = 0; i < count; i++)
        free(words[i]);
    free(words);
    return status == STATUS_OK ? explain_rows(x) : status;
}

void explain_free_rows(struct explain *x)
{
    for (int i = 0; i < x->row_count; i++) {
        struct explain_row *r = &x->rows[i];
        chosen_free(&r->chosen);
        program_close(&r->program);
        free(r->name);
        free(r->choice);
        free(r->arrays);
        free(r->assumed);
        free(r->advice);
        free(r->text);
        free(r->why_not);
    }
    free(x->rows);
}

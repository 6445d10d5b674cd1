/* Opens program files, chooses the kernel, and converts values from and to text. */
#include "target.h"
#include "doing.h"
#include "files_read.h"
#include "shipped.h"
#include "tilewright_look.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_to_file(void *user, const char *text, size_t length)
{
    FILE **out = user;
    doing_hide();
    if (*out)
        print_output(*out, text, length);
}

/* --- texts of programs --- */

/* Text of a program that was read before. A pipe can be read only once, but several words may
 * name it: -:first -:second. */
struct kept_text {
    struct kept_text *next;
    char *path, *text;
    size_t length;
};
static struct kept_text *kept_texts;

/* Returns NULL and sets errno on failure. */
static const struct kept_text *text_of_file(const char *path)
{
    enum { LARGEST_PROGRAM = 64 << 20 };
    for (const struct kept_text *k = kept_texts; k; k = k->next)
        if (strcmp(k->path, path) == 0)
            return k;
    size_t length;
    file_is_read(path);
    char *text = read_at_most(path, LARGEST_PROGRAM, &length);
    if (!text)
        return NULL;
    struct kept_text *k = need_memory(sizeof *k);
    *k = (struct kept_text){kept_texts, need_text("%s", path), text, length};
    return kept_texts = k;
}

/* Returns whether the file is text. The compiler would report an error for each byte of a binary
 * file. */
static bool is_text(const struct kept_text *k)
{
    size_t looked_at = k->length < 4096 ? k->length : 4096;
    return !memchr(k->text, '\0', looked_at) && k->text[0] != '\x93';
}

/* Reads the program's text. Returns STATUS_OK, or STATUS_USAGE after printing a message. */
static int take_text(struct program *p)
{
    struct complaints *c = p->complaints ? p->complaints : &complaints_of_nobody;
    const struct kept_text *k = text_of_file(p->path);
    if (!k) {
        complain(c, "cannot read `%s`: %s", p->path, strerror(errno));
        c->status = TW_NO_FILE;
        return STATUS_USAGE;
    }
    if (!k->length) {
        complain(c, "%s is empty, there is no program in it", p->path);
        return STATUS_USAGE;
    }
    if (k->length > 4 && memcmp(k->text, "\177ELF", 4) == 0) {
        complain(c, "%s is machine code; `tilewright check -- %s%s` runs and checks such a program",
                 p->path, strchr(p->path, '/') ? "" : "./", p->path);
        return STATUS_USAGE;
    }
    if (!is_text(k)) {
        complain(c, "%s is not a program: it holds bytes that are not text", p->path);
        return STATUS_USAGE;
    }
    p->text = k->text;
    p->length = k->length;
    return STATUS_OK;
}

/* --- the file --- */

/* Splits "FILE:KERNEL" at the last colon, if a name follows the colon and no file is called
 * `target`. `-` is standard input. */
static void split_target(struct program *p, const char *target)
{
    char *input = strcmp(target, "-") == 0 || strncmp(target, "-:", 2) == 0
                      ? need_text(STANDARD_INPUT "%s", target + 1)
                      : NULL;
    target = input ? input : target;
    const char *colon = strrchr(target, ':');
    bool is_name = colon && colon > target && (isalpha((unsigned char)colon[1]) || colon[1] == '_');
    for (const char *c = colon; is_name && *++c;)
        is_name = isalnum((unsigned char)*c) || *c == '_';
    if (is_name && access(target, F_OK) != 0) {
        p->path = need_text("%.*s", (int)(colon - target), target);
        p->kernel = need_text("%s", colon + 1);
    } else {
        p->path = need_text("%s", target);
    }
    free(input);
}

static bool shows_work; /* on the terminal */

static bool past_deadline(void *user)
{
    const struct deadline *d = user;
    if (shows_work)
        doing_show();
    return d->at > 0 && seconds_about() > d->at; /* asked between blocks */
}

/* Returns the ordinal of a GPU's name: 1 for "cuda:1", 0 for other names. */
static int gpu_ordinal(const char *device)
{
    int64_t ordinal;
    bool has_one =
        device && strncmp(device, "cuda:", 5) == 0 && parse_integer(device + 5, &ordinal);
    return has_one && ordinal >= 0 && ordinal <= 65535 ? (int)ordinal : 0;
}

char *import_folders(void)
{
    const char *set = getenv("TILEWRIGHT_PATH");
    char *shipped = source_path("kernels/*"), *path = NULL;
    if (import_path())
        append_text(&path, "%s:", import_path());
    if (set)
        append_text(&path, "%s:", set);
    append_text(&path, "%.*s", (int)(strrchr(shipped, '/') - shipped), shipped);
    free(shipped);
    return path;
}

int context_open(tw_context **ctx, const struct program_config *config)
{
    shows_work = on_terminal(stderr);
    char *path = import_folders();
    tw_config settings = {.size = sizeof settings,
                          .threads = config->threads,
                          .bind = config->bind,
                          .machine_bits = config->machine_bits,
                          .import_path = path,
                          .colour = config->colour,
                          .print = config->told    ? config->told
                                   : config->print ? print_to_file
                                                   : NULL,
                          .print_user = config->told ? config->told_user : config->print,
                          .device = gpu_ordinal(config->device),
                          .cancelled = config->deadline ? past_deadline : NULL,
                          .cancelled_user = config->deadline,
                          .progress = doing_told};
    tw_status s = tw_context_new(&settings, ctx);
    free(path);
    if (s == TW_OK)
        return STATUS_OK;
    char why[1200];
    if (config->bind && tw_bind_check(config->bind, why, sizeof why) != TW_OK)
        complain(config->complaints, "--bind %s: %s", config->bind, why);
    else
        complain(config->complaints, "%s", tw_status_text(s));
    return STATUS_FAILED;
}

/* File names of other languages. Compiled as tile kernels, such files would produce a page of
 * messages. */
struct other_language {
    const char *ending, *name;
};
static const struct other_language languages[] = {
    {".c", "C"},     {".h", "C"},     {".cc", "C++"},    {".cpp", "C++"},
    {".cxx", "C++"}, {".hpp", "C++"}, {".py", "Python"},
};

static const char *other_language(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof languages / sizeof *languages; i++)
        if (strcmp(dot, languages[i].ending) == 0)
            return languages[i].name;
    return NULL;
}

/* Refuses a file of another language. Returns STATUS_OK if the file is none. */
static int refuse_other_language(const struct program *p)
{
    const char *other = other_language(p->path);
    if (ends_with(p->path, ".ptx") || cuda_file_length(p->path))
        complain(p->complaints,
                 "%s is %s, and this command takes tile kernels, FILE.tile; `tilewright check`, "
                 "`run` and `explain` take PTX and CUDA C",
                 p->path, ends_with(p->path, ".ptx") ? "PTX" : "CUDA C");
    else if (other)
        complain(p->complaints, "%s is %s by its name, and tile kernels are wanted here", p->path,
                 other);
    else
        return STATUS_OK;
    return STATUS_USAGE;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Refuses a name that is neither a file nor something that ships. */
static int refuse_name(struct program *p, const char *name)
{
    struct complaints *c = p->complaints ? p->complaints : &complaints_of_nobody;
    char *hint = shipped_hint(name);
    p->path = need_text("%s", name);
    complain(c, "%s: there is no such file, and no kernel or family of that name ships%s", name,
             hint);
    c->status = TW_NO_FILE;
    free(hint);
    return STATUS_USAGE;
}

/* Splits FILE:KERNEL and reads the file. */
static int program_find(struct program *p, const char *target, struct complaints *complaints)
{
    *p = (struct program){.complaints = complaints, .text = ""};
    char *shipped = is_shipped_name(target) ? shipped_path(target) : NULL;
    if (!shipped && is_shipped_name(target))
        return refuse_name(p, target);
    split_target(p, shipped ? shipped : target);
    free(shipped);
    int status = refuse_other_language(p);
    p->is_folder = is_folder(p->path);
    return status == STATUS_OK && !p->is_folder ? take_text(p) : status;
}

/* Registers the files that a program imports, for --watch. Works also if the program does not
 * compile or an imported file does not exist yet. */
static void imports_are_read(tw_context *ctx, const char *path, const char *text, size_t length,
                             int levels)
{
    enum { LARGEST_IMPORT = 16 << 20 };
    int count;
    const tw_import *list;
    if (tw_text_imports(ctx, path, text, length, &count, &list) != TW_OK)
        return;
    char **paths = need_memory(((size_t)count + 1) * sizeof *paths);
    for (int i = 0; i < count; i++) {
        file_is_read(list[i].path);
        paths[i] = list[i].found ? need_text("%s", list[i].path) : NULL;
    }
    for (int i = 0; i < count; i++) {
        size_t size;
        char *inner = paths[i] && levels ? read_at_most(paths[i], LARGEST_IMPORT, &size) : NULL;
        if (inner)
            imports_are_read(ctx, paths[i], inner, size, levels - 1);
        free(inner);
        free(paths[i]);
    }
    free(paths);
}

static int program_read(struct program *p)
{
    enum { IMPORT_LEVELS = 8 };
    if (files_are_told())
        imports_are_read(p->ctx, p->path, p->text, p->length, IMPORT_LEVELS);
    tw_status s =
        p->is_folder ? TW_OK : tw_module_from_text(p->ctx, p->path, p->text, p->length, &p->module);
    if (s != TW_OK || (!p->is_folder && *tw_context_messages(p->ctx)))
        complain_library(p->complaints, p->ctx, s);
    return s == TW_OK ? program_find_family(p) : s == TW_CANCELLED ? STATUS_FAILED : STATUS_USAGE;
}

int program_reopen(struct program *p, char *path, char *kernel)
{
    tw_family_free(p->family);
    free(p->path);
    free(p->kernel);
    p->family = NULL;
    p->path = path;
    p->kernel = kernel;
    p->is_folder = false;
    int status = take_text(p);
    return status == STATUS_OK ? program_read(p) : status;
}

int program_open(struct program *p, const char *target, const struct program_config *config)
{
    int status = program_find(p, target, config->complaints);
    if (status == STATUS_OK)
        status = context_open(&p->ctx, config);
    return status == STATUS_OK ? program_read(p) : status;
}

int program_open_in(struct program *p, const char *target, tw_context *ctx,
                    struct complaints *complaints)
{
    int status = program_find(p, target, complaints);
    p->ctx = ctx;
    p->shares_context = true;
    return status == STATUS_OK ? program_read(p) : status;
}

void program_close(struct program *p)
{
    tw_family_free(p->family);
    if (!p->shares_context)
        tw_context_free(p->ctx);
    free(p->path);
    free(p->kernel);
    *p = (struct program){0};
}

tw_kernel *program_kernel_at(const struct program *p, int index)
{
    return p->family ? tw_family_kernel(p->family, index) : tw_module_kernel_at(p->module, index);
}

tw_kernel *program_kernel(const struct program *p, const struct command *c)
{
    int count = p->family ? tw_family_kernel_count(p->family) : tw_module_kernel_count(p->module);
    if (p->kernel) {
        tw_kernel *k = tw_module_kernel(p->module, p->kernel);
        if (!k)
            complain_library(p->complaints, p->ctx, TW_NOT_FOUND);
        return k;
    }
    if (count == 1)
        return program_kernel_at(p, 0);
    if (count == 0) {
        complain(p->complaints, "%s has no kernel", p->path);
        return NULL;
    }
    complain(p->complaints, "%s has %d kernels; say which:", p->path, count);
    for (int i = 0; i < count; i++)
        complain_more(p->complaints, "tilewright %s %s:%s", c->name, p->path,
                      tw_kernel_name(program_kernel_at(p, i)));
    return NULL;
}

int find_param(const struct program *p, tw_kernel *k, const char *name, bool is_pointer,
               tw_param *out)
{
    int count = tw_kernel_param_count(k), others = 0;
    const char **names = need_memory(((size_t)count + 1) * sizeof *names);
    int found = -1;
    for (int i = 0; i < count && found < 0; i++) {
        tw_kernel_param(k, i, out);
        if (out->is_pointer == is_pointer)
            names[others++] = out->name;
        if (strcmp(out->name, name) == 0)
            found = i;
    }
    if (found < 0) {
        char *hint = name_hint(name, names);
        complain(p->complaints, "%s has no %s '%s'%s", tw_kernel_name(k),
                 is_pointer ? "array" : "scalar parameter", name, hint);
        free(hint);
    }
    free(names);
    return found;
}

bool names_gpu(const char *target)
{
    return strcmp(target, "cuda") == 0 || strncmp(target, "cuda:", 5) == 0 ||
           strncmp(target, "sm", 2) == 0;
}

char *capability_hint(const char *target)
{
    char digits[5] = "";
    size_t count = 0, at = 0;
    for (; target[at] && count < sizeof digits - 1; at++)
        if (isdigit((unsigned char)target[at]))
            digits[count++] = target[at];
        else if (target[at] != '.' || !count)
            break;
    if (target[at] == 'a' || target[at] == 'f')
        at++;
    return count < 2 || count > 3 || target[at] || !isdigit((unsigned char)*target)
               ? need_text("%s", "")
               : need_text("; did you mean sm_%s%s?", digits,
                           isalpha((unsigned char)target[at - 1]) ? target + at - 1 : "");
}

bool device_named(const char *name, tw_device *out)
{
    name = strcmp(name, "cuda:0") == 0 ? "cuda" : name;
    for (int i = 0; tw_device_at(i, out); i++)
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

bool is_float_type(tw_dtype t)
{
    return t >= TW_F64 && t <= TW_E5M2;
}

bool parse_scalar(const char *text, tw_value *out)
{
    *out = tw_int(text[0] == 't');
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0 || parse_integer(text, &out->i))
        return true;
    *out = tw_float(0);
    return parse_real(text, &out->f);
}

static double as_type(tw_dtype t, double v)
{
    char store[8];
    tw_dtype_store(t, store, v);
    return tw_dtype_load(t, store);
}

void format_scalar(char *out, size_t size, tw_value v, tw_dtype t)
{
    if (v.kind != TW_FLOAT) {
        snprintf(out, size, "%lld", (long long)v.i);
        return;
    }
    if (isnan(v.f) || (v.f == 0 && signbit(v.f))) { /* never "-nan"; -0 is an integer */
        snprintf(out, size, isnan(v.f) ? "nan" : "-0.0");
        return;
    }
    if (!is_float_type(t))
        t = TW_F32;
    if (as_type(t, v.f) != v.f)
        t = TW_F64;
    int digits = 0;
    do
        snprintf(out, size, "%.*e", digits, v.f);
    while (as_type(t, strtod(out, NULL)) != v.f && ++digits < 17);
    const char *e = strchr(out, 'e'); /* of an infinity: none */
    int exponent = e ? atoi(e + 1) : 0;
    if (e && exponent >= -4 && exponent < 15)
        snprintf(out, size, "%.*f", digits > exponent ? digits - exponent : 0, v.f);
}

bool same_scalar(tw_value a, tw_value b)
{
    double x = a.kind == TW_FLOAT ? a.f : (double)a.i, y = b.kind == TW_FLOAT ? b.f : (double)b.i;
    return memcmp(&x, &y, sizeof x) == 0;
}

void format_array_type(char *out, size_t size, const tw_array *a)
{
    int at = snprintf(out, size, "%s", tw_dtype_name(a->dtype));
    for (int i = 0; i < a->rank && at > 0 && (size_t)at < size; i++)
        at += snprintf(out + at, size - (size_t)at, "[%lld]", (long long)a->shape[i]);
}

char *missing_scalars(tw_launch *l, tw_kernel *k)
{
    char *text = NULL;
    tw_param p = tw_param_init();
    tw_value v;
    if (tw_launch_value(l, "", &v) != TW_NOT_FOUND) /* what is set is wrong: no value is known */
        return NULL;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.derived || tw_launch_value(l, p.name, &v) == TW_OK)
            continue;
        append_text(&text, "%s%s=…", text ? "," : "", p.name);
    }
    return text;
}

char *set_options(tw_launch *l, tw_kernel *k)
{
    char *text = need_text("%s", ""), value[32];
    tw_param p = tw_param_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.derived || tw_launch_value(l, p.name, &v) != TW_OK)
            continue;
        format_scalar(value, sizeof value, v, p.dtype);
        append_text(&text, "%s%s=%s", *text ? "," : " --set ", p.name, value);
    }
    return text;
}

bool options_threads(const struct options *o, int64_t *threads)
{
    enum { MOST = 4096 };
    return options_integer(o, "threads", 0, MOST, threads);
}

/* Opens the programs and the contexts of commands. */
#include "cli/target.h"
#include "cli/doing.h"
#include "cli/shipped.h"
#include "tilewright_look.h"

#include <ctype.h>
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
    return status == STATUS_OK && !p->is_folder ? program_take_text(p) : status;
}

static int program_read(struct program *p)
{
    int status = program_compile(p);
    return status == STATUS_OK ? program_find_family(p) : status;
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

bool options_threads(const struct options *o, int64_t *threads)
{
    enum { MOST = 4096 };
    return options_integer(o, "threads", 0, MOST, threads);
}

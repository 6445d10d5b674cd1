#include "ptx/ptx_file.h"
#include "cli/cuda_source.h"
#include "cli/kernel_name.h"
#include "ptx/param_names.h"
#include "cli/files_read.h"
#include "ptx/template_hint.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LARGEST_SOURCE = 16 << 20 };

/* --- the kernel: --kernel takes any of its names --- */

/* Returns the names of all kernels with their namespaces and template arguments; an entry is
 * NULL if the symbol has none. */
static char **whole_names(const struct ptx_file *f)
{
    int count = tw_ptx_kernel_count(f->ptx);
    char **names = need_memory(((size_t)count + 1) * sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = kernel_name(tw_ptx_kernel_at(f->ptx, i));
    return names;
}

static void free_names(const struct ptx_file *f, char **names)
{
    for (int i = 0; i < tw_ptx_kernel_count(f->ptx); i++)
        free(names[i]);
    free(names);
}

/* Returns a name that no other kernel has, quoted for a shell: the plain name, the whole name,
 * or the symbol. The caller frees. */
static char *shown_name(const struct ptx_file *f, char *const *whole, int kernel)
{
    const char *called = tw_ptx_kernel_called(f->ptx, kernel);
    bool short_alone = true, long_alone = whole[kernel] != NULL;
    for (int i = 0; i < tw_ptx_kernel_count(f->ptx); i++) {
        if (i == kernel)
            continue;
        short_alone = short_alone && strcmp(tw_ptx_kernel_called(f->ptx, i), called) != 0;
        long_alone = long_alone && !(whole[i] && strcmp(whole[i], whole[kernel]) == 0);
    }
    return short_alone  ? need_text("%s", called)
           : long_alone ? need_text("'%s'", whole[kernel])
                        : need_text("%s", tw_ptx_kernel_at(f->ptx, kernel));
}

static bool is_called(const struct ptx_file *f, char *const *whole, int kernel, const char *name)
{
    return strcmp(tw_ptx_kernel_called(f->ptx, kernel), name) == 0 ||
           (whole[kernel] && kernel_name_is(whole[kernel], name));
}

/* Lists the kernels of a name; NULL: all. */
static int list_kernels(const struct ptx_file *f, char *const *whole, const char *name)
{
    for (int i = 0; i < tw_ptx_kernel_count(f->ptx); i++) {
        if (name && !is_called(f, whole, i, name))
            continue;
        char *shown = shown_name(f, whole, i);
        complain_more(f->complaints, "--kernel %s", shown);
        free(shown);
    }
    return STATUS_USAGE;
}

static int no_kernel(const struct ptx_file *f, char *const *whole, const char *name)
{
    int count = tw_ptx_kernel_count(f->ptx);
    char **names = need_memory(((size_t)count + 1) * sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = shown_name(f, whole, i);
    const char *near = closest_name(name, (const char *const *)names);
    const char *quote = near && *near == '\'' ? "" : "'";
    if (near)
        complain(f->complaints, "%s has no kernel '%s'; did you mean %s%s%s?", f->path, name, quote,
                 near, quote);
    else
        complain(f->complaints, "%s has no kernel '%s'; it has", f->path, name);
    bool listed = near;
    free_names(f, names);
    return listed ? STATUS_USAGE : list_kernels(f, whole, NULL);
}

/* Returns the kernel with that symbol, else the one with that whole name; -1: none, or several. */
static int find_exact(const struct ptx_file *f, char *const *whole, const char *name)
{
    int found = -1, alike = 0;
    for (int i = 0; i < tw_ptx_kernel_count(f->ptx); i++) {
        if (!name || strcmp(tw_ptx_kernel_at(f->ptx, i), name) == 0)
            return i;
        if (whole[i] && kernel_names_equal(whole[i], name)) {
            found = i;
            alike++;
        }
    }
    return alike == 1 ? found : -1;
}

/* Chooses a kernel. With STATUS_OK, *found is its index, never -1. */
static int choose_kernel(const struct ptx_file *f, char *const *whole, const char *name, int *found)
{
    int count = tw_ptx_kernel_count(f->ptx), alike = 0;
    if (!name && count > 1) {
        complain(f->complaints, "%s has %d kernels; say which:", f->path, count);
        return list_kernels(f, whole, NULL);
    }
    *found = find_exact(f, whole, name);
    if (*found >= 0)
        return STATUS_OK;
    for (int i = 0; i < count; i++)
        if (is_called(f, whole, i, name)) {
            *found = i;
            alike++;
        }
    if (alike == 0)
        return no_kernel(f, whole, name);
    if (alike == 1)
        return STATUS_OK;
    complain(f->complaints, "%s has %d kernels called '%s'; say which:", f->path, alike, name);
    return list_kernels(f, whole, name);
}

/* Returns a whole file, for carets, or NULL if it cannot be read. */
static char *read_source(const char *path, size_t *length)
{
    struct stat info;
    bool fit = stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < LARGEST_SOURCE;
    if (fit)
        file_is_read(path);
    return fit ? read_whole_file(path, length) : NULL;
}

/* Returns the name of the first `__global__` function, for a message, or NULL if the text has
 * none. The caller frees. */
static char *global_name(const char *text)
{
    const char *word = strstr(text, "__global__"), *open = word ? strchr(word, '(') : NULL;
    while (open && open - word > 18 && strncmp(open - 17, "__launch_bounds__", 17) == 0) {
        open = strchr(open, ')');
        open = open ? strchr(open, '(') : NULL;
    }
    const char *start = open;
    while (start && start > word && (isalnum((unsigned char)start[-1]) || start[-1] == '_'))
        start--;
    return start && start < open ? need_text("%.*s", (int)(open - start), start) : NULL;
}

static void say_template(const struct ptx_file *f, const char *text, const char *name)
{
    char *line = template_hint(text, name);
    complain_more(f->complaints,
                  "the compiler makes a template only where it is instantiated; add a line for "
                  "each instance, here or in a .cu file that includes this: `%s`",
                  line);
    free(line);
}

/* Prints the remedy for a CUDA C file from which the compiler made no kernel. */
static void say_no_kernel(struct ptx_file *f)
{
    size_t length = 0;
    char *text = read_source(f->path, &length);
    char *name = text ? global_name(text) : NULL;
    const char *template = text ? strstr(text, "template") : NULL;
    if (!name)
        complain_more(f->complaints, "write `__global__` before a function to make it a kernel");
    else if (template && template <strstr(text, "__global__"))
        say_template(f, text, name);
    else
        complain_more(f->complaints,
                      "the compiler left `%s` out: is it `static`, or under an `#if`?", name);
    free(name);
    free(text);
}

static int find_kernel(struct ptx_file *f, const char *name)
{
    int found = -1;
    if (tw_ptx_kernel_count(f->ptx) == 0) {
        complain(f->complaints, "%s has no kernel", f->path);
        if (f->text) /* of CUDA C */
            say_no_kernel(f);
        return STATUS_USAGE;
    }
    char **whole = whole_names(f);
    int status = choose_kernel(f, whole, name, &found);
    free_names(f, whole);
    if (status != STATUS_OK)
        return status;
    f->kernel = need_text("%s", tw_ptx_kernel_at(f->ptx, found));
    f->called = need_text("%s", tw_ptx_kernel_called(f->ptx, found));
    char *shown = kernel_name(f->kernel);
    f->shown = shown ? shown : need_text("%s", f->called);
    return STATUS_OK;
}

/* --- the file --- */

static void add_sources(struct ptx_file *f)
{
    const char *name;
    for (int i = 0; (name = tw_ptx_source_at(f->ptx, i)); i++) {
        size_t length;
        char *text = read_source(name, &length);
        if (text)
            tw_ptx_source(f->ptx, name, text, length);
        free(text);
    }
}

static int read_program(struct ptx_file *f, const struct options *o)
{
    tw_status s;
    file_is_read(f->path);
    if (!ends_with(f->path, ".ptx")) {
        int status = cuda_compile(f->path, o, f->complaints, &f->text);
        if (status != STATUS_OK)
            return status;
        char *name = need_text("%s.ptx", f->path);
        s = tw_ptx_from_text(f->ctx, name, f->text, strlen(f->text), &f->ptx);
        free(name);
    } else {
        s = tw_ptx_from_file(f->ctx, f->path, &f->ptx);
    }
    if (s != TW_OK) {
        complain_library(f->complaints, f->ctx, s);
        return s == TW_NO_MEMORY ? STATUS_FAILED : STATUS_USAGE;
    }
    add_sources(f);
    return STATUS_OK;
}

int ptx_file_read(struct ptx_file *f, const char *word, const struct options *o,
                  const struct program_config *config)
{
    size_t length = ptx_file_length(word);
    *f = (struct ptx_file){.complaints = config->complaints,
                           .path = need_text("%.*s", (int)length, word)};
    int status = context_open(&f->ctx, config);
    return status == STATUS_OK ? read_program(f, o) : status;
}

int ptx_file_open(struct ptx_file *f, const char *word, const struct options *o,
                  const struct program_config *config)
{
    size_t length = ptx_file_length(word);
    int status = ptx_file_read(f, word, o, config);
    if (status != STATUS_OK)
        return status;
    const char *kernel = options_value(o, "kernel");
    return find_kernel(f, kernel ? kernel : word[length] ? word + length + 1 : NULL);
}

void ptx_file_param_names(const struct ptx_file *f, int count, char **names, char **types)
{
    const char *name;
    for (int i = 0; count && (name = tw_ptx_source_at(f->ptx, i)); i++) {
        size_t length;
        char *text = read_source(name, &length);
        if (text)
            param_names_in(text, f->called, count, names, types);
        free(text);
    }
}

void ptx_file_close(struct ptx_file *f)
{
    tw_context_free(f->ctx);
    free(f->path);
    free(f->text);
    free(f->kernel);
    free(f->called);
    free(f->shown);
    *f = (struct ptx_file){0};
}

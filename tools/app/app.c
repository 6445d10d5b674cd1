#include "app/app.h"

#include "app/app_files.h"
#include "cli/device_asked.h"
#include "cli/leftovers.h"
#include "cli/toolchain.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool is_app(const struct options *given)
{
    int first = given->after_dashes;
    if (first != 0)
        return false;
    if (given->word_count == 0)
        return true; /* app_run asks for the program */
    const char *word = given->words[first];
    static const char *const files[] = {".tile", ".ptx"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (file_ending_in(word, files[i]))
            return false;
    return true;
}

/* --- options --- */

/* Options that have a meaning for programs. The libraries get the values of the first LIBRARY_OPTIONS. */
static const char *const app_options[] = {"device",   "kernel",    "launch",  "seed", "step-limit",
                                          "suppress", "limit",     "trace",   "skip", "threads",
                                          "json",     "strict",    "verbose", "stub", "sarif",
                                          "junit",    "keep-going"};
enum { LIBRARY_OPTIONS = 10, APP_OPTIONS = sizeof app_options / sizeof app_options[0] };

static bool is_app_option(const char *name)
{
    for (int i = 0; i < APP_OPTIONS; i++)
        if (strcmp(app_options[i], name) == 0)
            return true;
    return false;
}

/* Returns whether the word names a GPU of the model's table, or the capability of one. */
static bool is_gpu(const char *word)
{
    tw_gpu g = tw_gpu_init();
    bool found = tw_gpu_find(word, &g);
    for (int i = 0; !found && tw_gpu_at(i, &g); i++) {
        size_t length = strlen(g.target);
        found = strncmp(word, g.target, length) == 0 &&
                strspn(word + length, "af") == strlen(word + length);
    }
    return found;
}

/* Returns the GPU that --device names, or NULL. Programs always run on the simulator, so "sim" names
 * none, and "sim:h100" is "h100". */
static const char *gpu_asked(const struct options *given)
{
    const char *device = options_value(given, "device");
    if (!device || strcmp(device, "sim") == 0)
        return NULL;
    return strncmp(device, "sim:", 4) == 0 ? device + 4 : device;
}

static const char *const report_files[] = {"sarif", "junit"};

/* Refuses a file that cannot be written, before the program runs. */
static bool can_write(const char *option, const char *path)
{
    if (!path)
        return true;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? need_text("%.*s/", (int)(slash - path), path) : need_text("./");
    const char *target = access(path, F_OK) == 0 ? path : folder;
    bool good = access(target, W_OK) == 0;
    if (!good)
        complain(NULL, "--%s %s: %s", option, path, strerror(errno));
    free(folder);
    return good;
}

/* Says which option, or command, programs have in place of one that they do not take. */
static const char *in_place_of(const char *name)
{
    static const struct {
        const char *name, *text;
    } others[] = {
        {"seeds", ": one run has one order; run it again with --seed 1, --seed 2, …"},
        {"time-limit", ": start it by `timeout SECONDS tilewright check …`, or give --step-limit"},
        {"same-value", ": --suppress FILE with the line `same-value`"},
        {"volatile", ": --suppress FILE with the line `volatile`"},
        {"arg", ": the program gives its kernels their arguments"},
        {"grid", ": the program launches its kernels itself"},
        {"block", ": the program launches its kernels itself"},
        {"counters", ": `tilewright run -- PROGRAM` counts"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(others[i].name, name) == 0)
            return others[i].text;
    return "";
}

static bool options_suit(const struct command *self, const struct options *given)
{
    int64_t number = 1;
    const char *suppress = options_value(given, "suppress");
    struct device_asked device;
    for (int i = 0; i < given->use_count; i++)
        if (!is_app_option(given->uses[i].spec->name)) {
            usage_error(NULL, self, "--%s is not for programs%s", given->uses[i].spec->name,
                        in_place_of(given->uses[i].spec->name));
            return false;
        }
    if (device_asked_read(&device, given) != STATUS_OK)
        return false;
    if (gpu_asked(given) && !is_gpu(gpu_asked(given))) {
        device_refuse(&device, given,
                      "a GPU by name (h100), or the target of one (sm_90); `tilewright explain "
                      "--devices` lists them");
        return false;
    }
    for (size_t i = 0; i < sizeof report_files / sizeof report_files[0]; i++)
        if (!can_write(report_files[i], options_value(given, report_files[i])))
            return false;
    if (suppress && access(suppress, R_OK) != 0) {
        complain(NULL, "--suppress %s: %s", suppress, strerror(errno));
        return false;
    }
    return options_integer(given, "launch", 1, INT64_MAX, &number) &&
           options_integer(given, "skip", 0, INT64_MAX, &number) &&
           options_threads(given, &number) &&
           options_integer(given, "limit", 0, INT64_MAX, &number) &&
           options_integer(given, "seed", 0, INT64_MAX, &number) &&
           options_integer(given, "step-limit", 1, INT64_MAX, &number);
}

/* --- what the libraries are told --- */

/* Writes the file of settings: lines NAME=VALUE. */
static bool write_settings(const char *folder, const struct options *given, bool checks)
{
    char *text = need_text("findings=%s/findings\nchecks=%d\n", folder, checks);
    for (int i = 0; i < LIBRARY_OPTIONS; i++) {
        bool is_device = strcmp(app_options[i], "device") == 0;
        const char *value = is_device ? gpu_asked(given) : options_value(given, app_options[i]);
        if (value)
            append_text(&text, "%s=%s\n", app_options[i], value);
    }
    if (options_has(given, "stub"))
        append_text(&text, "stub=1\n");
    if (options_has(given, "keep-going"))
        append_text(&text, "keep-going=1\n");
    bool good = folder_write(folder, "settings", text, strlen(text));
    free(text);
    return good;
}

struct environment {
    char **list; /* NULL at the end */
    int count, inherited;
};

static void set(struct environment *e, char *text)
{
    e->list = need_more_memory(e->list, (size_t)(e->count + 2) * sizeof *e->list);
    e->list[e->count++] = text;
    e->list[e->count] = NULL;
}

static bool is_variable(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == '=';
}

/* Adds a variable of the loader: a list that begins with our own. */
static void put_first(struct environment *e, const char *name, const char *own)
{
    const char *before = getenv(name);
    bool any = before && *before;
    set(e, need_text("%s=%s%s%s", name, own, any ? ":" : "", any ? before : ""));
}

/* Makes the program's environment: this process's, with the libraries first among those of the
 * loader, and the file of settings. The runtime is preloaded: a program may have NVIDIA's inside. The
 * audit library replaces files that the program names by their paths. */
static void make_environment(struct environment *e, const char *libraries, const char *folder)
{
    char *runtime = need_text("%s/libcudart.so.13", libraries);
    char *audit = need_text("%s/audit.so", libraries);
    for (char **at = environ; *at; at++)
        if (!is_variable(*at, "LD_LIBRARY_PATH") && !is_variable(*at, "LD_PRELOAD") &&
            !is_variable(*at, "LD_AUDIT") && !is_variable(*at, "TILEWRIGHT_APP"))
            set(e, *at);
    e->inherited = e->count;
    put_first(e, "LD_LIBRARY_PATH", libraries);
    put_first(e, "LD_PRELOAD", runtime);
    put_first(e, "LD_AUDIT", audit);
    free(runtime);
    free(audit);
    set(e, need_text("TILEWRIGHT_APP=%s/settings", folder));
}

static void free_environment(struct environment *e)
{
    for (int i = e->inherited; i < e->count; i++)
        free(e->list[i]);
    free(e->list);
}

/* --- the program --- */

/* Starts the program; with --json its standard output goes to standard error, because the report
 * has standard output to itself. Returns an error number, or 0. */
static int start(char *const *arguments, const struct environment *e, bool to_json, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (to_json)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int error = posix_spawnp(child, arguments[0], &actions, NULL, arguments, e->list);
    posix_spawn_file_actions_destroy(&actions);
    if (!error)
        leftover_program((long)*child);
    return error;
}

static struct app_end wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    leftover_ended((long)child);
    if (WIFSIGNALED(status))
        return (struct app_end){128 + WTERMSIG(status), WTERMSIG(status)};
    return (struct app_end){WEXITSTATUS(status), 0};
}

static char **arguments_of(const struct options *given)
{
    int count = given->word_count;
    char **list = need_memory(((size_t)count + 1) * sizeof *list);
    for (int i = 0; i < count; i++)
        list[i] = (char *)(uintptr_t)given->words[i];
    return list;
}

/* Writes the files that the options ask for. Returns the status, or that of a file that cannot be
 * written. */
static int write_files(const struct app_report *r, const char *lines, const struct options *given,
                       int status)
{
    const char *sarif = options_value(given, "sarif"), *junit = options_value(given, "junit");
    bool good = !sarif || app_write_sarif(r, lines, sarif);
    good = (!junit || app_write_junit(r, lines, junit)) && good;
    return good ? status : STATUS_USAGE;
}

static int run_in(const char *folder, const char *libraries, const struct options *given,
                  bool checks)
{
    struct app_report report = {.program = given->words[0],
                                .arguments = given->words + 1,
                                .argument_count = given->word_count - 1,
                                .to_json = options_has(given, "json"),
                                .strict = options_has(given, "strict"),
                                .verbose = options_has(given, "verbose"),
                                .checks = checks};
    char **arguments = arguments_of(given);
    struct environment e = {.list = NULL};
    pid_t child;
    int status = STATUS_USAGE;
    if (!write_settings(folder, given, checks))
        complain(NULL, "%s/settings cannot be written", folder);
    make_environment(&e, libraries, folder);
    fflush(stdout);
    int error = start(arguments, &e, report.to_json, &child);
    if (error) {
        bool here =
            error == ENOENT && !strchr(arguments[0], '/') && access(arguments[0], X_OK) == 0;
        complain(NULL, "%s cannot be started: %s", arguments[0],
                 here                     ? "write ./ before a program of this folder"
                 : arguments[0][0] == '-' ? "options of tilewright come before the --"
                                          : strerror(error));
    } else {
        report.end = wait_for(child);
        char *lines = folder_read(folder, "findings", NULL);
        status = write_files(&report, lines, given, app_print(&report, lines));
        free(lines);
    }
    free_environment(&e);
    free(arguments);
    return status;
}

/* Refuses a script or a source file in place of a program, with the way to run it. Returns false if the
 * word is neither. */
static bool is_text(const struct command *self, const char *word)
{
    static const struct {
        const char *ending, *interpreter; /* NULL: it has to be compiled */
    } texts[] = {{".cu", NULL},  {".cpp", NULL},     {".cc", NULL},
                 {".cxx", NULL}, {".py", "python3"}, {".sh", "sh"}};
    size_t i = 0;
    while (i < sizeof texts / sizeof texts[0] && !ends_with(word, texts[i].ending))
        i++;
    if (i == sizeof texts / sizeof texts[0] || access(word, F_OK) != 0 || access(word, X_OK) == 0)
        return false;
    if (texts[i].interpreter) {
        complain(NULL, "%s is a script: write `tilewright %s -- %s %s`", word, self->name,
                 texts[i].interpreter, word);
        return true;
    }
    int length = (int)(strlen(word) - strlen(texts[i].ending));
    const char *folder = strchr(word, '/') ? "" : "./";
    char *alone = i ? need_text("%s", "")
                    : need_text("; without the --, `tilewright %s %s` takes one of its kernels",
                                self->name, word);
    complain(NULL,
             "%s is a source file: build the program (`nvcc -g -lineinfo -o %s%.*s %s`), and write "
             "`tilewright %s -- %s%.*s`%s",
             word, folder, length, word, word, self->name, folder, length, word, alone);
    free(alone);
    return true;
}

int app_run(const struct command *self, const struct options *given, bool checks)
{
    if (given->word_count == 0)
        return usage_error(NULL, self, "which PROGRAM? It comes after --, with its arguments");
    if (is_text(self, given->words[0]) || !options_suit(self, given))
        return STATUS_USAGE;
    char *libraries = app_folder();
    if (!libraries) {
        complain(NULL,
                 "this build has no libraries that run CUDA programs; `./dev build` makes them, on "
                 "Linux, without sanitizers");
        return STATUS_USAGE;
    }
    char *folder = folder_make(NULL);
    int status = folder ? run_in(folder, libraries, given, checks) : STATUS_USAGE;
    folder_remove(folder);
    free(libraries);
    return status;
}

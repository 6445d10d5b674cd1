#define _XOPEN_SOURCE 700 /* realpath */
/* The parent watches; a child runs the command. The child tells, through a pipe, which files it
 * reads and in which state, so that a file that is saved while the command runs counts as
 * changed. The parent compares the states of all files whenever an event occurs in their
 * folders. */
#include "cli/watch.h"
#include "cli/files_read.h"
#include "cli/folder_events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_MILLISECONDS = 30, END_MILLISECONDS = 2000, SHOWN_FILES = 3 };

struct watched {
    char *path;
    struct file_state state; /* as the command read it */
    bool own;                /* written by the run */
    bool saved;
};

struct watcher {
    struct watched *files;
    int count;
    struct folder_events events;
    pid_t child; /* 0: none runs */
    int told;    /* the child's records; -1: none runs */
    int status;  /* of the last run that ended */
};

static volatile sig_atomic_t asked_to_end;

static void end(int number)
{
    (void)number;
    asked_to_end = 1;
}

static void pause_for(int milliseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000L}, NULL);
}

/* --- files --- */

static void add_folder_of(const struct watcher *w, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? need_text("%.*s", (int)(slash - path) + 1, path) : need_text(".");
    folder_events_add(&w->events, folder);
    free(folder);
}

static struct watched *find(struct watcher *w, const char *path)
{
    for (int i = 0; i < w->count; i++)
        if (strcmp(w->files[i].path, path) == 0)
            return &w->files[i];
    return NULL;
}

static void take(struct watcher *w, const struct file_told *told, const char *path)
{
    char real[PATH_MAX];
    struct watched *known = find(w, path);
    if (known && told->written) {
        known->state = told->state;
        known->own = true;
    }
    if (known || told->written)
        return;
    ADD_TO(w->files, w->count,
           (struct watched){.path = need_text("%s", path), .state = told->state});
    add_folder_of(w, path);
    if (realpath(path, real)) /* a link's target may be saved in its own folder */
        add_folder_of(w, real);
}

static void forget_files(struct watcher *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->files[i].path);
    free(w->files);
    w->files = NULL;
    w->count = 0;
}

static bool read_exactly(int file, void *out, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(file, (char *)out + done, size - done);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Reads one record of the child. Returns false at the end, after the child has ended. */
static bool take_record(struct watcher *w)
{
    struct file_told told;
    char path[PATH_MAX + 1];
    if (!read_exactly(w->told, &told, sizeof told) || told.length > PATH_MAX ||
        !read_exactly(w->told, path, told.length))
        return false;
    path[told.length] = '\0';
    take(w, &told, path);
    return true;
}

/* Returns whether a file was saved. Ignores a missing file, because an editor that replaces a
 * file removes it first. */
static bool any_saved(struct watcher *w)
{
    bool any = false;
    for (int i = 0; i < w->count; i++) {
        struct file_state now = file_state_now(w->files[i].path);
        bool changing = w->files[i].own && w->child;
        w->files[i].saved = !changing && now.exists && !file_state_same(&now, &w->files[i].state);
        any = any || w->files[i].saved;
    }
    return any;
}

/* Waits until no file changes any more, because writing a file takes several steps. */
static void settle(struct watcher *w)
{
    for (bool changes = true; changes && !asked_to_end;) {
        struct file_state *before = need_memory((size_t)w->count * sizeof *before);
        changes = false;
        for (int i = 0; i < w->count; i++)
            before[i] = file_state_now(w->files[i].path);
        pause_for(SETTLE_MILLISECONDS);
        for (int i = 0; i < w->count; i++) {
            struct file_state now = file_state_now(w->files[i].path);
            changes = changes || !file_state_same(&now, &before[i]);
        }
        free(before);
    }
    any_saved(w);
}

/* --- messages --- */

/* Returns the names of the saved files, or of all files: "k.tile, a.npy and 2 more". The caller
 * frees. */
static char *names(const struct watcher *w, bool saved)
{
    char *text = NULL;
    int count = 0, shown = 0;
    for (int i = 0; i < w->count; i++)
        count += !saved || w->files[i].saved;
    for (int i = 0; i < w->count && shown < SHOWN_FILES; i++)
        if (!saved || w->files[i].saved) {
            bool last = shown > 0 && shown + 1 == count;
            append_text(&text, "%s%s", !shown ? "" : last ? " and " : ", ", w->files[i].path);
            shown++;
        }
    if (count > shown)
        append_text(&text, " and %d more", count - shown);
    return text;
}

/* Says once which files are gone. `missing` counts those that were said before. */
static void say_missing(const struct watcher *w, int *missing)
{
    int count = 0;
    const char *path = NULL;
    for (int i = 0; i < w->count; i++)
        if (w->files[i].state.exists && !file_state_now(w->files[i].path).exists) {
            path = w->files[i].path;
            count++;
        }
    if (count > *missing)
        print_text(stderr, "%s is gone; waiting until it is there again (Ctrl-C ends)\n", path);
    *missing = count;
}

static void say(const struct watcher *w, bool saved)
{
    char clock[16] = "", *list = names(w, saved);
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(clock, sizeof clock, "%H:%M:%S", &local);
    if (saved && on_terminal(stdout)) {
        fputs("\033[2J\033[H", stdout);
        fflush(stdout);
    }
    if (saved)
        print_text(stderr, "%s saved: %s\n", clock, list ? list : "");
    else
        print_text(stderr, "%s status %d, watching %s (Ctrl-C ends)\n", clock, w->status,
                   list ? list : "");
    free(list);
}

/* --- the child --- */

static bool start(struct watcher *w,
                  int (*run)(const struct command *c, const struct options *given),
                  const struct command *c, const struct options *given)
{
    int ends[2];
    fflush(NULL);
    if (pipe(ends) != 0)
        return false;
    w->child = fork();
    if (w->child == 0) {
        close(ends[0]);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        folder_events_close(&w->events);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        files_tell(ends[1]);
        exit(run(c, given));
    }
    close(ends[1]);
    w->told = ends[0];
    if (w->child > 0)
        return true;
    w->child = 0;
    close(ends[0]);
    return false;
}

/* Waits for the child, which has ended or was told to end; kills a run that does not end. */
static int collect(struct watcher *w)
{
    int status = 0;
    pid_t ended = 0;
    for (int waited = 0; ended == 0; waited += SETTLE_MILLISECONDS) {
        ended = waitpid(w->child, &status, WNOHANG);
        if (ended < 0 && errno == EINTR)
            ended = 0;
        if (ended != 0)
            break;
        if (waited >= END_MILLISECONDS)
            kill(w->child, SIGKILL);
        pause_for(SETTLE_MILLISECONDS);
    }
    close(w->told);
    w->told = -1;
    w->child = 0;
    return status;
}

static void take_status(struct watcher *w, int status)
{
    if (WIFEXITED(status)) {
        w->status = WEXITSTATUS(status);
        return;
    }
    w->status = STATUS_FAILED;
    complain(NULL, "the run was ended by a signal: %s", strsignal(WTERMSIG(status)));
}

/* Waits until the run ends, or ends it if a file is saved meanwhile. */
static void follow(struct watcher *w)
{
    bool runs = true;
    while (runs && !asked_to_end && !any_saved(w)) {
        folder_events_wait(&w->events, w->told);
        struct pollfd more = {.fd = w->told, .events = POLLIN};
        while (runs && poll(&more, 1, 0) > 0)
            runs = take_record(w);
    }
    if (runs)
        kill(w->child, SIGTERM);
    int status = collect(w);
    if (!runs)
        take_status(w, status);
}

int watch(int (*run)(const struct command *c, const struct options *given), const struct command *c,
          const struct options *given)
{
    struct watcher w = {.told = -1, .status = STATUS_FAILED};
    for (int i = 0; i < given->word_count; i++)
        if (strncmp(given->words[i], "-", 1) == 0)
            return usage_error(NULL, c, "--watch reads a program again: name a file, not `%s`",
                               given->words[i]);
    struct sigaction act = {.sa_handler = end};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    folder_events_open(&w.events);
    while (!asked_to_end) {
        forget_files(&w);
        if (!start(&w, run, c, given)) {
            complain(NULL, "--watch: no process for the run: %s", strerror(errno));
            break;
        }
        follow(&w);
        if (!w.count)
            break;
        if (!any_saved(&w))
            say(&w, false);
        for (int missing = 0; !asked_to_end && !any_saved(&w);) {
            folder_events_wait(&w.events, -1);
            pause_for(SETTLE_MILLISECONDS); /* an editor may remove the file and write it again */
            say_missing(&w, &missing);
        }
        if (asked_to_end)
            break;
        settle(&w);
        say(&w, true);
    }
    forget_files(&w);
    folder_events_close(&w.events);
    return w.status;
}

/* Command play: serves the page that contains the whole engine, for the kernel in a file. */
#include "cli/commands.h"
#include "cli/part_file.h"
#include "play/serve.h"
#include "cli/target.h"
#include "cli/toolchain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Target FILE#STATE. `check`, `learn` and `explain` print such states, as line=17. */
struct wanted {
    char *file;  /* NULL: the page's own first kernel */
    char *state; /* "" without any */
    const struct options *given;
};

static struct wanted wanted_of(const struct options *given)
{
    struct wanted w = {.given = given, .state = need_text("%s", "")};
    if (given->word_count == 0)
        return w;
    w.file = need_text("%s", given->words[0]);
    char *mark = strrchr(w.file, '#');
    if (mark && access(w.file, R_OK) != 0) { /* a file's own name may contain # */
        free(w.state);
        w.state = need_text("%s", mark + 1);
        *mark = 0;
    }
    return w;
}

static void wanted_free(struct wanted *w)
{
    free(w->file);
    free(w->state);
}

/* Adds the NAME=VALUE pairs of an option as an object, numbers as numbers. */
static void json_assignments(struct json *j, const struct options *given, const char *option,
                             const char *key)
{
    json_open_object(j, key);
    const struct option_use *use = NULL;
    while ((use = options_next(given, option, use))) {
        const char *at = use->values[0];
        struct assignment a;
        bool bad = false;
        while (next_assignment(&at, &a, &bad)) {
            int64_t i;
            double f;
            json_key(j, a.name);
            if (parse_integer(a.value, &i))
                json_integer(j, i);
            else if (parse_real(a.value, &f))
                json_real(j, f);
            else
                json_string(j, a.value);
        }
    }
    json_close(j, '}');
}

/* Returns the page's initial state in the form that the page reads (web/page/src/app/share.ts).
 * If the file cannot be read, prints a message and returns NULL. The caller frees. */
static char *state_of(const struct wanted *w)
{
    char *source = NULL;
    if (w->file) {
        size_t length;
        source = read_whole_file(w->file, &length);
        if (!source) {
            complain(NULL, "%s cannot be read: %s", w->file, strerror(errno));
            return NULL;
        }
    }
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        free(source);
        complain(NULL, "out of memory");
        return NULL;
    }
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_text(&j, "mode", "bench");
    if (source) {
        const char *name = strrchr(w->file, '/');
        json_put_text(&j, "file", name ? name + 1 : w->file);
        json_put_text(&j, "source", source);
    }
    json_assignments(&j, w->given, "set", "sizes");
    json_assignments(&j, w->given, "tune", "tune");
    json_assignments(&j, w->given, "type", "types");
    json_put_text(&j, "query", w->state);
    json_close(&j, '}');
    fclose(out);
    free(source);
    return text;
}

/* State that is updated before each index.html, because the file may have changed. */
struct refreshed {
    const struct wanted *wanted;
    char *index; /* as it was built */
    size_t length;
};

static void refresh(void *user, struct page *p)
{
    const struct refreshed *r = user;
    char *state = state_of(r->wanted);
    if (!state)
        return;
    struct page_file *index = page_find(p, "index.html");
    free(index->data);
    index->data = need_memory(r->length + 1);
    memcpy(index->data, r->index, r->length);
    index->length = r->length;
    page_give(p, state);
    free(state);
}

/* Opens $BROWSER, or the desktop's browser. Returns false if there is none. */
static bool open_browser(const char *url)
{
    static const char *const openers[] = {"xdg-open", "open", "wslview", NULL};
    const char *browser = getenv("BROWSER");
    char *program = browser && *browser ? find_program(browser) : find_program_of(openers);
    if (!program)
        return false;
    pid_t child = fork(); /* fork twice, so that this process need not wait for the browser */
    if (child == 0) {
        if (fork() == 0) {
            setsid(); /* Ctrl-C ends the server, not the browser */
            execl(program, program, url, (char *)NULL);
            _exit(127);
        }
        _exit(0);
    }
    free(program);
    if (child > 0)
        waitpid(child, NULL, 0);
    return child > 0;
}

static int serve_page(struct page *p, const struct wanted *w)
{
    int64_t asked = -1;
    if (!options_integer(w->given, "port", 0, 65535, &asked))
        return STATUS_USAGE;
    int port = (int)asked, listener = serve_listen(&port);
    if (listener < 0) {
        complain(NULL, "port %d cannot be used: %s; --port 0 takes a free one",
                 asked < 0 ? SERVE_PORT : port, strerror(errno));
        return STATUS_FAILED;
    }
    const struct page_file *index = page_find(p, "index.html");
    struct refreshed r = {.wanted = w, .length = index->length};
    r.index = need_memory(r.length + 1);
    memcpy(r.index, index->data, r.length);
    char *url = need_text("http://127.0.0.1:%d/", port);
    printf("%s   (Ctrl-C ends it)\n", url);
    fflush(stdout);
    if (!options_has(w->given, "no-open") && !open_browser(url))
        complain(NULL, "no browser was found: open the address above in one");
    serve_forever(listener, p, w->file ? refresh : NULL, &r);
    return STATUS_OK;
}

static bool write_whole(const char *path, const char *data, size_t length)
{
    struct part_file out = part_file_open(path, "wb");
    bool good = out.file && fwrite(data, 1, length, out.file) == length;
    if (!out.file || !part_file_close(&out, good)) {
        complain(NULL, "%s cannot be written: %s", path, strerror(errno));
        return false;
    }
    return true;
}

/* Makes the parent folders of a file of the page. */
static void make_folders(const char *folder, const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        char *below = need_text("%s/%.*s", folder, (int)(slash - path), path);
        mkdir(below, 0777);
        free(below);
    }
}

static bool export_file(const struct page_file *f, const char *folder)
{
    make_folders(folder, f->path);
    char *path = need_text("%s/%s", folder, f->path);
    bool good = write_whole(path, f->data, f->length);
    free(path);
    return good;
}

static int export_folder(const struct page *p, const char *folder)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        complain(NULL, "%s cannot be made: %s", folder, strerror(errno));
        return STATUS_FAILED;
    }
    const struct page_file *index = page_find(p, "index.html");
    for (int i = 0; i < p->count; i++)
        if (&p->files[i] != index && !export_file(&p->files[i], folder))
            return STATUS_FAILED;
    if (!export_file(index, folder)) /* the last, because it names the other files */
        return STATUS_FAILED;
    printf("%s: any web server can serve this folder\n", folder);
    return STATUS_OK;
}

static int export_page(const struct page *p, const char *to)
{
    if (!ends_with(to, ".html"))
        return export_folder(p, to);
    size_t length;
    char *text = page_as_one(p, &length);
    bool good = text && write_whole(to, text, length);
    free(text);
    if (good)
        printf("%s: open it in a browser; it needs no server\n", to);
    return good ? STATUS_OK : STATUS_FAILED;
}

static int play_page(struct page *p, const struct wanted *w)
{
    const char *to = options_value(w->given, "out");
    if (!to)
        return serve_page(p, w);
    char *state = state_of(w);
    if (!state)
        return STATUS_USAGE;
    page_give(p, state);
    free(state);
    return export_page(p, to);
}

static int play_run(const struct command *self, const struct options *given)
{
    static const char *const of_server[] = {"port", "no-open", NULL};
    if (given->word_count > 1)
        return no_one_file(NULL, self, given->word_count);
    if (options_has(given, "out") && options_any(given, of_server))
        return usage_error(NULL, self, "--%s is about the server, which --out does not start",
                           options_any(given, of_server));
    struct wanted w = wanted_of(given);
    if (w.file && !*w.file) {
        int status = usage_error(NULL, self,
                                 "which FILE? `%s` is only where to look in it: "
                                 "`tilewright play FILE%s`",
                                 given->words[0], given->words[0]);
        wanted_free(&w);
        return status;
    }
    if (w.file && access(w.file, R_OK) != 0) {
        complain(NULL, "%s cannot be read: %s", w.file, strerror(errno));
        wanted_free(&w);
        return STATUS_USAGE;
    }
    char *folder = page_folder();
    if (!folder) {
        complain(NULL, "the page is not here: in a checkout, `./dev play` builds and opens it");
        wanted_free(&w);
        return STATUS_USAGE;
    }
    struct page p;
    int status = STATUS_FAILED;
    if (page_read(&p, folder)) {
        status = play_page(&p, &w);
        page_free(&p);
    }
    free(folder);
    wanted_free(&w);
    return status;
}

static const struct option_spec play_options[] = {
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TYPE,
    {.name = "port",
     .values = 1,
     .value = "N",
     .help = "port of the server, 0 for any that is free (default: 8017, or the next free one)"},
    {.name = "no-open", .help = "print the address, and open no browser"},
    {.name = "out",
     .letter = 'o',
     .values = 1,
     .value = "PATH",
     .help = "write the page with this kernel instead: into a folder, for any web server, or as\n"
             "one file if PATH ends in .html, which opens from a disk"},
    {.name = "export", .values = 1, .now = "out"},
    OPTION_END,
};

const struct command command_play = {
    .name = "play",
    .arguments = "[FILE[#STATE]] [OPTIONS]",
    .summary = "a page in the browser: edit, step, count, race-check",
    .about =
        "Opens the page with the whole engine in it on the kernel in FILE. The page runs in the\n"
        "browser alone: a server on this machine (127.0.0.1) gives it its files, and nothing "
        "leaves\n"
        "the machine. Reload it to read FILE again. STATE is where to look, as other commands "
        "print\n"
        "it (line=17).",
    .options = play_options,
    .examples = "  tilewright play kernels/sgemm/tiled.tile\n"
                "  tilewright play kernels/matmul/stages.tile --set m=128,n=128,k=128 --no-open\n"
                "  tilewright play kernels/sgemm/tiled.tile --out tiled.html\n",
    .run = play_run,
};

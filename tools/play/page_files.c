#include "play/page_files.h"
#include "cli/base64.h"
#include "cli/tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Marks in index.html (web/page/index.html). */
static const char given_mark[] = "<!-- given -->";
static const char parts_mark[] = "<!-- parts -->";

/* Marks of the policy in index.html, and of its part that allows scripts of the page's folder. */
static const char policy_mark[] = "http-equiv=\"Content-Security-Policy\"";
static const char scripts_mark[] = "script-src 'self'";

static bool is_page(const char *folder)
{
    char *index = need_text("%s/index.html", folder);
    struct stat s;
    bool found = stat(index, &s) == 0 && S_ISREG(s.st_mode);
    free(index);
    return found;
}

char *page_folder(void)
{
    char *folder = source_path("web/page/dist");
    if (is_page(folder))
        return folder;
    free(folder);
    return NULL;
}

static bool add_file(struct page *p, const char *folder, const char *path)
{
    char *full = need_text("%s/%s", folder, path);
    struct page_file f = {.path = need_text("%s", path)};
    f.data = read_whole_file(full, &f.length);
    if (!f.data) {
        complain(NULL, "%s cannot be read: %s", full, strerror(errno));
        free(f.path);
        free(full);
        return false;
    }
    free(full);
    ADD_TO(p->files, p->count, f);
    return true;
}

/* Adds the files of a folder. `below` is its path relative to the page's folder; it ends with a
 * slash unless it is empty. */
static bool add_folder(struct page *p, const char *folder, const char *below, int depth)
{
    char *full = need_text("%s/%s", folder, below);
    DIR *d = opendir(full);
    bool good = d != NULL;
    if (!d)
        complain(NULL, "%s cannot be read: %s", full, strerror(errno));
    struct dirent *e;
    while (good && (e = readdir(d))) {
        if (e->d_name[0] == '.')
            continue;
        char *path = need_text("%s%s", below, e->d_name), *at = need_text("%s/%s", folder, path);
        struct stat s;
        if (stat(at, &s) == 0 && S_ISDIR(s.st_mode) && depth < 4) {
            char *deeper = need_text("%s/", path);
            good = add_folder(p, folder, deeper, depth + 1);
            free(deeper);
        } else {
            good = add_file(p, folder, path);
        }
        free(path);
        free(at);
    }
    if (d)
        closedir(d);
    free(full);
    return good;
}

bool page_read(struct page *p, const char *folder)
{
    *p = (struct page){0};
    if (add_folder(p, folder, "", 0))
        return true;
    page_free(p);
    return false;
}

void page_free(struct page *p)
{
    for (int i = 0; i < p->count; i++) {
        free(p->files[i].path);
        free(p->files[i].data);
    }
    free(p->files);
    *p = (struct page){0};
}

struct page_file *page_find(const struct page *p, const char *path)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->files[i].path, path) == 0)
            return &p->files[i];
    return NULL;
}

/* Text that grows; the page's files contain no 0 except at their end. */
struct growing {
    char *text;
    size_t length, room;
};

static void add(struct growing *g, const char *text, size_t length)
{
    if (g->length + length + 1 > g->room) {
        g->room = 2 * (g->length + length + 1);
        g->text = need_more_memory(g->text, g->room);
    }
    memcpy(g->text + g->length, text, length);
    g->length += length;
    g->text[g->length] = 0;
}

static void add_text(struct growing *g, const char *text)
{
    add(g, text, strlen(text));
}

/* Adds code in <script>. There, "</script" would end the code and "<!--" could begin a comment.
 * Both occur only in strings and regular expressions, in which \x3c is the same character as
 * '<'. */
static void add_script(struct growing *g, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        bool escape =
            strncasecmp(text + i, "</script", 8) == 0 || strncmp(text + i, "<!--", 4) == 0;
        add(g, escape ? "\\x3c" : text + i, escape ? 4 : 1);
    }
}

void page_give(struct page *p, const char *json)
{
    struct page_file *index = page_find(p, "index.html");
    char *mark = index ? strstr(index->data, given_mark) : NULL;
    if (!mark)
        return;
    struct growing g = {0};
    add(&g, index->data, (size_t)(mark - index->data));
    add_text(&g, "<script type=\"application/json\" id=\"given\">");
    for (const char *c = json; *c; c++)
        add(&g, *c == '<' ? "\\u003c" : c, *c == '<' ? 6 : 1);
    add_text(&g, "</script>");
    add_text(&g, mark + strlen(given_mark));
    free(index->data);
    index->data = g.text;
    index->length = g.length;
}

char *page_policy(const struct page *p)
{
    const struct page_file *index = page_find(p, "index.html");
    const char *meta = index ? strstr(index->data, policy_mark) : NULL;
    const char *at = meta ? strstr(meta, "content=\"") : NULL;
    at = at ? at + strlen("content=\"") : "";
    return need_text("%.*s", (int)strcspn(at, "\"\r\n"), at);
}

/* Writes a new nonce, which an injected script cannot know. Returns false after printing a
 * message. */
static bool make_nonce(char out[33])
{
    unsigned char bytes[16];
    FILE *random = fopen("/dev/urandom", "rb");
    bool good = random && fread(bytes, sizeof bytes, 1, random) == 1;
    if (!good)
        complain(NULL, "/dev/urandom cannot be read: %s", strerror(errno));
    for (size_t i = 0; good && i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    if (random)
        fclose(random);
    return good;
}

/* Returns the page's file that an attribute of a tag names, as src="./assets/x.js", or NULL if
 * it is none. */
static const struct page_file *named_file(const struct page *p, const char *tag, const char *end,
                                          const char *attribute)
{
    const char *at = strstr(tag, attribute);
    if (!at || at >= end)
        return NULL;
    at += strlen(attribute);
    at += strncmp(at, "./", 2) == 0 ? 2 : 0;
    const char *quote = strchr(at, '"');
    if (!quote || quote > end)
        return NULL;
    char *path = need_text("%.*s", (int)(quote - at), at);
    const struct page_file *f = page_find(p, path);
    free(path);
    return f;
}

/* Returns whether the file is the worker's code: Vite names it after its source, worker.ts. */
static bool is_worker(const struct page_file *f)
{
    return strncmp(f->path, "assets/worker-", 14) == 0 && ends_with(f->path, ".js");
}

static void add_parts(struct growing *g, const struct page *p)
{
    for (int i = 0; i < p->count; i++) {
        const struct page_file *f = &p->files[i];
        if (strcmp(f->path, "engine.wasm") == 0) {
            add_text(g, "<script type=\"text/plain\" id=\"engine\">");
            char *encoded = base64_text(f->data, f->length, false);
            add_text(g, encoded);
            free(encoded);
            add_text(g, "</script>");
        } else if (is_worker(f)) {
            add_text(g, "<script type=\"text/plain\" id=\"worker\">");
            add_script(g, f->data, f->length);
            add_text(g, "</script>");
        }
    }
}

/* Copies a tag of index.html, or in its place the contents of the file that it names. */
static const char *add_tag(struct growing *g, const struct page *p, const char *nonce,
                           const char *tag)
{
    const char *end = strchr(tag, '>');
    if (!end)
        end = tag + strlen(tag) - 1;
    const struct page_file *f;
    if (strncmp(tag, "<link", 5) == 0 && (f = named_file(p, tag, end, " href=\""))) {
        if (ends_with(f->path, ".css")) {
            add_text(g, "<style>");
            add(g, f->data, f->length);
            add_text(g, "</style>");
        }
    } else if (strncmp(tag, "<script", 7) == 0 && (f = named_file(p, tag, end, " src=\""))) {
        add_text(g, "<script type=\"module\" nonce=\"");
        add_text(g, nonce);
        add_text(g, "\">");
        add_script(g, f->data, f->length);
    } else {
        add(g, tag, (size_t)(end - tag) + 1);
    }
    return end + 1;
}

char *page_as_one(const struct page *p, size_t *length)
{
    struct growing g = {0};
    const struct page_file *index = page_find(p, "index.html");
    const char *at = index->data, *scripts = strstr(at, scripts_mark);
    char nonce[33];
    if (!make_nonce(nonce))
        return NULL;
    while (*at) {
        if (strncmp(at, parts_mark, strlen(parts_mark)) == 0) {
            add_parts(&g, p);
            at += strlen(parts_mark);
        } else if (at == scripts) {
            add_text(&g, "script-src 'nonce-");
            add_text(&g, nonce);
            add_text(&g, "'");
            at += strlen(scripts_mark);
        } else if (strncmp(at, "<link", 5) == 0 || strncmp(at, "<script", 7) == 0) {
            at = add_tag(&g, p, nonce, at);
        } else {
            add(&g, at++, 1);
        }
    }
    *length = g.length;
    return g.text;
}

/* Command lsp: a language server on standard input and output (Language Server Protocol 3.17). */
#include "cli/commands.h"
#include "lsp/lsp.h"
#include "cli/target.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_DEVICE "sm_90"

struct session {
    struct lsp lsp;
    bool initialized, shut_down, exits;
    pthread_t checker;
};

/* --- documents --- */

static struct lsp_document *find_document(struct lsp *l, const char *uri)
{
    struct lsp_document *d = uri ? l->documents : NULL;
    while (d && strcmp(d->uri, uri) != 0)
        d = d->next;
    return d;
}

/* Returns the path of a file: URI; returns another URI unchanged. The caller frees. */
static char *path_of_uri(const char *uri)
{
    static const char scheme[] = "file://";
    bool file = strncmp(uri, scheme, strlen(scheme)) == 0;
    char *path = need_text("%s", file ? uri + strlen(scheme) : uri), *out = path;
    for (const char *at = path; *at; at++) {
        int high = *at == '%' ? hex_digit(at[1]) : -1, low = high < 0 ? -1 : hex_digit(at[2]);
        *out++ = low < 0 ? *at : (char)(16 * high + low);
        at += low < 0 ? 0 : 2;
    }
    *out = '\0';
    return path;
}

/* Records that the document has a new text. Requires the lock. */
static void text_changed(struct lsp *l, struct lsp_document *d, const struct json_value *document)
{
    if (!json_member_count(document, "version", &d->version))
        d->version = -1;
    d->revision = ++l->revisions;
    d->changed = seconds_now();
    d->waits = true;
    if (l->under_way == d)
        atomic_store(&l->cancel, true);
    pthread_cond_broadcast(&l->news);
}

static void free_document(struct lsp_document *d)
{
    lsp_text_free(&d->text);
    lsp_results_free(&d->results);
    free(d->uri);
    free(d->path);
    free(d);
}

static const struct json_value *string_member(const struct json_value *v, const char *key)
{
    const struct json_value *m = json_member(v, key);
    return m && m->kind == JSON_STRING ? m : NULL;
}

static struct lsp_text text_of(const struct json_value *string)
{
    char *bytes = need_memory(string->length + 1);
    memcpy(bytes, string->text, string->length);
    return lsp_text_of(bytes, string->length);
}

static void close_document(struct lsp *l, const char *uri)
{
    for (struct lsp_document **at = &l->documents; *at; at = &(*at)->next) {
        struct lsp_document *d = *at;
        if (strcmp(d->uri, uri) != 0)
            continue;
        if (l->under_way == d)
            atomic_store(&l->cancel, true);
        *at = d->next;
        lsp_results_free(&d->results);
        lsp_publish(d); /* removes its diagnostics */
        free_document(d);
        return;
    }
}

static void did_open(struct session *s, const struct json_value *params)
{
    struct lsp *l = &s->lsp;
    const struct json_value *document = json_member(params, "textDocument");
    const struct json_value *text = string_member(document, "text");
    const char *uri = json_member_text(document, "uri");
    if (!uri || !text)
        return;
    pthread_mutex_lock(&l->lock);
    close_document(l, uri);
    struct lsp_document *d = need_memory(sizeof *d);
    *d = (struct lsp_document){.uri = need_text("%s", uri),
                               .path = path_of_uri(uri),
                               .text = text_of(text),
                               .next = l->documents};
    l->documents = d;
    text_changed(l, d, document);
    pthread_mutex_unlock(&l->lock);
}

static bool read_position(const struct lsp_text *t, const struct json_value *p, size_t *offset)
{
    int line, character;
    if (!json_member_count(p, "line", &line) || !json_member_count(p, "character", &character))
        return false;
    *offset = lsp_offset(t, line, character);
    return true;
}

/* Applies one change: of a range, or of the whole text. */
static void change_text(struct lsp_document *d, const struct json_value *change)
{
    const struct json_value *text = string_member(change, "text");
    const struct json_value *range = json_member(change, "range");
    size_t from = 0, to = d->text.length;
    if (!text)
        return;
    if (range && range->kind != JSON_NULL &&
        (!read_position(&d->text, json_member(range, "start"), &from) ||
         !read_position(&d->text, json_member(range, "end"), &to) || from > to))
        return;
    lsp_text_replace(&d->text, from, to, text->text, text->length);
}

static void did_change(struct session *s, const struct json_value *params)
{
    struct lsp *l = &s->lsp;
    const struct json_value *document = json_member(params, "textDocument");
    const struct json_value *changes = json_member(params, "contentChanges");
    struct lsp_document *d = find_document(l, json_member_text(document, "uri"));
    if (!d || !changes || changes->kind != JSON_ARRAY)
        return;
    pthread_mutex_lock(&l->lock);
    for (const struct json_value *c = changes->first; c; c = c->next)
        change_text(d, c);
    text_changed(l, d, document);
    pthread_mutex_unlock(&l->lock);
}

static void did_close(struct session *s, const struct json_value *params)
{
    const char *uri = json_member_text(json_member(params, "textDocument"), "uri");
    pthread_mutex_lock(&s->lsp.lock);
    if (uri)
        close_document(&s->lsp, uri);
    pthread_mutex_unlock(&s->lsp.lock);
}

/* --- the session --- */

static bool is_device(const char *name)
{
    for (int i = 0; tw_target_at(i); i++)
        if (strcmp(tw_target_at(i), name) == 0)
            return true;
    return false;
}

static void show_warning(const char *text)
{
    struct json j;
    lsp_begin_notification(&j, "window/showMessage");
    json_open(&j, '{');
    json_put_integer(&j, "type", 2);
    json_put_text(&j, "message", text);
    json_close(&j, '}');
    lsp_send(&j);
}

/* "initializationOptions": {"device": "sm_80"} */
static void take_options(struct session *s, const struct json_value *options)
{
    const char *device = json_member_text(options, "device");
    if (!device)
        return;
    if (!is_device(device)) {
        char *text =
            need_text("there is no device '%s' that programs are compiled for; taken is %s", device,
                      s->lsp.device);
        show_warning(text);
        free(text);
        return;
    }
    pthread_mutex_lock(&s->lsp.lock);
    free(s->lsp.device);
    s->lsp.device = need_text("%s", device);
    pthread_mutex_unlock(&s->lsp.lock);
}

static void initialize(struct session *s, const struct json_value *id,
                       const struct json_value *params)
{
    struct json j;
    take_options(s, json_member(params, "initializationOptions"));
    s->initialized = true;
    lsp_begin_result(&j, id);
    json_open(&j, '{');
    json_open_object(&j, "capabilities");
    json_put_text(&j, "positionEncoding", "utf-16");
    json_open_object(&j, "textDocumentSync");
    json_put_bool(&j, "openClose", true);
    json_put_integer(&j, "change", 2); /* changes of ranges */
    json_put_bool(&j, "save", true);
    json_close(&j, '}');
    json_put_bool(&j, "hoverProvider", true);
    json_put_bool(&j, "definitionProvider", true);
    json_put_bool(&j, "documentSymbolProvider", true);
    json_put_bool(&j, "documentFormattingProvider", true);
    json_open_object(&j, "completionProvider");
    json_open_list(&j, "triggerCharacters");
    json_string(&j, ".");
    json_close(&j, ']');
    json_close(&j, '}');
    json_open_object(&j, "codeActionProvider");
    json_open_list(&j, "codeActionKinds");
    json_string(&j, "quickfix");
    json_close(&j, ']');
    json_close(&j, '}');
    json_close(&j, '}');
    json_open_object(&j, "serverInfo");
    json_put_text(&j, "name", "tilewright");
    json_put_text(&j, "version", tw_version());
    json_close(&j, '}');
    json_close(&j, '}');
    lsp_send(&j);
}

static void shut_down(struct session *s, const struct json_value *id,
                      const struct json_value *params)
{
    struct json j;
    (void)params;
    s->shut_down = true;
    lsp_begin_result(&j, id);
    json_string(&j, NULL);
    lsp_send(&j);
}

static void exit_now(struct session *s, const struct json_value *params)
{
    (void)params;
    s->exits = true;
}

/* Ignores saving, because a text is checked when it changes. */
static void ignore(struct session *s, const struct json_value *params)
{
    (void)s;
    (void)params;
}

/* --- requests --- */

/* Returns the document of a request. If there is none, answers with an error and returns NULL. */
static struct lsp_document *document_of(struct session *s, const struct json_value *id,
                                        const struct json_value *params)
{
    const char *uri = json_member_text(json_member(params, "textDocument"), "uri");
    struct lsp_document *d = find_document(&s->lsp, uri);
    if (!d)
        lsp_send_error(id, LSP_INVALID_PARAMS,
                       uri ? "the document is not open" : "params.textDocument.uri is missing");
    return d;
}

typedef void answer_at(struct lsp *l, const struct lsp_document *d, const struct json_value *id,
                       size_t offset);
static void answer_place(struct session *s, const struct json_value *id,
                         const struct json_value *params, answer_at *answer)
{
    size_t offset;
    struct lsp_document *d = document_of(s, id, params);
    if (d && read_position(&d->text, json_member(params, "position"), &offset))
        answer(&s->lsp, d, id, offset);
    else if (d)
        lsp_send_error(id, LSP_INVALID_PARAMS, "params.position has no line and character");
}

static void hover(struct session *s, const struct json_value *id, const struct json_value *params)
{
    answer_place(s, id, params, lsp_answer_hover);
}

static void definition(struct session *s, const struct json_value *id,
                       const struct json_value *params)
{
    answer_place(s, id, params, lsp_answer_definition);
}

static void completion(struct session *s, const struct json_value *id,
                       const struct json_value *params)
{
    answer_place(s, id, params, lsp_answer_completion);
}

static void outline(struct session *s, const struct json_value *id, const struct json_value *params)
{
    struct lsp_document *d = document_of(s, id, params);
    if (d)
        lsp_answer_outline(&s->lsp, d, id);
}

static void formatting(struct session *s, const struct json_value *id,
                       const struct json_value *params)
{
    struct lsp_document *d = document_of(s, id, params);
    if (d)
        lsp_answer_formatting(&s->lsp, d, id);
}

static void fixes(struct session *s, const struct json_value *id, const struct json_value *params)
{
    struct lsp_document *d = document_of(s, id, params);
    if (d)
        lsp_answer_fixes(&s->lsp, d, id, params);
}

static const struct {
    const char *method;
    void (*answer)(struct session *s, const struct json_value *id, const struct json_value *params);
} requests[] = {
    {"initialize", initialize},
    {"shutdown", shut_down},
    {"textDocument/hover", hover},
    {"textDocument/definition", definition},
    {"textDocument/completion", completion},
    {"textDocument/documentSymbol", outline},
    {"textDocument/formatting", formatting},
    {"textDocument/codeAction", fixes},
};
static const struct {
    const char *method;
    void (*take)(struct session *s, const struct json_value *params);
} notifications[] = {
    {"exit", exit_now},
    {"initialized", ignore},
    {"textDocument/didOpen", did_open},
    {"textDocument/didChange", did_change},
    {"textDocument/didClose", did_close},
    {"textDocument/didSave", ignore},
};
enum {
    REQUESTS = sizeof requests / sizeof *requests,
    NOTIFICATIONS = sizeof notifications / sizeof *notifications
};

static void take_request(struct session *s, const char *method, const struct json_value *id,
                         const struct json_value *params)
{
    bool first = strcmp(method, "initialize") == 0;
    if (s->shut_down) {
        lsp_send_error(id, LSP_INVALID_REQUEST, "the session is shut down");
        return;
    }
    if (first == s->initialized) {
        lsp_send_error(id, first ? LSP_INVALID_REQUEST : LSP_NOT_INITIALIZED,
                       first ? "the session is initialized already"
                             : "the first request is `initialize`");
        return;
    }
    for (int i = 0; i < REQUESTS; i++)
        if (strcmp(method, requests[i].method) == 0) {
            requests[i].answer(s, id, params);
            return;
        }
    char *text = need_text("there is no method `%s`", method);
    lsp_send_error(id, LSP_METHOD_NOT_FOUND, text);
    free(text);
}

static void take_message(struct session *s, const struct json_value *m)
{
    const char *method = json_member_text(m, "method");
    const struct json_value *id = json_member(m, "id"), *params = json_member(m, "params");
    if (m && m->kind == JSON_OBJECT && !method && id &&
        (json_member(m, "result") || json_member(m, "error")))
        return; /* an answer without a request */
    if (!m || !method) {
        lsp_send_error(m ? id : NULL, m ? LSP_INVALID_REQUEST : LSP_PARSE_ERROR,
                       m ? "a message has a `method`" : "the message is not JSON");
        return;
    }
    if (id) {
        take_request(s, method, id, params);
        return;
    }
    for (int i = 0; i < NOTIFICATIONS; i++)
        if (strcmp(method, notifications[i].method) == 0 && (s->initialized || i == 0))
            notifications[i].take(s, params);
}

static void end_session(struct session *s)
{
    struct lsp *l = &s->lsp;
    pthread_mutex_lock(&l->lock);
    l->ends = true;
    atomic_store(&l->cancel, true);
    pthread_cond_broadcast(&l->news);
    pthread_mutex_unlock(&l->lock);
    pthread_join(s->checker, NULL);
    while (l->documents) {
        struct lsp_document *d = l->documents;
        l->documents = d->next;
        free_document(d);
    }
    tw_context_free(l->ctx);
    free(l->device);
    free(l->import_folders);
}

static int lsp_run(const struct command *self, const struct options *given)
{
    struct session s = {
        .lsp = {.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER}};
    const char *device = options_value(given, "device");
    size_t length;
    char *text;
    if (given->word_count)
        return usage_error(NULL, self, "lsp takes no FILE: the editor sends the texts");
    if (device && !is_device(device))
        return usage_error(NULL, self, "--device %s: there are cpu, sm_80 and up", device);
    s.lsp.import_folders = import_folders();
    tw_config config = {
        .size = sizeof config, .threads = 1, .cache = "", .import_path = s.lsp.import_folders};
    tw_status status = tw_context_new(&config, &s.lsp.ctx);
    if (status != TW_OK) {
        complain(NULL, "%s", tw_status_text(status));
        return STATUS_FAILED;
    }
    s.lsp.device = need_text("%s", device ? device : DEFAULT_DEVICE);
    if (pthread_create(&s.checker, NULL, lsp_check_documents, &s.lsp) != 0) {
        complain(NULL, "no thread can be made");
        return STATUS_FAILED;
    }
    while (!s.exits && (text = lsp_read(&length))) {
        struct json_value *m = json_read(text, length);
        take_message(&s, m);
        json_free(m);
        free(text);
    }
    end_session(&s);
    return s.exits && s.shut_down ? STATUS_OK : STATUS_FAILED;
}

static const struct option_spec lsp_options[] = {
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "cpu or sm_80 and up: what layouts and costs are shown for (default: " DEFAULT_DEVICE
             "); the\neditor's initialization option \"device\" does the same"},
    OPTION_IMPORT,
    {.name = "stdio", .help = "has no effect: standard input and output are always used"},
    {.name = NULL},
};

const struct command command_lsp = {
    .name = "lsp",
    .arguments = "[--device DEVICE]",
    .summary = "a language server, for editors",
    .about = "Serves an editor on standard input and output by the Language Server Protocol 3.17:\n"
             "diagnostics with quick fixes, the type, layout and cost of what the cursor is on, "
             "definitions,\n"
             "completion, the outline, formatting. The editor starts it; docs/editor.md says how.",
    .options = lsp_options,
    .examples = "  tilewright lsp\n"
                "  tilewright lsp --device sm_80\n",
    .run = lsp_run,
};

#include "lsp/lsp_connection.h"
#include "cli/tool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_HEADER = 1 << 12, MOST_BODY = 1 << 28 };

/* --- reading --- */

/* Reads one line of a header without its end; drops the part past the limit. Returns false at
 * the end of the input. */
static bool read_line(char line[MOST_HEADER])
{
    int length = 0, c;
    while ((c = getc(stdin)) != EOF && c != '\n')
        if (length < MOST_HEADER - 1)
            line[length++] = (char)c;
    while (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = '\0';
    return c != EOF;
}

/* Reads the lines up to an empty one. *length is the body's length, or 0 if no line gives a
 * valid one. */
static bool read_header(size_t *length)
{
    static const char field[] = "Content-Length:";
    char line[MOST_HEADER];
    *length = 0;
    for (bool any = false; read_line(line);) {
        if (!*line && any)
            return true;
        any = any || *line;
        int64_t n;
        const char *value = line + strlen(field);
        if (strncasecmp(line, field, strlen(field)) != 0)
            continue;
        value += strspn(value, " \t");
        *length = parse_integer(value, &n) && n > 0 && n <= MOST_BODY ? (size_t)n : 0;
    }
    return false;
}

char *lsp_read(size_t *length)
{
    while (read_header(length)) {
        if (*length == 0) {
            lsp_send_error(NULL, LSP_PARSE_ERROR,
                           "the header of a message has no Content-Length from 1 to 268435456");
            continue;
        }
        char *body = need_memory(*length + 1);
        if (fread(body, 1, *length, stdin) == *length)
            return body;
        free(body);
        return NULL;
    }
    return NULL;
}

/* --- writing --- */

/* Begins a message: opens the object for its members. lsp_send ends and sends it. */
static void begin(struct json *j)
{
    json_hold(j);
    json_open(j, '{');
    json_put_text(j, "jsonrpc", "2.0");
}

void lsp_send(struct json *j)
{
    static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;
    json_close(j, '}');
    char *text = json_take(j);
    pthread_mutex_lock(&sending);
    printf("Content-Length: %zu\r\n\r\n%s", strlen(text), text);
    fflush(stdout);
    pthread_mutex_unlock(&sending);
    free(text);
}

static void put_id(struct json *j, const struct json_value *id)
{
    bool known = id && (id->kind == JSON_NUMBER || id->kind == JSON_STRING);
    char *raw = known ? need_text("%.*s", (int)id->raw_length, id->raw) : need_text("null");
    json_key(j, "id");
    json_number(j, raw);
    free(raw);
}

void lsp_begin_result(struct json *j, const struct json_value *id)
{
    begin(j);
    put_id(j, id);
    json_key(j, "result");
}

void lsp_begin_notification(struct json *j, const char *method)
{
    begin(j);
    json_put_text(j, "method", method);
    json_key(j, "params");
}

void lsp_send_error(const struct json_value *id, enum lsp_error code, const char *text)
{
    struct json j;
    begin(&j);
    put_id(&j, id);
    json_open_object(&j, "error");
    json_put_integer(&j, "code", code);
    json_put_text(&j, "message", text);
    json_close(&j, '}');
    lsp_send(&j);
}

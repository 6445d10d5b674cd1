#include "cli/json.h"
#include "cli/tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void before_value(struct json *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->in_row)
        fputs(j->started ? ", " : "", j->out);
    else if (j->depth > 0)
        fprintf(j->out, "%s\n%*s", j->started ? "," : "", 2 * j->depth, "");
    j->started = true;
}

static void write_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    print_as(out, text, strlen(text), TW_SHOWN_JSON);
    fputc('"', out);
}

static bool begun;

bool json_begun(void)
{
    return begun;
}

void json_hold(struct json *j)
{
    *j = (struct json){0};
    j->out = checked(open_memstream(&j->held, &j->held_bytes));
    json_held(j);
}

const char *json_held(struct json *j)
{
    fflush(j->out);
    return checked(j->held);
}

char *json_take(struct json *j)
{
    char *text = checked(fclose(j->out) == 0 ? j->held : NULL);
    *j = (struct json){0};
    return text;
}

void json_open(struct json *j, char bracket)
{
    if (j->out == stdout)
        begun = true;
    before_value(j);
    fputc(bracket, j->out);
    j->depth++;
    j->started = false;
}

void json_close(struct json *j, char bracket)
{
    j->depth--;
    if (j->started && !j->in_row)
        fprintf(j->out, "\n%*s", 2 * j->depth, "");
    fputc(bracket, j->out);
    j->started = true;
    j->in_row = false;
}

void json_open_row(struct json *j)
{
    json_open(j, '[');
    j->in_row = true;
}

void json_key(struct json *j, const char *key)
{
    before_value(j);
    write_quoted(j->out, key);
    fputs(": ", j->out);
    j->after_key = true;
}

void json_string(struct json *j, const char *text)
{
    before_value(j);
    if (text)
        write_quoted(j->out, text);
    else
        fputs("null", j->out);
}

/* Returns the bytes of the UTF-8 character at `at`, or 0 if it is malformed. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *at < 0x80   ? 1
                    : *at < 0xC2 ? 0
                    : *at < 0xE0 ? 2
                    : *at < 0xF0 ? 3
                    : *at < 0xF5 ? 4
                                 : 0;
    unsigned code = length < 2 ? *at : *at & (0xFFu >> (length + 1));
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3Fu);
    }
    return code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) ? 0
                                                                                        : length;
}

void json_exact(struct json *j, const char *text, size_t length)
{
    before_value(j);
    fputc('"', j->out);
    for (size_t i = 0, bytes; i < length; i += bytes ? bytes : 1) {
        unsigned char c = (unsigned char)text[i];
        bytes = character_bytes((const unsigned char *)text + i, length - i);
        if (!bytes)
            fputs("\xEF\xBF\xBD", j->out);
        else if (c < 0x20 || c == 0x7F)
            fprintf(j->out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            fprintf(j->out, "\\%c", c);
        else
            fwrite(text + i, 1, bytes, j->out);
    }
    fputc('"', j->out);
}

void json_integer(struct json *j, int64_t v)
{
    before_value(j);
    fprintf(j->out, "%lld", (long long)v);
}

/* Writes the shortest text that reads back as the same number. */
void json_real(struct json *j, double v)
{
    char text[40];
    int digits = 0;
    before_value(j);
    if (!isfinite(v)) {
        fputs(isnan(v) ? "\"nan\"" : v < 0 ? "\"-inf\"" : "\"inf\"", j->out);
        return;
    }
    do
        snprintf(text, sizeof text, "%.*g", ++digits, v);
    while (digits < 17 && strtod(text, NULL) != v);
    fputs(text, j->out);
}

void json_number(struct json *j, const char *text)
{
    before_value(j);
    fputs(text, j->out);
}

void json_members(struct json *j, const char *object)
{
    size_t length = strlen(object);
    if (length <= 2)
        return;
    before_value(j);
    fprintf(j->out, "%.*s", (int)length - 2, object + 1);
}

void json_bool(struct json *j, bool v)
{
    before_value(j);
    fputs(v ? "true" : "false", j->out);
}

void json_open_object(struct json *j, const char *key)
{
    json_key(j, key);
    json_open(j, '{');
}

void json_open_list(struct json *j, const char *key)
{
    json_key(j, key);
    json_open(j, '[');
}

void json_open_numbers(struct json *j, const char *key)
{
    json_key(j, key);
    json_open_row(j);
}

void json_put_text(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_string(j, text);
}

void json_put_integer(struct json *j, const char *key, int64_t v)
{
    json_key(j, key);
    json_integer(j, v);
}

void json_put_index(struct json *j, const char *key, int64_t v)
{
    if (v >= 0)
        json_put_integer(j, key, v);
    else
        json_put_text(j, key, NULL);
}

void json_put_real(struct json *j, const char *key, double v)
{
    json_key(j, key);
    json_real(j, v);
}

void json_put_bool(struct json *j, const char *key, bool v)
{
    json_key(j, key);
    json_bool(j, v);
}

void json_put_integers(struct json *j, const char *key, int count, const int64_t *values)
{
    json_open_numbers(j, key);
    for (int i = 0; i < count; i++)
        json_integer(j, values[i]);
    json_close(j, ']');
}

void json_put_axes(struct json *j, const char *key, int64_t x, int64_t y, int64_t z)
{
    json_put_integers(j, key, 3, (const int64_t[]){x, y, z});
}

void json_place(struct json *j, const char *file, int line, int column, const char *text)
{
    json_put_text(j, "file", file);
    json_put_integer(j, "line", line);
    json_put_integer(j, "column", column);
    json_put_text(j, "text", text);
}

void json_end(struct json *j)
{
    fputc('\n', j->out);
    if (!j->held)
        return;
    char *text = json_take(j);
    begun = true;
    fputs(text, stdout);
    free(text);
}

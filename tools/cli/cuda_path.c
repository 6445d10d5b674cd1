#define _XOPEN_SOURCE 700 /* realpath */

#include "cli/cuda_path.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- for a shell --- */

static bool is_plain_text(const char *path)
{
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        if (*c < 0x80 && !isalnum(*c) && !strchr("_./+-", *c))
            return false;
    return true;
}

/* Also checks the absolute path, because nvcc computes it and passes it to the shell too. */
bool path_is_plain(const char *path)
{
    char *whole = realpath(path, NULL);
    bool plain = is_plain_text(path) && (!whole || is_plain_text(whole));
    free(whole);
    return plain;
}

char *path_include(const char *path)
{
    char *whole = realpath(path, NULL);
    bool quoted = whole && !strchr(whole, '"'); /* C has no escapes in these */
    bool named = whole && !strchr(whole, '\n') && (quoted || !strchr(whole, '>'));
    char *text = NULL;
    if (named)
        text = need_text("#include %c%s%c\n", quoted ? '"' : '<', whole, quoted ? '"' : '>');
    free(whole);
    return text;
}

/* --- in PTX --- */

/* Decodes the `length` characters of a quoted text. The caller frees. */
static char *unescaped(const char *text, size_t length)
{
    char *out = need_text("%.*s", (int)length, text), *to = out;
    for (const char *c = out; *c;) {
        unsigned value = 0;
        int digits = 0;
        if (*c != '\\') {
            *to++ = *c++;
            continue;
        }
        for (c++; digits < 3 && *c >= '0' && *c <= '7'; digits++)
            value = value * 8 + (unsigned)(*c++ - '0');
        if (digits)
            *to++ = (char)value;
        else if (*c)
            *to++ = *c++;
    }
    *to = '\0';
    return out;
}

/* Appends a path with the escapes of quoted text. */
static void append_escaped(char **text, const char *path)
{
    for (; *path; path++)
        if (*path >= ' ' && *path <= '~' && *path != '"' && *path != '\\')
            append_text(text, "%c", *path);
        else
            append_text(text, "\\%03o", (unsigned)(unsigned char)*path);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Returns the length up to the closing quote, or to the end of the line. */
static size_t quoted_length(const char *text)
{
    size_t length = 0;
    while (text[length] && text[length] != '"' && text[length] != '\n')
        length += text[length] == '\\' && text[length + 1] && text[length + 1] != '\n' ? 2 : 1;
    return length;
}

/* Compilers write the file's absolute path, but messages use the given path. */
char *path_restore_ptx(char *ptx, const char *path)
{
    for (const char *at = ptx; (at = strstr(at, ".file")); at++) {
        size_t line = strcspn(at, "\n"), from = strcspn(at, "\"");
        const char *name_at = at + from + 1;
        size_t length = from < line ? quoted_length(name_at) : 0;
        char *name = unescaped(name_at, length);
        bool same = length && is_same_file(name, path);
        free(name);
        if (!same)
            continue;
        char *renamed = need_text("%.*s", (int)(name_at - ptx), ptx);
        append_escaped(&renamed, path);
        append_text(&renamed, "%s", name_at + length);
        free(ptx);
        return renamed;
    }
    return ptx;
}

/* --- in messages --- */

/* Returns the text with each `from` replaced by `to`. Takes ownership of the text; the caller
 * frees the result. */
static char *replace_all(char *text, const char *from, const char *to)
{
    char *out = need_text("%s", "");
    const char *rest = text;
    for (const char *at; (at = strstr(rest, from)); rest = at + strlen(from))
        append_text(&out, "%.*s%s", (int)(at - rest), rest, to);
    append_text(&out, "%s", rest);
    free(text);
    return out;
}

char *path_restore_said(char *said, const char *path, const char *wrapper)
{
    char *whole = realpath(path, NULL);
    char *included = need_text("In file included from %s:1:\n", wrapper);
    said = replace_all(said, included, "");
    said = replace_all(said, wrapper, path);
    if (whole && strcmp(whole, path) != 0)
        said = replace_all(said, whole, path);
    free(included);
    free(whole);
    return said;
}

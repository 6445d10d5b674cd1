#include "tune/table_file.h"
#include "cli/json_read.h"
#include "cli/part_file.h"
#include "cli/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The lines of the file from a header up to the next one. */
struct section {
    const char *text;
    size_t length;
    int rows;
    bool is_replaced;
};

struct table_file {
    const char *path, *family;
    char *text; /* "": there is no file yet */
    struct section *list;
    int count;
};

static int refuse_line(const struct table_file *f, int line)
{
    complain(NULL,
             "%s:%d: this is not a line of a family's table, and the file is left as it is: name "
             "another one with --table",
             f->path, line);
    return STATUS_USAGE;
}

static int refuse_family(const struct table_file *f, int line, const char *family)
{
    complain(NULL,
             "%s:%d: these are results of the family `%s`, not of `%s`, and the file is left as it "
             "is: name another one with --table",
             f->path, line, family, f->family);
    return STATUS_USAGE;
}

/* Adds a line to the sections. Returns STATUS_OK, or another status after printing a message: it is
 * not a line of the family's table. */
static int take_line(struct table_file *f, const char *line, size_t length, int number,
                     const char *device, const char *types)
{
    struct json_value *v = json_read(line, length);
    const char *family = json_member_text(v, "family");
    bool is_header = family != NULL;
    const char *own_device = json_member_text(v, "device"),
               *own_types = json_member_text(v, "types");
    const struct json_value *us = json_member(v, "us");
    bool good = is_header ? own_device && own_types : f->count > 0 && us && us->kind == JSON_ARRAY;
    int status = !good                                         ? refuse_line(f, number)
                 : is_header && strcmp(family, f->family) != 0 ? refuse_family(f, number, family)
                                                               : STATUS_OK;
    if (status == STATUS_OK && is_header) {
        ADD_TO(f->list, f->count,
               (struct section){.text = line,
                                .is_replaced = strcmp(own_device, device) == 0 &&
                                               strcmp(own_types, types) == 0});
    }
    if (status == STATUS_OK) {
        struct section *s = &f->list[f->count - 1];
        s->length = (size_t)(line + length - s->text);
        s->rows += !is_header;
    }
    json_free(v);
    return status;
}

static int read_file(struct table_file *f, const char *device, const char *types)
{
    f->text = read_whole_file(f->path, NULL);
    if (!f->text && errno == ENOENT) {
        f->text = need_text("%s", "");
        return STATUS_OK;
    }
    if (!f->text) {
        complain(NULL, "cannot read `%s`: %s", f->path, strerror(errno));
        return STATUS_USAGE;
    }
    int number = 1;
    for (const char *line = f->text; *line; number++) {
        size_t length = strcspn(line, "\n");
        const char *next = line + length + (line[length] == '\n');
        length -= length > 0 && line[length - 1] == '\r';
        int status = length > 0 ? take_line(f, line, length, number, device, types) : STATUS_OK;
        if (status != STATUS_OK)
            return status;
        line = next;
    }
    return STATUS_OK;
}

static void write_sections(const struct table_file *f, FILE *out,
                           void (*write)(void *user, FILE *out), void *user)
{
    bool written = false;
    for (int i = 0; i < f->count; i++) {
        const struct section *s = &f->list[i];
        if (!s->is_replaced) {
            fwrite(s->text, 1, s->length, out);
            putc('\n', out);
        } else if (!written) {
            write(user, out);
            written = true;
        }
    }
    if (!written)
        write(user, out);
}

int table_file_check(const char *path, const char *family)
{
    struct table_file f = {.path = path, .family = family};
    int status = read_file(&f, "", "");
    free(f.list);
    free(f.text);
    return status;
}

int table_file_rows(const char *path, const char *family, const char *device, const char *types)
{
    struct table_file f = {.path = path, .family = family};
    int rows = read_file(&f, device, types) == STATUS_OK ? 0 : -1;
    for (int i = 0; i < f.count && rows >= 0; i++)
        rows += f.list[i].is_replaced ? f.list[i].rows : 0;
    free(f.list);
    free(f.text);
    return rows;
}

int table_file_replace(const char *path, const char *family, const char *device, const char *types,
                       void (*write)(void *user, FILE *out), void *user)
{
    struct table_file f = {.path = path, .family = family};
    int status = read_file(&f, device, types);
    if (status == STATUS_OK) {
        struct part_file part = part_file_open(path, "w");
        if (part.file)
            write_sections(&f, part.file, write, user);
        if (!part.file || !part_file_close(&part, ferror(part.file) == 0)) {
            complain(NULL, "cannot write `%s`: %s", path, strerror(errno));
            status = STATUS_FAILED;
        }
    }
    free(f.list);
    free(f.text);
    return status;
}

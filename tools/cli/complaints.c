#include "cli/complaints.h"
#include "cli/tool.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct complaints complaints_of_nobody;

static void keep(struct complaints *c, tw_status status, const tw_message *m)
{
    if (!c)
        c = &complaints_of_nobody;
    ADD_TO(c->list, c->count,
           (struct complaint){.severity = m->severity,
                              .file = m->file ? need_text("%s", m->file) : NULL,
                              .line = m->line,
                              .column = m->column,
                              .text = need_text("%s", m->text),
                              .parts = message_parts_copy(m)});
    if (m->severity == TW_ERROR)
        c->status = status;
}

/* Prefix of a complaint without a place in a program. */
static const char head[] = "tilewright: ";

/* Prints `before`, the text and `after`, and keeps the text. */
__attribute__((format(printf, 5, 0))) static void say(struct complaints *c, tw_severity severity,
                                                      const char *before, const char *after,
                                                      const char *format, va_list args)
{
    char *raw = need_text_list(format, args), *text = need_shown(raw);
    free(raw);
    fflush(stdout);
    fprintf(stderr, "%s%s\n%s", before, text, after);
    keep(c, TW_BAD_ARGUMENT,
         &(tw_message){.size = sizeof(tw_message), .severity = severity, .text = text});
    free(text);
}

int usage_error(struct complaints *c, const struct command *command, const char *format, ...)
{
    char *help = need_text("(`tilewright help %s` shows how it is used)\n", command->name);
    va_list args;
    va_start(args, format);
    say(c, TW_ERROR, head, help, format, args);
    va_end(args);
    free(help);
    return STATUS_USAGE;
}

int no_one_file(struct complaints *c, const struct command *command, int words)
{
    return usage_error(c, command, "%s",
                       words ? "one FILE at a time; FILE:KERNEL is one of its kernels"
                             : "which FILE?");
}

void complain(struct complaints *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(c, TW_ERROR, head, "", format, args);
    va_end(args);
}

void complain_warning(struct complaints *c, const char *format, ...)
{
    char *before = need_text("%swarning: ", head);
    va_list args;
    va_start(args, format);
    say(c, TW_WARNING, before, "", format, args);
    va_end(args);
    free(before);
}

/* Keeps the status of the latest complaint. */
static void set_status(struct complaints *c, tw_status status)
{
    c = c ? c : &complaints_of_nobody;
    c->status = status;
    if (status == TW_CANCELLED)
        c->list[c->count - 1].parts.code = TW_CODE_CANCELLED;
}

int complain_of_time(struct complaints *c, const char *kernel, double seconds)
{
    complain(c, "`%s` did not end within %g s (--time-limit)", kernel, seconds);
    set_status(c, TW_CANCELLED);
    return STATUS_FAILED;
}

void complain_more(struct complaints *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(c, TW_NOTE, "    ", "", format, args);
    va_end(args);
}

char *message_shown(const tw_message *m)
{
    return m->severity == TW_ERROR && !m->file
               ? need_text("%s%s\n%s", head, m->text, m->shown_notes)
               : need_text("%s", m->shown);
}

char *messages_shown(const tw_context *ctx)
{
    char *all = need_text("%s", "");
    tw_message m = tw_message_init();
    for (int i = 0; tw_context_message(ctx, i, &m); i++) {
        char *one = m.severity == TW_NOTE ? NULL : message_shown(&m);
        append_text(&all, "%s", one ? one : "");
        free(one);
    }
    return all;
}

void complain_library(struct complaints *c, const tw_context *ctx, tw_status status)
{
    tw_message m = {.size = sizeof m, .text = tw_status_text(status)};
    bool has_text = tw_context_message(ctx, 0, &m);
    if (!has_text || status == TW_CANCELLED) {
        complain(c, "%s%s", has_text ? "time is up (--time-limit): " : "", m.text);
        set_status(c, status);
        return;
    }
    fflush(stdout);
    char *shown = status == TW_FAULT ? NULL : messages_shown(ctx);
    fputs(shown ? shown : tw_context_messages(ctx), stderr);
    free(shown);
    for (int i = 0; tw_context_message(ctx, i, &m); i++)
        keep(c, status, &m);
}

void complaints_json(const struct complaints *c, struct json *j)
{
    static const char *const severities[] = {"error", "warning", "note"};
    json_put_text(j, "status", tw_status_name(c->status));
    json_open_list(j, "messages");
    for (int i = 0; i < c->count; i++) {
        const struct complaint *x = &c->list[i];
        json_open(j, '{');
        json_put_text(j, "severity", severities[x->severity]);
        json_place(j, x->file, x->line, x->column, x->text);
        if (x->severity != TW_NOTE)
            message_parts_json(&x->parts, j);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void complaints_free(struct complaints *c)
{
    for (int i = 0; i < c->count; i++) {
        free(c->list[i].file);
        free(c->list[i].text);
        message_parts_free(&c->list[i].parts);
    }
    free(c->list);
    *c = (struct complaints){0};
}

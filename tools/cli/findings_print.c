/* Writes findings as text and as JSON. */
#include "cli/findings.h"

void findings_print(const struct findings *f, FILE *out)
{
    for (int i = 0; i < f->count; i++) {
        const struct finding *x = &f->list[i];
        if (x->under)
            continue;
        fputs(x->rendered, out);
        findings_print_group(f, i, out);
        if (x->where && *x->where) {
            fprintf(out, "    %s%sin %s with %s", x->what ? x->what : "", x->what ? " " : "",
                    x->kernel, x->where);
            if (x->seen > 1)
                fprintf(out, " and %d more", x->seen - 1);
            fputc('\n', out);
        }
    }
}

/* Adds the keys that the simulator's findings already have. */
static void json_plain(struct json *j, const struct finding *x)
{
    json_put_text(j, "kind", x->what ? x->what : tw_code_name(x->parts.code));
    json_put_text(j, "message", x->text);
    json_key(j, "accesses");
    accesses_json(x->parts.accesses, x->parts.access_count, j);
}

void findings_json(const struct findings *f, struct json *j, const char *kernel)
{
    json_open_list(j, "findings");
    for (int i = 0; i < f->count; i++) {
        const struct finding *x = &f->list[i];
        if (x->kernel != kernel || x->under)
            continue;
        json_open(j, '{');
        json_put_text(j, "severity", x->severity == TW_ERROR ? "error" : "warning");
        json_place(j, x->file, x->line, x->column, x->text);
        message_parts_json(&x->parts, j);
        if (x->json)
            json_members(j, x->json);
        else
            json_plain(j, x);
        findings_json_group(f, i, j);
        if (x->wrong.count) {
            json_key(j, "wrong");
            wrong_values_json(&x->wrong, j);
        }
        json_put_text(j, "with", x->where);
        json_put_integer(j, "configurations", x->seen);
        json_open_list(j, "notes");
        for (int n = 0; n < x->note_count; n++) {
            json_open(j, '{');
            json_place(j, x->notes[n].file, x->notes[n].line, x->notes[n].column, x->notes[n].text);
            json_close(j, '}');
        }
        json_close(j, ']');
        json_close(j, '}');
    }
    json_close(j, ']');
}

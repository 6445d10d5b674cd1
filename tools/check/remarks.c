#include "check/remarks.h"
#include "cli/tool.h"

#include <stdlib.h>
#include <string.h>

void remarks_add(struct remarks *r, char *text, const char *where)
{
    for (int i = 0; i < r->count; i++)
        if (strcmp(r->list[i].text, text) == 0) {
            free(text);
            return;
        }
    ADD_TO(r->list, r->count, (struct remark){text, need_text("%s", where)});
}

char *remark_line(const struct remark *r)
{
    return *r->where ? need_text("%s (with %s)", r->text, r->where) : need_text("%s", r->text);
}

void remarks_json(const struct remarks *r, struct json *j)
{
    char *lines = NULL;
    for (int i = 0; i < r->count; i++) {
        char *line = remark_line(&r->list[i]);
        append_text(&lines, "%s%s", i ? "\n" : "", line);
        free(line);
    }
    json_string(j, lines);
    free(lines);
}

void remarks_free(struct remarks *r)
{
    for (int i = 0; i < r->count; i++) {
        free(r->list[i].text);
        free(r->list[i].where);
    }
    free(r->list);
    *r = (struct remarks){0};
}

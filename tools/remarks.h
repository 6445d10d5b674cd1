/* Remarks of `check` on what it could not do, each once, with the first configuration that has it. */
#ifndef TW_REMARKS_H
#define TW_REMARKS_H

#include "json.h"

struct remark {
    char *text, *where; /* where: "BM = 64, m = 3"; "": the same in all configurations */
};

struct remarks {
    struct remark *list;
    int count;
};

/* Adds one, unless its text is there. Takes `text`. */
void remarks_add(struct remarks *r, char *text, const char *where);
/* "TEXT (with WHERE)"; the caller frees. */
char *remark_line(const struct remark *r);
/* The lines as one string; null without any. */
void remarks_json(const struct remarks *r, struct json *j);
void remarks_free(struct remarks *r);

#endif

/* Collects remarks of `check` on checks that were not possible, each once, with its first
 * configuration. */
#ifndef TW_REMARKS_H
#define TW_REMARKS_H

#include "cli/json.h"

struct remark {
    char *text, *where; /* where: "BM = 64, m = 3"; "": all configurations */
};

struct remarks {
    struct remark *list;
    int count;
};

/* Adds a remark, unless it is in the list. Takes ownership of `text`. */
void remarks_add(struct remarks *r, char *text, const char *where);
/* Returns "TEXT (with WHERE)"; the caller frees. */
char *remark_line(const struct remark *r);
/* Writes the lines as one string, or null if there are none. */
void remarks_json(const struct remarks *r, struct json *j);
void remarks_free(struct remarks *r);

#endif

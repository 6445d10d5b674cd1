/* The common part of modules and PTX programs: both are made from a text or from a file. */
#ifndef TW_SOURCE_OBJECT_H
#define TW_SOURCE_OBJECT_H

#include "api/objects.h"

/* The arguments of a public function. */
struct source_given {
    const char *function;    /* its name, for messages */
    const char *name, *text; /* of a file: its path, NULL */
    size_t length;
    bool is_file, has_out;
    const struct lang_sources *imports; /* replace files of these names; NULL: none */
};

struct source_kind {
    size_t size; /* of the object */
    void (*open)(void *object, tw_context *ctx);
    /* Within context_call. */
    tw_status (*read)(void *object, const struct source_given *given);
    void (*destroy)(void *object);
};

/* Makes an object of that kind and reads its text. Returns NULL after a report, with its status
 * in *status. */
void *source_object(tw_context *ctx, const struct source_kind *kind,
                    const struct source_given *given, tw_status *status);
/* Gives the name and the text of the source, in the arena. Returns TW_OK, or TW_NO_FILE after a
 * report. */
tw_status source_object_read(const struct source_given *given, struct arena *a, struct diag *diag,
                             struct source *out);

#endif

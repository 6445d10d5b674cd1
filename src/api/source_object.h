/* What modules and PTX programs have in common: they are made of a text, or of a file's. */
#ifndef TW_SOURCE_OBJECT_H
#define TW_SOURCE_OBJECT_H

#include "api/objects.h"

/* What a public function was given. */
struct source_given {
    const char *function;    /* its name, for messages */
    const char *name, *text; /* of a file: its path, NULL */
    size_t length;
    bool is_file, has_out;
    const struct lang_sources *imports; /* taken instead of files of these names; NULL: none */
};

struct source_kind {
    size_t size; /* of the object */
    void (*open)(void *object, tw_context *ctx);
    /* Within context_call. */
    tw_status (*read)(void *object, const struct source_given *given);
    void (*destroy)(void *object);
};

/* An object of that kind, read. NULL: reported, *status says what. */
void *source_object(tw_context *ctx, const struct source_kind *kind,
                    const struct source_given *given, tw_status *status);
/* Name and text of what was given, in the arena. TW_OK, or TW_NO_FILE, reported. */
tw_status source_read(const struct source_given *given, struct arena *a, struct diag *diag,
                      struct source *out);

#endif

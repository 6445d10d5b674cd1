/* A call of tw_build_family. */
#ifndef TW_FAMILY_BUILD_H
#define TW_FAMILY_BUILD_H

#include "api/ahead.h"
#include "api/family_ship.h"

/* A variant that the compiler refused. */
struct left_out {
    struct left_out *next;
    const char *variant, *why;
};

struct family_build {
    tw_build *build;
    tw_family *family;
    tw_shipment how;
    struct family_ship ship;
    struct build_family function;
    const char *usual; /* the first GPU of the model's table that the target is for; NULL: none */
    struct left_out *left_out;
};

/* Compiles one version of a chosen variant, which is not added. Returns TW_OK, or the status of the
 * failed call on the build's context. */
tw_status family_try_variant(struct family_build *c, int chosen);
/* Compiles the versions of a chosen variant and adds them. Returns TW_OK, or the status of the
 * failed call on the build's context. */
tw_status family_add_variant(struct family_build *c, int chosen);

#endif

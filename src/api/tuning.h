/* What the calls of tuning share. */
#ifndef TW_TUNING_H
#define TW_TUNING_H

#include "api/objects.h"

/* Resolves the launch; what it is kept under, in its own memory. TW_OK, or reported. */
tw_status launch_key(tw_launch *l, const char *device, tw_tuned *out);

#endif

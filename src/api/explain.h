/* One tw_launch_explain: what its parts hand on. */
#ifndef TW_EXPLAIN_H
#define TW_EXPLAIN_H

#include "api/objects.h"
#include "model/devices.h"
#include "model/occupancy.h"

struct explain {
    tw_launch *launch;
    const tw_explain_options *options;
    const struct gpu *gpu;
    struct arena *results; /* texts of the explanation */
    tw_explanation out;
};

/* The GPU as the public table has it. */
void explain_gpu(const struct gpu *g, tw_gpu *out);

#endif

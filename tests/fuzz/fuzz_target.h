/* Targets of libFuzzer (./dev fuzz text|calls|npy|dlpack), on the public interface: whatever the
 * bytes, no crash, no leak, no sanitizer's report. Without clang replay.c runs what corpus/
 * holds. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include "tilewright.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A context in which no launch runs for long and nothing takes much memory: what was taken of both
 * is counted in `limits`, which must outlive it. */
struct target_limits {
    long turns; /* polls of `cancelled` */
    size_t bytes;
};
tw_status target_context(struct target_limits *limits, tw_context **out);

/* Numbers out of the input; 0 once it is used up. */
struct target_bytes {
    const uint8_t *at, *end;
};
uint32_t target_take(struct target_bytes *b, int bytes);

#endif

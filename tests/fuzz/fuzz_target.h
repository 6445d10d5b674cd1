/* Targets of libFuzzer (./dev fuzz text|calls|npy|dlpack|dwarf), on the public interface and on readers of files: no bytes may
 * cause a crash, a leak or a sanitizer's report. Without clang, replay.c runs the files of
 * corpus/. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include "tilewright.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Opens a context in which no launch runs for long and nothing uses much memory: `limits` counts
 * both, and must outlive the context. */
struct target_limits {
    long turns; /* polls of `cancelled` */
    size_t bytes;
};
tw_status target_context(struct target_limits *limits, tw_context **out);

/* Takes numbers from the input; 0 once it is used up. */
struct target_bytes {
    const uint8_t *at, *end;
};
uint32_t target_take(struct target_bytes *b, int bytes);

#endif

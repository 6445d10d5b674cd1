/* A .npy file: an array that is read is written, and reads back the same. */
#include "fuzz_target.h"

#include "../../tools/cli/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size)
        abort();
    fclose(f);
}

static void expect_same(const tw_array *a, const tw_array *b)
{
    size_t bytes = tw_dtype_size(a->dtype);
    if (a->dtype != b->dtype || a->rank != b->rank)
        abort();
    for (int i = 0; i < a->rank; i++) {
        if (a->shape[i] != b->shape[i])
            abort();
        bytes *= (size_t)a->shape[i];
    }
    if (bytes > 0 && memcmp(a->data, b->data, bytes) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], why[256];
    tw_array read = tw_array_init();
    tw_array again = tw_array_init();
    snprintf(path, sizeof path, "/tmp/tw-fuzz-%ld.npy", (long)getpid());
    write_file(path, data, size);
    if (!npy_read(path, &read, why)) {
        if (npy_write(path, &read, why) || npy_read(path, &again, why))
            abort();
        expect_same(&read, &again);
        free(read.data);
        free(again.data);
    }
    remove(path);
    return 0;
}

/* Entry points that are not supported: each call is a finding that names the call and the way out. */
#include "driver/driver.h"

#include <string.h>

/* Other ways to do what families of calls do, by a part of the name. */
static const struct {
    const char *part, *way;
} ways[] = {
    {"cublas", "of cuBLAS, --stub has products of real matrices (gemm) alone"},
    {"Im2colWide", "use cuTensorMapEncodeIm2col"},
    {"Tex",
     "read the array through a pointer (const T *__restrict__), and interpolate in the kernel"},
    {"Surf", "read and write the array through a pointer"},
    {"Mipmapped", "use an allocation of cudaMalloc for each level"},
    {"Array", "use cudaMalloc or cudaMallocPitch, and read through a pointer"},
    {"ChannelDesc", "use cudaMalloc or cudaMallocPitch, and read through a pointer"},
    {"3D", "copy and fill plane by plane, with cudaMemcpy2D and cudaMemset2D"},
    {"EGL", "build the program without its graphics"},
    {"GL", "build the program without its graphics"},
    {"VDPAU", "build the program without its graphics"},
    {"Graphics", "build the program without its graphics"},
    {"External", "build the program without its graphics"},
    {"P2P", "use one GPU"},
    {"Multicast", "use one GPU"},
    {"MemGetHandleForAddressRange", "use cuMemCreate and cuMemExportToShareableHandle"},
    {"MemPoolExport", "use one process"},
    {"MemPoolImport", "use one process"},
    {"GreenCtx", "use the device's whole context"},
};

static const char *way_around(const char *name)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strstr(name, ways[i].part))
            return ways[i].way;
    return NULL;
}

int driver_missing(const char *name)
{
    struct driver_entered entered = driver_enter(name);
    char message[256];
    const char *way = way_around(name);
    snprintf(message, sizeof message, "%s is not supported%s%s", name, way ? ": " : "",
             way ? way : "");
    const struct driver_fault fault = {
        .kind = "not-supported", .fails = true, .message = message, .call = name};
    if (driver_prepare() == DRIVER_SUCCESS)
        driver_report_fault(&fault);
    driver_leave(&entered);
    return DRIVER_NOT_SUPPORTED;
}

/* Their parameters do not matter. */
#define MISSING(name)                                                                              \
    DRIVER_EXPORT int name(void);                                                                  \
    int name(void)                                                                                 \
    {                                                                                              \
        return driver_missing(#name);                                                              \
    }
#include "driver/driver_missing.def"
#undef MISSING

void *driver_missing_entry(const char *asked)
{
    typedef int entry(void);
    static const struct {
        const char *name;
        entry *symbol;
    } entries[] = {
#define MISSING(name) {#name, name},
#include "driver/driver_missing.def"
#undef MISSING
    };
    void *found = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, asked) == 0)
            memcpy(&found, &entries[i].symbol, sizeof found);
    return found;
}

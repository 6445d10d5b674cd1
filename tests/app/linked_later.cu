// Links PTX by nvJitLink to machine code, which it does not load, and counts the devices.
#include <cstdio>
#include <cstring>
#include <nvJitLink.h>

static const char ptx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry none() { ret; }\n";

int main()
{
    nvJitLinkHandle link;
    const char *options[] = {"-arch=sm_90"};
    size_t bytes = 0;
    int devices = 0;
    if (nvJitLinkCreate(&link, 1, options) ||
        nvJitLinkAddData(link, NVJITLINK_INPUT_PTX, ptx, sizeof ptx, "none") ||
        nvJitLinkComplete(link) || nvJitLinkGetLinkedCubinSize(link, &bytes) ||
        nvJitLinkDestroy(&link))
        return 3;
    if (cudaGetDeviceCount(&devices))
        return 4;
    printf("%d device\n", devices);
    return bytes == 0;
}

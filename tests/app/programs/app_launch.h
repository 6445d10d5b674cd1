// Launches that may begin before the kernel before them in their stream is done.

inline cudaLaunchAttribute may_overlap()
{
    cudaLaunchAttribute a;
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
    return a;
}

// Returns the configuration of such a launch; it points to the attribute.
inline cudaLaunchConfig_t overlapping(cudaLaunchAttribute *attribute, int blocks, int threads,
                                      cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    *attribute = may_overlap();
    return config;
}

// Launches with attributes, such as the one that lets them begin before the previous kernel of their stream has ended.

inline cudaLaunchAttribute may_overlap()
{
    cudaLaunchAttribute a;
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
    return a;
}

// Returns the configuration of a launch with attributes; it points to them.
inline cudaLaunchConfig_t with_attributes(cudaLaunchAttribute *list, int count, int blocks,
                                          int threads, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = stream;
    config.attrs = list;
    config.numAttrs = count;
    return config;
}

// Returns the configuration of a launch that may overlap with the previous kernel.
inline cudaLaunchConfig_t overlapping(cudaLaunchAttribute *attribute, int blocks, int threads,
                                      cudaStream_t stream)
{
    *attribute = may_overlap();
    return with_attributes(attribute, 1, blocks, threads, stream);
}

/* cooperative_groups/memcpy_async.h for clang: copies by all threads of a group. Names and meaning are
 * those of the CUDA C++ Programming Guide, "Cooperative Groups", "memcpy_async". */
/* clang-format off */
#ifndef TILEWRIGHT_GROUPS_MEMCPY_ASYNC_H
#define TILEWRIGHT_GROUPS_MEMCPY_ASYNC_H

#include <cooperative_groups.h>
#include <cuda/barrier>

namespace cooperative_groups {
/* `size` is in bytes. */
template <class Group, class T, class Shape> TW_D void memcpy_async(const Group &g, T *to, const T *from, const Shape &size)
{
    cuda::tw_copy((unsigned)g.thread_rank(), (unsigned)g.size(), to, from, (size_t)size);
    __pipeline_commit();
}
/* Copies the elements that both layouts have. */
template <class Group, class T, class ToShape, class FromShape>
TW_D void memcpy_async(const Group &g, T *to, const ToShape &room, const T *from, const FromShape &count)
{ memcpy_async(g, to, from, min((size_t)room, (size_t)count) * sizeof(T)); }
template <class Group> TW_D void wait(const Group &g)
{
    __pipeline_wait_prior(0);
    g.sync();
}
template <unsigned Stages, class Group> TW_D void wait_prior(const Group &g)
{
    __pipeline_wait_prior(Stages);
    g.sync();
}
}
#endif

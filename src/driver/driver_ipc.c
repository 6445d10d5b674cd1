/* Memory and events of other processes (CUDA Driver API, "IPC"). An allocation with a handle moves into
 * a file without a name, which the other process opens through /proc. So values are shared; the checks
 * of each process know its own work alone. Work is done when it is enqueued, so an event that another
 * process recorded has happened. */
#include "driver/driver_task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LAZY_PEER_ACCESS = 1 }; /* CUipcMem_flags */

/* The content of a handle. */
struct content {
    char kind[8]; /* of_memory or of_event */
    int process, file;
    uint64_t bytes, inode;
};
static const char of_memory[8] = "tw-mem", of_event[8] = "tw-event";
_Static_assert(sizeof(struct content) <= sizeof(struct driver_ipc_handle), "it fits");

static void write_handle(struct driver_ipc_handle *handle, const char kind[8], struct content c)
{
    memcpy(c.kind, kind, sizeof c.kind);
    *handle = (struct driver_ipc_handle){{0}};
    memcpy(handle, &c, sizeof c);
}

/* Returns false if the handle is not of this kind. */
static bool read_handle(const struct driver_ipc_handle *handle, const char kind[8],
                        struct content *out)
{
    memcpy(out, handle, sizeof *out);
    return memcmp(out->kind, kind, sizeof out->kind) == 0;
}

int driver_file_make(uint64_t bytes)
{
    int file = memfd_create("tilewright", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return -1;
    if (bytes <= INT64_MAX && ftruncate(file, (off_t)bytes) == 0 &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return file;
    close(file);
    return -1;
}

bool driver_file_is_sealed(int file)
{
    int seals = fcntl(file, F_GET_SEALS);
    return seals >= 0 && seals & F_SEAL_SHRINK;
}

/* Maps the bytes of a file. Returns false if it cannot. */
static bool map(struct driver_shared *s, size_t bytes)
{
    s->host = mmap(NULL, bytes + DRIVER_BEYOND, PROT_READ | PROT_WRITE, MAP_SHARED, s->file, 0);
    return s->host != MAP_FAILED;
}

static struct driver_shared *new_shared(int file, size_t bytes)
{
    struct stat found;
    struct driver_shared *s = file >= 0 ? calloc(1, sizeof *s) : NULL;
    if (s) {
        s->file = file;
        if (fstat(file, &found) == 0 && (uint64_t)found.st_size == bytes + DRIVER_BEYOND &&
            driver_file_is_sealed(file) && map(s, bytes)) {
            s->inode = found.st_ino;
            return s;
        }
    }
    free(s);
    if (file >= 0)
        close(file);
    return NULL;
}

/* Moves an allocation into a file. Its bytes count as written from now on: another process may do so. */
static bool share(struct driver_memory *m)
{
    m->shared = new_shared(driver_file_make(m->bytes + DRIVER_BEYOND), m->bytes);
    if (!m->shared)
        return false;
    memcpy(m->shared->host, sim_host(driver_machine(), m->address, m->bytes), m->bytes);
    sim_move(driver_machine(), m->address, m->shared->host);
    return true;
}

int cuIpcGetMemHandle(struct driver_ipc_handle *handle, uint64_t address)
{
    IN_CONTEXT;
    struct driver_memory *m = driver_memory_at(address);
    if (!handle || !m || m->freed_by || address - m->address >= m->bytes)
        return DRIVER_INVALID_VALUE;
    if (m->type != DRIVER_DEVICE_MEMORY || m->of_graph || m->reserved || m->condition ||
        m->pool_used || (m->shared && m->shared->opened)) {
        driver_refuse("not-supported", m,
                      "%s cannot have a handle for other processes: only memory of cudaMalloc and "
                      "cuMemAlloc can",
                      m->name);
        return DRIVER_INVALID_VALUE;
    }
    if (!m->shared && !share(m))
        return DRIVER_OUT_OF_MEMORY;
    write_handle(handle, of_memory,
                 (struct content){.process = getpid(),
                                  .file = m->shared->file,
                                  .bytes = m->bytes,
                                  .inode = m->shared->inode});
    return DRIVER_SUCCESS;
}

/* Returns memory that this process has open already; NULL: none. */
static struct driver_memory *opened(const struct content *c)
{
    struct driver_memory *m = driver_memory_next(NULL);
    while (m && !(m->shared && m->shared->opened && m->shared->inode == c->inode))
        m = driver_memory_next(m);
    return m;
}

/* Opens the file. Returns -1 if it is gone; errno is EACCES if this process may not open it. */
static int open_file(const struct content *c)
{
    char path[64];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", c->process, c->file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &found) != 0 || found.st_ino != c->inode)) {
        close(file); /* of another file: that memory was freed */
        file = -1;
        errno = ENOENT;
    }
    return file;
}

/* Reports memory of another process that cannot be opened. */
static int cannot_open(const struct content *c, int why)
{
    if (why == EACCES || why == EPERM)
        driver_refuse("not-supported", NULL,
                      "the memory of the handle is of process %d, whose files this process may not "
                      "open: run both processes as the same user from their start on",
                      c->process);
    else
        driver_refuse("use-after-free", NULL,
                      "the memory of the handle is gone: process %d has freed it, or has ended",
                      c->process);
    return DRIVER_INVALID_VALUE;
}

int cuIpcOpenMemHandle_v2(uint64_t *address, struct driver_ipc_handle handle, unsigned flags)
{
    IN_CONTEXT;
    struct content c;
    if (!read_handle(&handle, of_memory, &c) || !address || flags != LAZY_PEER_ACCESS)
        return DRIVER_INVALID_VALUE;
    if (c.process == getpid())
        return DRIVER_INVALID_CONTEXT;
    struct driver_memory *m = opened(&c);
    if (!m) {
        int file = open_file(&c), why = errno;
        struct driver_shared *s = new_shared(file, (size_t)c.bytes);
        if (!s)
            return cannot_open(&c, file < 0 ? why : ENOENT);
        int result = driver_memory_make_shared(s, (size_t)c.bytes, s->host, &m);
        if (result != DRIVER_SUCCESS) {
            driver_shared_free(&(struct driver_memory){.shared = s, .bytes = (size_t)c.bytes});
            return result;
        }
    }
    m->shared->opened++;
    *address = m->address;
    return DRIVER_SUCCESS;
}

ENTRY(cuIpcOpenMemHandle, (uint64_t * address, struct driver_ipc_handle handle, unsigned flags),
      cuIpcOpenMemHandle_v2(address, handle, flags))

int cuIpcCloseMemHandle(uint64_t address)
{
    IN_CONTEXT;
    struct driver_memory *m = driver_memory_at(address);
    if (!m || m->address != address || !m->shared || !m->shared->opened) {
        driver_refuse(m && m->freed_by ? "double-free" : "invalid-free", m,
                      "0x%llx is closed, which is not memory of an open handle",
                      (unsigned long long)address);
        return DRIVER_INVALID_VALUE;
    }
    driver_order_host_all();
    return --m->shared->opened ? DRIVER_SUCCESS : driver_memory_end(m);
}

/* --- events --- */

int cuIpcGetEventHandle(struct driver_ipc_handle *handle, void *event)
{
    IN_CONTEXT;
    const struct driver_event *e = driver_object(event, DRIVER_EVENT);
    if (!handle || !e)
        return handle ? DRIVER_INVALID_HANDLE : DRIVER_INVALID_VALUE;
    if (!(e->flags & DRIVER_EVENT_INTERPROCESS))
        return DRIVER_INVALID_HANDLE;
    write_handle(handle, of_event, (struct content){.process = getpid()});
    return DRIVER_SUCCESS;
}

int cuIpcOpenEventHandle(void **event, struct driver_ipc_handle handle)
{
    IN_CONTEXT;
    struct content c;
    if (!read_handle(&handle, of_event, &c) || !event)
        return DRIVER_INVALID_VALUE;
    return c.process == getpid()
               ? DRIVER_INVALID_CONTEXT
               : cuEventCreate(event, DRIVER_EVENT_NO_TIME | DRIVER_EVENT_INTERPROCESS);
}

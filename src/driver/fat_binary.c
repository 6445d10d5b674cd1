/* A wrapper is {u32 magic, u32 version, pointer to the fat binary, pointer}. A fat binary is a
 * header of 16 bytes {u32 magic, u16 version, u16 header size, u64 size} and entries: a header of
 * its own size, then the payload. The layout was read off binaries of nvcc 12 and 13. */
#include "driver/fat_binary.h"

#include "driver/ptx_link.h"
#include "driver/unpack.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { WRAPPER_MAGIC = 0x466243b1, KIND_PTX = 1, KIND_ELF = 2 };
static const uint32_t binary_magic = 0xba55ed50;

enum { COMPRESSED_LZ4 = 0x2000, COMPRESSED_ZSTD = 0x8000 };

struct binary_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of the entries */
};

struct entry_header {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t compressed_bytes, unknown;
    uint16_t minor, major;
    uint32_t architecture;
    uint32_t more[2];
    uint64_t flags, unused, uncompressed_bytes;
};
_Static_assert(sizeof(struct entry_header) == 64, "the fields are where nvcc writes them");

static uint32_t word_at(const void *image)
{
    uint32_t word;
    memcpy(&word, image, sizeof word);
    return word;
}

enum fat_image fat_image_of(const void *image)
{
    uint32_t word = word_at(image);
    if (word == WRAPPER_MAGIC || word == binary_magic)
        return FAT_BINARY;
    return memcmp(image, "\177ELF", 4) == 0 ? FAT_MACHINE_CODE : FAT_TEXT;
}

/* --- compression --- */

/* Unpacks the text. Returns a message if it cannot. */
static const char *decompress(bool zstd, char *to, size_t room, const char *from, size_t bytes)
{
    switch ((zstd ? unpack_zstd : unpack_lz4)(to, room, from, bytes)) {
    case UNPACKED: return NULL;
    case UNPACK_DAMAGED: return "its compressed PTX is damaged";
    case UNPACK_NO_LIBRARY: break;
    }
    return zstd ? "its PTX is compressed by zstd, and libzstd.so.1 is not installed; nvcc "
                  "-no-compress leaves it plain"
                : "its PTX is compressed by LZ4, and liblz4.so.1 is not installed; nvcc "
                  "-no-compress leaves it plain";
}

static char *unpack(struct arena *a, const struct entry_header *e, const char *payload,
                    size_t *length, const char **why)
{
    enum { MOST = 1 << 30 };
    bool packed = e->flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD);
    size_t bytes = packed ? (size_t)e->uncompressed_bytes : (size_t)e->payload_bytes;
    if (bytes > MOST || (packed && e->compressed_bytes > e->payload_bytes)) {
        *why = "its PTX is damaged";
        return NULL;
    }
    char *text = arena_alloc(a, bytes + 1);
    *why = NULL;
    if (packed)
        *why = decompress(e->flags & COMPRESSED_ZSTD, text, bytes, payload, e->compressed_bytes);
    else
        memcpy(text, payload, bytes);
    text[bytes] = '\0';
    *length = strlen(text);
    return *why ? NULL : text;
}

/* --- entries --- */

static const char *binary_of(const char *image)
{
    if (word_at(image) != WRAPPER_MAGIC)
        return image;
    const char *binary;
    memcpy(&binary, image + 8, sizeof binary);
    return binary && word_at(binary) == binary_magic ? binary : NULL;
}

/* The wrapper of separate compilation (-rdc=true) lists the modules of the object files. */
static bool is_for_linking(const char *image)
{
    enum { VERSION_LINKED = 2 };
    return word_at(image) == WRAPPER_MAGIC && word_at(image + 4) == VERSION_LINKED;
}

static const char *const for_newer = "its PTX is for a newer GPU; --device chooses the GPU";

/* Returns the PTX of a fat binary. */
static char *ptx_of(struct arena *a, const char *binary, int capability, size_t *length,
                    const char **why)
{
    const char *best = NULL;
    struct binary_header header;
    struct entry_header e, chosen = {.architecture = 0};
    bool above = false;
    memcpy(&header, binary, sizeof header);
    const char *at = binary + header.header_bytes, *end = at + header.bytes;
    while ((size_t)(end - at) >= sizeof e) {
        memcpy(&e, at, sizeof e);
        if (e.header_bytes < sizeof e || e.header_bytes > (uint64_t)(end - at) ||
            e.payload_bytes > (uint64_t)(end - at) - e.header_bytes)
            break;
        bool fits = e.kind == KIND_PTX && e.architecture <= (uint32_t)capability;
        above = above || (e.kind == KIND_PTX && !fits);
        if (fits && e.architecture >= chosen.architecture) {
            chosen = e;
            best = at + e.header_bytes;
        }
        at += e.header_bytes + e.payload_bytes;
    }
    *why = above ? for_newer
                 : "it has machine code alone; nvcc adds PTX with -arch=sm_90, or with "
                   "-gencode arch=compute_90,code=compute_90, and CMake with CUDA_ARCHITECTURES "
                   "90-virtual";
    return best ? unpack(a, &chosen, best, length, why) : NULL;
}

/* Links the modules that the wrapper lists, up to NULL: those of the object files. The toolkit's own
 * library is among them; its only PTX is for the newest GPU, and kernels need nothing of it unless they
 * launch kernels. */
static char *linked_ptx(struct arena *a, const char *image, int capability, size_t *length,
                        const char **why)
{
    enum { LIST_AT = 16 };
    const char *const *list;
    VEC(const char *) texts = {.data = NULL};
    memcpy(&list, image + LIST_AT, sizeof list);
    for (; list && *list; list++) {
        const char *text = ptx_of(a, *list, capability, length, why);
        if (!text && *why != for_newer)
            return NULL;
        if (text)
            vec_push(a, &texts, text);
    }
    if (!texts.count)
        return NULL;
    char *linked = driver_ptx_link(a, texts.data, texts.count, why);
    *length = linked ? strlen(linked) : 0;
    return linked;
}

char *fat_ptx(struct arena *a, const void *image, int capability, size_t *length, const char **why)
{
    const char *binary = binary_of(image);
    if (is_for_linking(image))
        return linked_ptx(a, image, capability, length, why);
    *why = "it is not a fat binary";
    return binary ? ptx_of(a, binary, capability, length, why) : NULL;
}

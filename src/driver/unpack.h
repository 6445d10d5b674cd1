/* Compression by the system's libraries, which are loaded at the first use. */
#ifndef TW_UNPACK_H
#define TW_UNPACK_H

#include <stddef.h>

enum unpacked { UNPACKED, UNPACK_DAMAGED, UNPACK_NO_LIBRARY /* it is not installed */ };

/* Unpack bytes; `room`: their exact length. */
enum unpacked unpack_zstd(char *to, size_t room, const char *from, size_t bytes);
enum unpacked unpack_lz4(char *to, size_t room, const char *from, size_t bytes);
enum unpacked unpack_zlib(char *to, size_t room, const char *from, size_t bytes);

#endif

/* Bytes as text, RFC 4648. */
#ifndef TW_BASE64_H
#define TW_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the bytes as text: with '+', '/' and padding, or, for an address, with '-' and '_' and
 * without padding. The caller frees. */
char *base64_text(const void *data, size_t length, bool for_address);

#endif

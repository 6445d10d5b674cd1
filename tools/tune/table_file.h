/* Files of a family's measured times (docs/families.md): sections, each of one device and types. */
#ifndef TW_TABLE_FILE_H
#define TW_TABLE_FILE_H

#include <stdio.h>

/* Checks that the file is a table of the family, or missing. Returns STATUS_OK, or another status
 * after printing a message. */
int table_file_check(const char *path, const char *family);

/* Returns the number of sizes in the section of the device and types; 0 if there is none; negative
 * after printing a message: the file is not a table of the family. */
int table_file_rows(const char *path, const char *family, const char *device, const char *types);

/* Replaces the section of the device and types, or adds it at the end, as `write` writes it. The
 * other lines stay as they are; the file is replaced as a whole. Returns STATUS_OK, or another
 * status after printing a message: the file is not a table of the family, or cannot be written. */
int table_file_replace(const char *path, const char *family, const char *device, const char *types,
                       void (*write)(void *user, FILE *out), void *user);

#endif

/* Writes files for the user: once, and never over an existing file. */
#ifndef TW_FILE_NEW_H
#define TW_FILE_NEW_H

#include <stdbool.h>

enum file_written { FILE_WRITTEN, FILE_WAS_THERE, FILE_FAILED };
/* Writes the whole text, or nothing. FILE_FAILED: errno is the reason. */
enum file_written file_write_new(const char *path, const char *text);

/* Returns whether the folder does not exist, after a message that says how to make it. */
bool folder_is_missing(const char *folder);

#endif

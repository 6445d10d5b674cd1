/* Files of families in a folder of the test's own. */
#ifndef FAMILY_HELPER_H
#define FAMILY_HELPER_H

#include "api_helper.h"

#include "tilewright_family.h"

/* The folder, without a '/' at its end. Made by family_setup, removed with its files by
 * family_teardown; both begin with and end with those of api_helper.h. */
extern char family_folder[256];
int family_setup(void **state);
int family_teardown(void **state);

/* Makes and removes the folder alone, for other fixtures. */
void family_folder_make(void);
void family_folder_remove(void);

/* Writes a file of the folder; `format` as for printf. */
void put_file(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the path of a file in the folder, valid until the fourth call after this one. */
const char *file_path(const char *name);

/* Two files of a family: a product of T = f32 or f16, by the kernel's name. */
extern const char product_rows[];    /* n and k are static; BM = {16, 8, 32}, WARPS = {1, 2} */
extern const char product_columns[]; /* other names of views; BN = {32, 16} */

#endif

/* Implements show --json: a kernel's layouts, its PTX line by line, or the program after each
 * pass. */
#ifndef TW_SHOW_JSON_H
#define TW_SHOW_JSON_H

#include "cli/tool.h"

/* Print one object; its `complaints` hold the errors. */
tw_status show_json_layouts(tw_launch *l);
tw_status show_json_ptx(tw_launch *l);
/* pass NULL: after each. */
tw_status show_json_passes(tw_launch *l, const tw_kernel *k, const char *pass);

#endif

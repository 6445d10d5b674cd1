/* Where the page shows what a report speaks of: `tilewright play FILE#STATE`, and a link where
 * $TILEWRIGHT_PLAY_URL says where the page is. */
#ifndef TW_PAGE_LINK_H
#define TW_PAGE_LINK_H

#include <stdio.h>

/* Prints them behind a report on a terminal, or wherever $TILEWRIGHT_PLAY_URL is set. `state`: words of
 * docs/page.md, "line=17". Prints nothing for a file that the page cannot open. */
void page_link_print(FILE *out, const char *file, const char *state);

#endif

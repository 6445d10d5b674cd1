/* Links from a report to the page: `tilewright play FILE#STATE`, and an address if
 * $TILEWRIGHT_PLAY_URL is the page's address. */
#ifndef TW_PAGE_LINK_H
#define TW_PAGE_LINK_H

#include <stdio.h>

/* Prints the links after a report, on a terminal or if $TILEWRIGHT_PLAY_URL is set. `state`
 * consists of words of docs/page.md, such as "line=17". Prints nothing for a file that the page
 * cannot open. */
void page_link_print(FILE *out, const char *file, const char *state);

#endif

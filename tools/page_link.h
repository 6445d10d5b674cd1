/* Links from a report to the page: `tilewright play FILE#STATE`, and an address if $TILEWRIGHT_PLAY_URL has
 * that of the page. */
#ifndef TW_PAGE_LINK_H
#define TW_PAGE_LINK_H

#include <stdio.h>

/* Prints them after a report, on a terminal or if $TILEWRIGHT_PLAY_URL is set. `state`: words of
 * docs/page.md, "line=17". Prints nothing for a file that the page cannot open. */
void page_link_print(FILE *out, const char *file, const char *state);

#endif

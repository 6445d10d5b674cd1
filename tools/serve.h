/* A web server for the files of the page: loopback only, GET and HEAD, files that are in memory. */
#ifndef TW_SERVE_H
#define TW_SERVE_H

#include "page_files.h"

enum { SERVE_PORT = 8017 };

/* Listens on 127.0.0.1: on `port`, 0 for any, or -1 for SERVE_PORT or the next that is free. Returns the
 * socket and sets *port, or -1 and errno. */
int serve_listen(int *port);
/* Answers requests until the program is interrupted, each with the page's Content-Security-Policy. Before
 * index.html is sent, `refresh` may change the page. */
void serve_forever(int listener, struct page *p, void (*refresh)(void *user, struct page *p),
                   void *user);

#endif

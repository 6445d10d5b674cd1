/* Web server for the files of the page: loopback only, GET and HEAD only, from memory only. */
#ifndef TW_SERVE_H
#define TW_SERVE_H

#include "play/page_files.h"

enum { SERVE_PORT = 8017 };

/* Listens on 127.0.0.1. `port` is the port, 0 for any, or -1 for SERVE_PORT or the next free
 * one. Returns the socket and sets *port, or returns -1 and sets errno. */
int serve_listen(int *port);
/* Answers requests until the program is interrupted, each with the page's
 * Content-Security-Policy. `refresh` may change the page before each index.html. */
void serve_forever(int listener, struct page *p, void (*refresh)(void *user, struct page *p),
                   void *user);

#endif

/* Holds the page's files (web/page/dist) in memory, with the page's initial state. */
#ifndef TW_PAGE_FILES_H
#define TW_PAGE_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct page_file {
    char *path; /* from the page's folder: "index.html", "assets/index-1a2b.js" */
    char *data;
    size_t length;
};
struct page {
    struct page_file *files;
    int count;
};

/* Finds the built page in the checkout, or installed with the program. Returns NULL if it was
 * not built. The caller frees. */
char *page_folder(void);
/* Reads all files of the folder. Returns false after printing a message if a file cannot be
 * read. */
bool page_read(struct page *p, const char *folder);
void page_free(struct page *p);
struct page_file *page_find(const struct page *p, const char *path);

/* Puts `json` into index.html, from which the page reads its initial state. */
void page_give(struct page *p, const char *json);
/* Returns the page's Content-Security-Policy, from the <meta> of index.html, or "" if it has
 * none. The caller frees. */
char *page_policy(const struct page *p);
/* Returns the whole page as one HTML file, which needs no server: scripts and styles are inline,
 * the engine is in base64, and the policy allows only this script, by a nonce. Returns NULL
 * after printing a message. The caller frees. */
char *page_as_one(const struct page *p, size_t *length);

#endif

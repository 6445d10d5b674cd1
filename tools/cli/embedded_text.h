/* Files of the tree that are embedded in the program (embed_texts of cmake/embed.cmake). */
#ifndef TW_EMBEDDED_TEXT_H
#define TW_EMBEDDED_TEXT_H

#include <stddef.h>

struct embedded_text {
    const char *path; /* relative to the embedded folder; NULL ends a table */
    const char *text;
};
extern const struct embedded_text puzzle_texts[];      /* puzzles/, without wrong answers */
extern const struct embedded_text template_texts[];    /* tools/templates/ */
extern const struct embedded_text cuda_header_texts[]; /* tools/cuda/, headers for clang */

#endif

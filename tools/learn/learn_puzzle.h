/* Puzzles that are embedded in the program: their texts and programs. */
#ifndef TW_LEARN_PUZZLE_H
#define TW_LEARN_PUZZLE_H

#include <stdbool.h>

enum language { LANGUAGE_TILE, LANGUAGE_CUDA, LANGUAGES };
extern const char *const language_endings[LANGUAGES]; /* ".tile", ".cu" */

struct puzzle {
    int number;
    char *folder;                       /* "14_single_block_matmul" */
    const char *name;                   /* its end: "single_block_matmul" */
    char *title, *statement, *solution; /* of puzzle.md; `solution` explains */
    char **hints;
    int hint_count;
    const char *starter[LANGUAGES], *answer[LANGUAGES]; /* NULL: none in that language */
    const char *cases;
};

struct puzzles {
    struct puzzle *list; /* by number */
    int count;
};

void puzzles_load(struct puzzles *all);
void puzzles_free(struct puzzles *all);
/* Finds a puzzle by number, name or folder; returns NULL if there is none. */
const struct puzzle *puzzles_find(const struct puzzles *all, const char *word);
/* Returns the most similar name, or NULL if none is close. */
const char *puzzles_near(const struct puzzles *all, const char *word);

#endif

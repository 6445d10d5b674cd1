/* Command-line options, by a table for each command. */
#ifndef TW_OPTIONS_H
#define TW_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct complaints;

struct option_spec {
    const char *name;  /* without the dashes */
    char letter;       /* 0: none */
    int values;        /* how many words follow */
    const char *value; /* what they are, for help: "FILE" */
    const char *help;
    const char *elsewhere; /* not NULL: no option of this command; the message that says so */
    const char *now;       /* not NULL: an earlier word for the option of this name, or, if that is
                              `name` itself, an option that help no longer lists */
};

struct option_use {
    const struct option_spec *spec;
    const char *values[3];
};

struct options {
    const struct command *command;
    struct option_use *uses; /* in the order given */
    int use_count;
    const char **words; /* what is no option */
    int word_count;
    struct complaints *complaints; /* where what is wrong with them is kept; NULL: nowhere */
};

/* The folders of all uses of OPTION_IMPORT, with ':' between them; NULL: none was given. */
const char *import_path(void);

/* Sorts argv[0 … argc-1] by the command's table. false: a message has been printed. */
bool options_parse(struct options *o, const struct command *c, int argc, char **argv);
void options_free(struct options *o);

bool options_has(const struct options *o, const char *name);
/* The first of the names (NULL at the end) that is given, or NULL. */
const char *options_any(const struct options *o, const char *const *names);
/* The value of the last use, or NULL. */
const char *options_value(const struct options *o, const char *name);
/* The use after `previous` (NULL: the first) of that option, or NULL. */
const struct option_use *options_next(const struct options *o, const char *name,
                                      const struct option_use *previous);
/* Integer value within [low, high]; *out keeps its value when the option is absent. false: a
 * message has been printed. */
bool options_integer(const struct options *o, const char *name, int64_t low, int64_t high,
                     int64_t *out);
/* The same with a time as "5s", "500ms" or "2m", in seconds; without a unit, "5" is seconds. */
bool options_duration(const struct options *o, const char *name, double *out);
/* The whole text as an integer, decimal or 0x… */
bool parse_integer(const char *text, int64_t *out);
bool parse_real(const char *text, double *out);

/* "m=1,n=2" one at a time: copies the name (at most 63 bytes) and the value, moves *at on. false:
 * done, or *bad is set. */
struct assignment {
    char name[64];
    char value[64];
};
bool next_assignment(const char **at, struct assignment *out, bool *bad);

#endif

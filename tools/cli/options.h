/* Command-line options, parsed according to each command's table. */
#ifndef TW_OPTIONS_H
#define TW_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct command;
struct complaints;

struct option_spec {
    const char *name;  /* without the dashes; "": OPTION_GROUP */
    char letter;       /* 0: none */
    int values;        /* number of words after it */
    const char *value; /* the kind of value, for help: "FILE" */
    const char *help;
    const char *elsewhere; /* not NULL: no option of this command; message about it */
    bool of_programs;      /* for a program after -- alone: has_app_options() */
    const char *now;       /* not NULL: an older name of this option; equal to `name`: an
                              option that help no longer lists */
};

/* The rows that follow are listed by help under this heading, up to the next group. */
#define OPTION_GROUP(heading)                                                                      \
    {                                                                                              \
        .name = "", .help = heading, .elsewhere = ""                                               \
    }

struct option_use {
    const struct option_spec *spec;
    const char *values[3];
};

struct options {
    const struct command *command;
    struct option_use *uses; /* in the order given */
    int use_count;
    const char **words; /* not options */
    int word_count;
    int after_dashes;              /* number of the first word after "--"; -1: there is no "--" */
    struct complaints *complaints; /* keeps their errors; NULL: not kept */
};

/* Returns the folders of all uses of OPTION_IMPORT, separated by ':', or NULL if the option is
 * not used. */
const char *import_path(void);

/* Sorts argv[0 … argc-1] into options and words according to the command's table. Returns false
 * after printing a message. */
bool options_parse(struct options *o, const struct command *c, int argc, char **argv);
void options_free(struct options *o);

bool options_has(const struct options *o, const char *name);
/* Returns the first of `names` (ends with NULL) that the command line gives, or NULL. */
const char *options_any(const struct options *o, const char *const *names);
/* Returns the value of the option's last use, or NULL. */
const char *options_value(const struct options *o, const char *name);
/* Refuses the first of `names` (ends with NULL) that the command line gives: "--NAME is for WHAT,
 * not for FILE". Returns STATUS_OK or STATUS_USAGE. */
int options_refuse(const struct options *o, const char *const *names, const char *what,
                   const char *file);
/* Returns whether the command line gives an option for programs, though `file` is none; prints a
 * message if so. */
bool has_app_options(const struct options *o, const char *file);
/* Returns how many times the option is used. */
int options_count(const struct options *o, const char *name);
/* Returns the option's next use after `previous` (its first use if `previous` is NULL), or NULL. */
const struct option_use *options_next(const struct options *o, const char *name,
                                      const struct option_use *previous);
/* Reads an integer option that must be within [low, high]. *out keeps its value if the option is
 * absent. Returns false after printing a message. */
bool options_integer(const struct options *o, const char *name, int64_t low, int64_t high,
                     int64_t *out);
/* Reads a duration such as "5s", "500ms" or "2m" into seconds; a number without a unit is
 * seconds. *out keeps its value if the option is absent. Returns false after printing a message. */
bool options_duration(const struct options *o, const char *name, double *out);
/* Parses the whole text as an integer, decimal or 0x… */
bool parse_integer(const char *text, int64_t *out);
bool parse_real(const char *text, double *out);

/* Reads the next assignment of a list such as "m=1,n=2": copies the name (at most 63 bytes) and
 * the value, and advances *at. Returns false at the end, or after setting *bad. */
struct assignment {
    char name[64];
    char value[64];
};
bool next_assignment(const char **at, struct assignment *out, bool *bad);

#endif

/* The commands of the program in a browser, in place of tools/cli/commands.c. The other commands
 * measure this machine, start other programs or keep files; a reader who asks for one gets a
 * message. */
#include "cli/commands.h"
#include "cli/watch.h"

#include <string.h>

const struct command *const command_list[] = {
    &command_run,   &command_check, &command_explain, &command_show,
    &command_learn, &command_help,  &command_version, NULL,
};

static bool is_elsewhere(const char *name)
{
    static const char *const elsewhere[] = {"bench", "tune", "build", "play", "devices",
                                            "new",   "fmt",  "lsp",   NULL};
    for (const char *const *e = elsewhere; *e; e++)
        if (strcmp(*e, name) == 0)
            return true;
    return false;
}

const struct command *command_find(const char *name)
{
    const char *names[16] = {0};
    int count = 0;
    for (const struct command *const *c = command_list; *c; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
        names[count++] = (*c)->name;
    }
    const char *near = closest_name(name, names);
    if (is_elsewhere(name))
        complain(NULL, "a browser cannot run '%s'; the installed program can", name);
    else if (near)
        complain(NULL, "unknown command '%s'; did you mean '%s'?", name, near);
    else
        complain(NULL, "unknown command '%s'; `tilewright help` lists them", name);
    return NULL;
}

/* Replaces tools/cli/watch.c: the files of a call in a browser do not change. */
int watch(int (*run)(const struct command *c, const struct options *given), const struct command *c,
          const struct options *given)
{
    return run(c, given);
}

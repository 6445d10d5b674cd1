/* The list of the commands. */
#include "cli/commands.h"

#include <string.h>

const struct command *const command_list[] = {
    &command_run,     &command_check, &command_bench,   &command_tune,
    &command_explain, &command_show,  &command_build,   &command_new,
    &command_fmt,     &command_lsp,   &command_learn,   &command_play,
    &command_devices, &command_help,  &command_version, NULL,
};

const struct command *command_find(const char *name)
{
    const char *names[32] = {0};
    int count = 0;
    for (const struct command *const *c = command_list; *c; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
        if (count < 31)
            names[count++] = (*c)->name;
    }
    const char *near = closest_name(name, names);
    if (near)
        complain(NULL, "unknown command '%s'; did you mean '%s'?", name, near);
    else
        complain(NULL, "unknown command '%s'; `tilewright help` lists them", name);
    return NULL;
}

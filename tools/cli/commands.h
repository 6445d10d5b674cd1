/* Declares the commands, each of which has its file, and prints help about them. */
#ifndef TW_COMMANDS_H
#define TW_COMMANDS_H

#include "cli/tool.h"

extern const struct command command_run, command_show, command_check, command_bench, command_tune,
    command_explain, command_build, command_new, command_fmt, command_lsp, command_learn,
    command_play, command_devices, command_help, command_version;

extern const char *const help_variables[][2]; /* name, meaning; ends with NULL */
extern const char help_statuses[];
void help_overview(FILE *out);
void help_command(FILE *out, const struct command *c);

#endif

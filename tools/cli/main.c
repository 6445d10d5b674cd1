/* The command-line program: `tilewright COMMAND …`. Each command is a file, cmd_NAME.c. */
#include "cli/commands.h"
#include "cli/tool.h"
#include "cli/time_limit.h"
#include "cli/watch.h"

#include <string.h>

/* Returns the command for `--help` anywhere, or for `--version` or `-h` as the first word, which
 * new users try first. */
static const char *usual_name(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return "version";
    return word;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Prints, as JSON, the complaints of a command that could not start. */
static void report_complaints(const struct options *given)
{
    struct json j = {.out = stdout};
    if (!options_has(given, "json") || json_begun() || !complaints_of_nobody.count)
        return;
    json_open(&j, '{');
    complaints_json(&complaints_of_nobody, &j);
    json_close(&j, '}');
    json_end(&j);
}

/* Runs the command and flushes standard output. */
static int run_command(const struct command *c, const struct options *given)
{
    int status = c->run(c, given);
    if (status == STATUS_USAGE && time_limit_is_over())
        status = STATUS_FAILED;
    if (status != STATUS_OK)
        report_complaints(given);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        complain(NULL, "standard output could not be written");
        return status ? status : STATUS_FAILED;
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help_overview(stderr);
        return STATUS_USAGE;
    }
    const struct command *c = command_find(usual_name(argv[1]));
    if (!c)
        return STATUS_USAGE;
    if (asks_for_help(argc - 2, argv + 2)) {
        help_command(stdout, c);
        return STATUS_OK;
    }
    struct options given;
    int status = STATUS_USAGE;
    if (options_parse(&given, c, argc - 2, argv + 2))
        status =
            options_has(&given, "watch") ? watch(run_command, c, &given) : run_command(c, &given);
    complaints_free(&complaints_of_nobody);
    options_free(&given);
    return status;
}

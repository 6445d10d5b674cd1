/* The profile of a run on the CPU engine, for run --profile and explain --device cpu:
 * profile_report.c prints it, profile_json.c writes it as JSON, profile_svg.c draws it. */
#ifndef TW_PROFILED_H
#define TW_PROFILED_H

#include "cli/json.h"
#include "tilewright_profile.h"
#include "cli/tool.h"

struct profile {
    bool asked;
    const char *svg;   /* file of the flame graph; NULL: none */
    tw_profile result; /* kernel NULL: there is none */
    tw_cpu_roofs roofs;
    double plain; /* seconds of a run without a profile; 0: not known */
};

/* Reads --profile and --svg. Returns STATUS_OK, or another status after a message. */
int profile_read(struct profile *p, const struct options *given, const struct command *self);
/* Print the profile, and add it to an open object under the key "profile". */
void profile_report(const struct profile *p);
void profile_json(const struct profile *p, struct json *j);
/* Print the roofs of this machine with the least times of the launch, and add them to an open
 * object under the key "roofs". */
void profile_report_roofs(const struct profile *p);
void profile_json_roofs(const struct profile *p, struct json *j);
/* Writes the flame graph, if one is asked for. Returns a status, after a message. */
int profile_draw(const struct profile *p, struct complaints *complaints);

#define OPTIONS_PROFILE                                                                            \
    {.name = "profile",                                                                            \
     .help = "on the CPU: runs up to 24 times more, half of them with a profile, and shows the\n"  \
             "time and the work of each line and kind of step, how products read their\n"          \
             "operands, and why some are slow"},                                                   \
    {                                                                                              \
        .name = "svg", .values = 1, .value = "FILE",                                               \
        .help = "with --profile: draws the time of lines and steps as a flame graph"               \
    }

#endif

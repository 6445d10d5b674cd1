/* The option --device: the place where a kernel runs, or the GPU in question. It has one form in
 * all commands, PLACE or PLACE:TARGET:
 *
 *   cpu          the CPU engine
 *   sim          the simulator, for the least target; sim:sm_90, sim:h100: for that target
 *   cuda         this machine's GPU; cuda:1, the second; cuda:sm_90: compiled for that target
 *   sm_90        a target, the kind of GPU that PTX is made for
 *   h100         a GPU of the model's table; h100:sm_80: PTX made for that target
 *
 * Each command states the places that it accepts. */
#ifndef TW_DEVICE_ASKED_H
#define TW_DEVICE_ASKED_H

#include "cli/target.h"
#include "tilewright_model.h"

struct device_asked {
    const char *text;   /* as given; NULL: not given */
    const char *place;  /* without :TARGET; NULL: not given */
    const char *target; /* of sim:TARGET, or `place` if it is a target; NULL: none */
    char place_text[64], target_text[64];
};

/* Reads --device, and --sm, the earlier option for its target. Returns STATUS_OK, or another
 * status after printing a message. */
int device_asked_read(struct device_asked *d, const struct options *o);
/* Takes the name of a GPU as its target: "h100" is sim:h100 for a command that only simulates. */
void device_asked_gpu(struct device_asked *d);
/* Returns the target for a word that is a target or the name of a GPU (a copy in `room`), else
 * NULL. */
const char *target_called(const char *word, char room[16]);
/* Returns the GPU that --device names, h100 or sim:h100, by its name in the model's table; NULL: it
 * names none. */
const char *device_asked_model(const struct device_asked *d);
/* Prints "--device T: TEXT" and a suggestion for the word. Returns STATUS_USAGE. */
int device_refuse(const struct device_asked *d, const struct options *o, const char *text);
/* Returns whether --device names this place. */
bool device_is(const struct device_asked *d, const char *place);

#endif

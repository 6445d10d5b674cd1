#include "cli/device_asked.h"

#include <stdlib.h>
#include <string.h>

static bool is_target(const char *word)
{
    return strncmp(word, "sm_", 3) == 0;
}

const char *target_called(const char *word, char room[16])
{
    tw_gpu g = tw_gpu_init();
    const char *target = is_target(word) ? word : tw_gpu_find(word, &g) ? g.target : NULL;
    if (target)
        snprintf(room, 16, "%s", target);
    return target ? room : NULL;
}

/* Returns the start of TARGET in PLACE:TARGET, or NULL if the text has none, as in "cuda:1". */
static const char *target_in(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (strncmp(text, "sim:", 4) == 0)
        return text + 4;
    return colon && is_target(colon + 1) ? colon + 1 : NULL;
}

static void split(struct device_asked *d)
{
    const char *target = target_in(d->text);
    char found[16];
    snprintf(d->place_text, sizeof d->place_text, "%.*s",
             target ? (int)(target - d->text - 1) : (int)strlen(d->text), d->text);
    d->place = d->place_text;
    if (!target)
        target = is_target(d->text) ? d->text : NULL;
    if (!target)
        return;
    const char *called = target_called(target, found);
    snprintf(d->target_text, sizeof d->target_text, "%s", called ? called : target);
    d->target = d->target_text;
}

int device_asked_read(struct device_asked *d, const struct options *o)
{
    const char *sm = options_value(o, "sm");
    *d = (struct device_asked){.text = options_value(o, "device")};
    if (d->text)
        split(d);
    if (sm && d->target && strcmp(sm, d->target) != 0)
        return usage_error(o->complaints, o->command, "--device %s, --sm %s: one target at a time",
                           d->text, sm);
    if (sm) {
        snprintf(d->target_text, sizeof d->target_text, "%s", sm);
        d->target = d->target_text;
    }
    return STATUS_OK;
}

void device_asked_gpu(struct device_asked *d)
{
    char found[16];
    const char *called = d->place && !d->target ? target_called(d->place, found) : NULL;
    if (!called)
        return;
    snprintf(d->target_text, sizeof d->target_text, "%s", called);
    d->target = d->target_text;
}

const char *device_asked_model(const struct device_asked *d)
{
    tw_gpu g = tw_gpu_init();
    const char *word = d->text && strncmp(d->text, "sim:", 4) == 0 ? d->text + 4 : d->place;
    return word && tw_gpu_find(word, &g) ? g.name : NULL;
}

bool device_is(const struct device_asked *d, const char *place)
{
    return d->place && strcmp(d->place, place) == 0;
}

int device_refuse(const struct device_asked *d, const struct options *o, const char *text)
{
    const char *place = d->place ? d->place : "sim", *target = d->target ? d->target : place;
    bool both = strcmp(place, target) != 0;
    char *hint = capability_hint(target);
    usage_error(o->complaints, o->command, "--device %s%s%s: %s%s", place, both ? ":" : "",
                both ? target : "", text, hint);
    free(hint);
    return STATUS_USAGE;
}

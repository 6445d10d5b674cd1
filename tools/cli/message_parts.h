/* Copy of a message's fix and accesses, which outlives the call that produced them. */
#ifndef TW_MESSAGE_PARTS_H
#define TW_MESSAGE_PARTS_H

#include "cli/json.h"
#include "tilewright.h"

struct message_parts {
    tw_code code;
    int length;
    const tw_edit **edits; /* copies, as are the accesses */
    int edit_count;
    const tw_access **accesses;
    int access_count;
};

struct message_parts message_parts_copy(const tw_message *m);
/* Returns a message with these parts only; its lists belong to `p`. */
tw_message message_of_parts(const struct message_parts *p);
void message_parts_free(struct message_parts *p);
/* Adds the keys "length", "code" and "fix" to an open object; without a fix, the list is empty. */
void message_parts_json(const struct message_parts *p, struct json *j);
/* Writes a list of objects: place, what, variable, element, thread, block. */
void accesses_json(const tw_access *const *list, int count, struct json *j);

#endif

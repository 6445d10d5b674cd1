/* Reads image.def. A file defines the macros that it needs and includes this one; all are undefined
 * afterwards. No guard: it is included several times. */
#ifndef STRUCT
#define STRUCT(type, bytes)
#endif
#ifndef OPEN
#define OPEN(type, member) STRUCT(type, sizeof *x + (size_t)x->count * sizeof *x->member)
#endif
#ifndef ONE
#define ONE(type, member, target)
#endif
#ifndef MANY
#define MANY(type, member, target, n)
#endif
#ifndef LIST
#define LIST(type, member, target, n)
#endif
#ifndef BYTES
#define BYTES(type, member, n)
#endif
#ifndef TEXT
#define TEXT(type, member)
#endif
#ifndef CALLS
#define CALLS(type, member)
#endif
#ifndef STEP_OF
#define STEP_OF(type, member)
#endif
#ifndef INSIDE
#define INSIDE(type, member, target, n)
#endif
#ifndef DROPPED
#define DROPPED(type, member)
#endif
#ifndef ARRAY_ONE
#define ARRAY_ONE(type, member, target, n)
#endif
#include "cpu/image.def"
#undef STRUCT
#undef OPEN
#undef ONE
#undef MANY
#undef LIST
#undef BYTES
#undef TEXT
#undef CALLS
#undef STEP_OF
#undef INSIDE
#undef DROPPED
#undef ARRAY_ONE

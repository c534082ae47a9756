/* A careful reader of JSON that builds nothing: it finds values and hands out their own bytes.
 *
 * Promise: any bytes may be given. What json_whole accepted is well-formed to its end, so that the
 * other functions can walk it; they take only spans that came from here.
 * Limit: of two members of the same name the last counts, as in Go; whether strings are UTF-8 is not
 * looked at, since what is passed on is passed on as it came.
 */
#ifndef NETCLAIM_JSON_H
#define NETCLAIM_JSON_H

#include "bytes.h"

enum { JSON_DEPTH_MAX = 10000 }; /* as in Go, which the runtimes are written in */

/* The one value of a text, without the space around it; false if that is malformed. */
bool json_whole(struct span text, struct span *value);

bool json_is_object(struct span value);
bool json_is_array(struct span value);

/* The value of an object's member; at == NULL if there is none, or if this is no object. */
struct span json_member(struct span object, const char *name);

/* Whether an object has this member more than once. */
bool json_repeats(struct span object, const char *name);

/* Walks an object or array: starts with json_each, then gives one value after another. For a
 * scalar there are none. `key` is the member's name with its quotes; in an array at == NULL. */
struct json_walk {
    const char *at, *end;
    bool in_object;
};
struct json_walk json_each(struct span container);
bool json_next(struct json_walk *walk, struct span *key, struct span *value);

/* What a JSON string says; NULL if the value is no string or its text contains a NUL. */
char *json_text(struct span value);
/* Whether a JSON string says exactly this. */
bool json_says(struct span value, const char *text);

#endif

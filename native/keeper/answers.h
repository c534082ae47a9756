/* Answers that the driver has prepared for callers who come while it is away.
 *
 * A call is known by its path as it is in a header block: a string of HPACK (RFC 7541, section 5.2),
 * which is always the same bytes, since it is compressed by itself. A caller that writes the path in
 * another way waits for the driver, as every other call does.
 */
#ifndef NETCLAIM_ANSWERS_H
#define NETCLAIM_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "queue.h"

enum { ANSWERS_MAX = 4 }; /* the registration has two calls */

struct answer {
    struct queue path, body;
};

struct answers {
    struct answer each[ANSWERS_MAX];
    size_t count;
};

/* Take an answer: a byte with the length of its path, the path, and the body with its gRPC prefix.
 * It replaces an earlier one for the same path; false if it is malformed or one too many. */
bool answers_take(struct answers *answers, const void *bytes, size_t len);
const struct queue *answers_find(const struct answers *answers, const struct queue *headers);
void answers_clear(struct answers *answers);

/* Put a successful answer of gRPC, as whole frames. */
void answers_put(struct queue *out, uint32_t stream, const struct queue *body);

#endif

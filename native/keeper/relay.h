/* One connection of kubelet, relayed to whichever life of the driver there is.
 *
 * Bytes in, bytes out: the owner feeds what came from either side, and sends what is in the queue
 * for it. Frames are relayed without a look at the calls in them. Both sides are told to compress
 * headers without a table (SETTINGS_HEADER_TABLE_SIZE), so a header block means the same on every
 * connection and can be sent again as it is. Settings, pings and windows end here.
 *
 * Promise: a call whose answer has not begun to pass is made again to the next life of the driver,
 * under the same number; an answer is held until it is whole, for HOLD_MS at most. While there is no
 * driver, a call that it has prepared an answer for gets that (see answers.h). A call whose
 * answer was cut, or under which the driver has died DEATHS_MAX times, is reset. What a peer may
 * make this remember is bounded by the windows that it is given.
 * Limit: a call may be repeated, which its handler must bear.
 */
#ifndef NETCLAIM_RELAY_H
#define NETCLAIM_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "answers.h"
#include "queue.h"

struct relay;

struct relay *relay_new(const struct answers *prepared); /* which outlives it, and may change */
void relay_free(struct relay *relay);

/* What kubelet or the driver sent; false if it broke the protocol, and its connection must end. */
bool relay_from_client(struct relay *relay, const void *bytes, size_t len, int64_t now_ms);
bool relay_from_driver(struct relay *relay, const void *bytes, size_t len, int64_t now_ms);

/* A connection to a driver was made, or lost. */
void relay_joined(struct relay *relay, int64_t now_ms);
void relay_lost(struct relay *relay, int64_t now_ms);

/* Let time pass; returns when to call this next, INT64_MAX if nothing waits for a time. */
int64_t relay_tick(struct relay *relay, int64_t now_ms);

size_t relay_held(const struct relay *relay); /* bytes that it remembers */

/* What is to be sent: the owner drops from the head what it has sent, and calls relay_tick. */
struct queue *relay_to_client(struct relay *relay);
struct queue *relay_to_driver(struct relay *relay);

#endif

/* Bytes that are put in at one end and taken out at the other.
 *
 * Promise: memory that cannot be had ends the program with a message. Limit: how much a queue may
 * hold is for its owner to say.
 */
#ifndef NETCLAIM_QUEUE_H
#define NETCLAIM_QUEUE_H

#include <stddef.h>

struct queue {
    unsigned char *memory;
    size_t head, len, room; /* the bytes are memory[head] to memory[head + len - 1] */
};

void *take_memory(size_t size); /* zeroed */
void queue_put(struct queue *queue, const void *bytes, size_t len);
unsigned char *queue_head(const struct queue *queue);
void queue_drop(struct queue *queue, size_t len); /* from the head */
void queue_free(struct queue *queue);             /* it is empty afterwards, and may be used again */

#endif

/* Pieces of text: spans that point into somebody else's bytes, and buffers that grow.
 *
 * Promise: memory that cannot be had ends the program with a message; no function here returns half
 * of what it was asked for. Limit: nothing is freed. The program lives for one call.
 */
#ifndef NETCLAIM_BYTES_H
#define NETCLAIM_BYTES_H

#include <stdbool.h>
#include <stddef.h>

struct span {
    const char *at; /* NULL: there is no such text, which is not the same as an empty one */
    size_t len;
};

struct buffer {
    char *at;
    size_t len, room;
};

struct span span_of(const char *text);
bool span_is(struct span span, const char *text);

void *take_memory(size_t size);
char *copy_text(struct span span); /* with a NUL at its end */

void put(struct buffer *buffer, const char *at, size_t len);
void put_text(struct buffer *buffer, const char *text);
void put_number(struct buffer *buffer, unsigned long number);
/* The text as a JSON string with its quotes; bytes that are not UTF-8 become question marks. */
void put_json(struct buffer *buffer, struct span text);
char *buffer_text(struct buffer *buffer); /* NUL-terminated; good until the next put */

#endif

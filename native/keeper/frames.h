/* HTTP/2 frames (RFC 9113, section 4): taken from a queue of bytes, and put into one.
 *
 * Promise: a frame that is returned is whole, and no longer than FRAME_MAX. Limit: what a frame
 * means is for its reader.
 */
#ifndef NETCLAIM_FRAMES_H
#define NETCLAIM_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "queue.h"

enum { FRAME_HEAD = 9, FRAME_MAX = 16384 }; /* the size that every peer accepts */

enum frame_type {
    DATA = 0,
    HEADERS = 1,
    PRIORITY = 2,
    RST_STREAM = 3,
    SETTINGS = 4,
    PUSH_PROMISE = 5,
    PING = 6,
    GOAWAY = 7,
    WINDOW_UPDATE = 8,
    CONTINUATION = 9
};

enum frame_flag { END_STREAM = 0x1, ACK = 0x1, END_HEADERS = 0x4, PADDED = 0x8, PRIORITIZED = 0x20 };

enum frame_error {
    NO_ERROR = 0,
    INTERNAL_ERROR = 2,
    REFUSED_STREAM = 7,
    CANCEL = 8
};

struct frame {
    uint32_t len, stream;
    uint8_t type, flags;
    const unsigned char *payload;
};

enum taken { FRAME_PARTIAL, FRAME_WHOLE, FRAME_TOO_LONG };

/* The frame at the head of a queue, which stays there: drop FRAME_HEAD + len bytes afterwards. */
enum taken peek_frame(const struct queue *queue, struct frame *frame);
uint32_t read_uint(const unsigned char *at, size_t bytes);

/* Remove padding and priority from the payload of DATA or HEADERS; false if it is malformed. */
bool strip_frame(struct frame *frame);

void write_head(unsigned char *at, enum frame_type type, uint8_t flags, uint32_t stream, size_t len);
void put_frame(struct queue *queue, enum frame_type type, uint8_t flags, uint32_t stream,
               const void *payload, size_t len);
void put_headers(struct queue *queue, uint32_t stream, const struct queue *block, bool end);
void put_setting(unsigned char *at, uint16_t id, uint32_t value); /* six bytes */
void put_reset(struct queue *queue, uint32_t stream, enum frame_error error);
void put_window(struct queue *queue, uint32_t stream, size_t more); /* nothing if `more` is 0 */

#endif

#include "frames.h"

static void write_uint(unsigned char *at, size_t bytes, uint32_t value)
{
    for (size_t i = bytes; i--; value >>= 8)
        at[i] = value & 0xff;
}

uint32_t read_uint(const unsigned char *at, size_t bytes)
{
    uint32_t value = 0;

    for (size_t i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

enum taken peek_frame(const struct queue *queue, struct frame *frame)
{
    const unsigned char *at = queue_head(queue);

    if (queue->len < FRAME_HEAD)
        return FRAME_PARTIAL;
    *frame = (struct frame){
        .len = read_uint(at, 3),
        .type = at[3],
        .flags = at[4],
        .stream = read_uint(at + 5, 4) & INT32_MAX, /* the first bit is reserved */
        .payload = at + FRAME_HEAD,
    };
    if (frame->len > FRAME_MAX)
        return FRAME_TOO_LONG;
    return queue->len < FRAME_HEAD + frame->len ? FRAME_PARTIAL : FRAME_WHOLE;
}

bool strip_frame(struct frame *frame)
{
    uint32_t padding = 0;

    if (frame->flags & PADDED) {
        if (!frame->len)
            return false;
        padding = *frame->payload++;
        frame->len--;
    }
    if (frame->type == HEADERS && frame->flags & PRIORITIZED) {
        if (frame->len < 5) /* a stream and a weight */
            return false;
        frame->payload += 5;
        frame->len -= 5;
    }
    if (padding > frame->len)
        return false;
    frame->len -= padding;
    return true;
}

void write_head(unsigned char *at, enum frame_type type, uint8_t flags, uint32_t stream, size_t len)
{
    write_uint(at, 3, (uint32_t)len);
    at[3] = type;
    at[4] = flags;
    write_uint(at + 5, 4, stream);
}

void put_frame(struct queue *queue, enum frame_type type, uint8_t flags, uint32_t stream,
               const void *payload, size_t len)
{
    unsigned char head[FRAME_HEAD];

    write_head(head, type, flags, stream, len);
    queue_put(queue, head, sizeof head);
    queue_put(queue, payload, len);
}

void put_headers(struct queue *queue, uint32_t stream, const struct queue *block, bool end)
{
    enum frame_type type = HEADERS;
    size_t at = 0;

    do {
        size_t len = block->len - at < FRAME_MAX ? block->len - at : FRAME_MAX;
        uint8_t flags = type == HEADERS && end ? END_STREAM : 0;

        if (at + len == block->len)
            flags |= END_HEADERS;
        put_frame(queue, type, flags, stream, len ? queue_head(block) + at : NULL, len);
        at += len;
        type = CONTINUATION;
    } while (at < block->len);
}

void put_setting(unsigned char *at, uint16_t id, uint32_t value)
{
    write_uint(at, 2, id);
    write_uint(at + 2, 4, value);
}

void put_reset(struct queue *queue, uint32_t stream, enum frame_error error)
{
    unsigned char payload[4];

    write_uint(payload, sizeof payload, error);
    put_frame(queue, RST_STREAM, 0, stream, payload, sizeof payload);
}

void put_window(struct queue *queue, uint32_t stream, size_t more)
{
    unsigned char payload[4];

    if (!more)
        return;
    write_uint(payload, sizeof payload, (uint32_t)more);
    put_frame(queue, WINDOW_UPDATE, 0, stream, payload, sizeof payload);
}

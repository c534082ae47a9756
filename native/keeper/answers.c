#include "answers.h"

#include <string.h>

#include "frames.h"

/* `:status: 200` and `content-type: application/grpc`, then `grpc-status: 0`: names of the static
 * table or spelled out, and nothing that the caller would have to remember (RFC 7541, section 6). */
static const char HEAD[] = "\x88\x0f\x10\x10" "application/grpc";
static const char TAIL[] = "\x00\x0b" "grpc-status" "\x01" "0";

static bool is_path(const struct queue *path, const void *bytes, size_t len)
{
    return path->len == len && memcmp(queue_head(path), bytes, len) == 0;
}

bool answers_take(struct answers *answers, const void *bytes, size_t len)
{
    const unsigned char *path = (const unsigned char *)bytes + 1;
    size_t path_len = len ? *(const unsigned char *)bytes : 0, at = 0;

    if (!path_len || len <= 1 + path_len || len > FRAME_MAX)
        return false;
    while (at < answers->count && !is_path(&answers->each[at].path, path, path_len))
        at++;
    if (at == ANSWERS_MAX)
        return false;
    struct answer *answer = &answers->each[at];

    if (at == answers->count) {
        queue_put(&answer->path, path, path_len);
        answers->count++;
    }
    queue_free(&answer->body);
    queue_put(&answer->body, path + path_len, len - 1 - path_len);
    return true;
}

const struct queue *answers_find(const struct answers *answers, const struct queue *headers)
{
    for (size_t i = 0; i < answers->count; i++) {
        const struct answer *each = &answers->each[i];

        if (headers->len && memmem(queue_head(headers), headers->len, queue_head(&each->path),
                                   each->path.len))
            return &each->body;
    }
    return NULL;
}

void answers_clear(struct answers *answers)
{
    while (answers->count) {
        struct answer *last = &answers->each[--answers->count];

        queue_free(&last->path);
        queue_free(&last->body);
    }
}

void answers_put(struct queue *out, uint32_t stream, const struct queue *body)
{
    put_frame(out, HEADERS, END_HEADERS, stream, HEAD, sizeof HEAD - 1);
    put_frame(out, DATA, 0, stream, queue_head(body), body->len);
    put_frame(out, HEADERS, END_HEADERS | END_STREAM, stream, TAIL, sizeof TAIL - 1);
}

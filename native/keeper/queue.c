#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *take_memory(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory) {
        fputs("netclaim-keeper: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void queue_put(struct queue *queue, const void *bytes, size_t len)
{
    if (!len)
        return;
    if (queue->room - queue->head - queue->len < len) {
        size_t room = queue->room;

        while (room - queue->len < len)
            room = room ? room * 2 : 256;
        if (room == queue->room) {
            memmove(queue->memory, queue_head(queue), queue->len);
        } else {
            unsigned char *grown = take_memory(room);

            if (queue->len)
                memcpy(grown, queue_head(queue), queue->len);
            free(queue->memory);
            queue->memory = grown;
            queue->room = room;
        }
        queue->head = 0;
    }
    memcpy(queue_head(queue) + queue->len, bytes, len);
    queue->len += len;
}

unsigned char *queue_head(const struct queue *queue)
{
    return queue->memory ? queue->memory + queue->head : NULL;
}

void queue_drop(struct queue *queue, size_t len)
{
    queue->head += len;
    queue->len -= len;
    if (!queue->len)
        queue_free(queue); /* an idle connection holds no memory */
}

void queue_free(struct queue *queue)
{
    free(queue->memory);
    *queue = (struct queue){0};
}

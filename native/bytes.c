#include "bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct span span_of(const char *text)
{
    return (struct span){text, text ? strlen(text) : 0};
}

bool span_is(struct span span, const char *text)
{
    size_t len = strlen(text);

    return span.at && span.len == len && memcmp(span.at, text, len) == 0;
}

void *take_memory(size_t size)
{
    void *memory = malloc(size ? size : 1);

    if (!memory) {
        fputs("netclaim-attach: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

char *copy_text(struct span span)
{
    char *text = take_memory(span.len + 1);

    if (span.len)
        memcpy(text, span.at, span.len);
    text[span.len] = '\0';
    return text;
}

void put(struct buffer *buffer, const char *at, size_t len)
{
    if (buffer->room - buffer->len < len + 1) { /* one more for buffer_text's NUL */
        size_t room = (buffer->len + len + 1) * 2;
        char *grown = take_memory(room);

        if (buffer->len)
            memcpy(grown, buffer->at, buffer->len);
        free(buffer->at);
        buffer->at = grown;
        buffer->room = room;
    }
    if (len)
        memcpy(buffer->at + buffer->len, at, len);
    buffer->len += len;
}

void put_text(struct buffer *buffer, const char *text)
{
    put(buffer, text, strlen(text));
}

void put_number(struct buffer *buffer, unsigned long number)
{
    char digits[24]; /* 64 bits have at most 20 */

    put(buffer, digits, (size_t)snprintf(digits, sizeof digits, "%lu", number));
}

char *buffer_text(struct buffer *buffer)
{
    put(buffer, "", 0);
    buffer->at[buffer->len] = '\0';
    return buffer->at;
}

/* How many bytes the UTF-8 character at `at` has; 0 if there is none. */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    size_t len = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3
                 : at[0] < 0xf5 ? 4 : 0;

    if (len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0; /* too long a form, half of a surrogate pair, beyond the last character */
    return len;
}

void put_json(struct buffer *buffer, struct span text)
{
    put(buffer, "\"", 1);
    for (size_t i = 0; i < text.len;) {
        unsigned char byte = (unsigned char)text.at[i];
        size_t len = utf8_length((const unsigned char *)text.at + i, text.len - i);

        if (byte == '"' || byte == '\\') {
            put(buffer, "\\", 1);
            put(buffer, text.at + i, 1);
        } else if (byte < 0x20 || byte == 0x7f) {
            char escape[8];

            put(buffer, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", byte));
        } else if (len) {
            put(buffer, text.at + i, len);
        } else {
            put(buffer, "?", 1);
        }
        i += len ? len : 1;
    }
    put(buffer, "\"", 1);
}

/* Plays many connections, in one process, for the sanitizers.
 *
 * On standard input, again and again: a line with a number of bytes, then as many. The first are an
 * answer that the driver has prepared, all others scripts. A script is made of steps: a letter, two
 * bytes of a length, and as many bytes.
 *     c  from kubelet         d  from the driver       r  both sides read what there is for them
 *     j  a driver joins       l  the driver is lost    t  half a second passes
 * For each script a line on standard output: "ok", or which side broke the protocol, and the bytes
 * that the relay held at most.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../answers.h"
#include "../relay.h"

static void read_out(struct queue *out)
{
    if (out->len)
        queue_drop(out, out->len);
}

static const char *play(const struct answers *prepared, const unsigned char *script, size_t len,
                        size_t *most)
{
    struct relay *relay = relay_new(prepared);
    const char *outcome = "ok";
    int64_t now = 1;

    for (size_t at = 0; at + 3 <= len;) {
        size_t size = (size_t)script[at + 1] << 8 | script[at + 2];
        char letter = (char)script[at];

        at += 3;
        if (size > len - at)
            size = len - at;
        unsigned char *bytes = malloc(size ? size : 1); /* exactly as long as it says */

        for (size_t i = 0; i < size; i++)
            bytes[i] = script[at + i];
        at += size;
        if (letter == 'c' && !relay_from_client(relay, bytes, size, now))
            outcome = "client";
        else if (letter == 'd' && !relay_from_driver(relay, bytes, size, now))
            outcome = "driver";
        free(bytes);
        if (*outcome == 'c')
            break;
        if (letter == 'j' && *outcome != 'd')
            relay_joined(relay, now);
        if (letter == 'l' || *outcome == 'd')
            relay_lost(relay, now);
        if (letter == 'r') {
            read_out(relay_to_client(relay));
            read_out(relay_to_driver(relay));
        }
        now += letter == 't' ? 500 : 1;
        relay_tick(relay, now);
        if (relay_held(relay) > *most)
            *most = relay_held(relay);
        if (*outcome == 'd')
            break;
    }
    relay_free(relay);
    return outcome;
}

int main(void)
{
    struct answers prepared = {0};
    size_t len;

    while (scanf("%zu", &len) == 1 && getchar() == '\n') {
        unsigned char *script = malloc(len ? len : 1);
        size_t most = 0;

        if (!script || fread(script, 1, len, stdin) != len)
            return 2;
        if (!prepared.count) {
            if (!answers_take(&prepared, script, len))
                return 2;
            free(script);
            continue;
        }
        const char *outcome = play(&prepared, script, len, &most);

        printf("%s %zu\n", outcome, most);
        free(script);
    }
    answers_clear(&prepared);
    return 0;
}

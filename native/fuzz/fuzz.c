/* Feeds many texts to the parts that read what others wrote, in one process, for the sanitizers.
 *
 * On standard input, again and again: a line with a number of bytes, then the text. For each text a
 * line on standard output: "-" if it is malformed, else where the value of prevResult begins and how
 * long it is ("0 0" if there is none), for the test to compare with another reader.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../files.h"
#include "../json.h"

/* Looks at every value once: a chain of walks, since the depth is the text's. */
static void visit(struct span value)
{
    struct json_walk *open = calloc(JSON_DEPTH_MAX + 1, sizeof *open);
    size_t depth = 0;
    struct span key, inner;

    free(json_text(value));
    open[depth++] = json_each(value);
    while (depth) {
        if (!json_next(&open[depth - 1], &key, &inner)) {
            depth--;
            continue;
        }
        free(json_text(key));
        free(json_text(inner));
        if (json_is_object(inner) || json_is_array(inner))
            open[depth++] = json_each(inner);
    }
    free(open);
}

int main(void)
{
    size_t len;
    static const struct span uid = {"139cdb46-f989-4f17-9561-ca10cfb509a6", 36};

    while (scanf("%zu", &len) == 1 && getchar() == '\n') {
        char *bytes = malloc(len ? len : 1); /* exactly as long, so that a byte too far is seen */
        struct span text = {bytes, len}, value, member;
        struct buffer quoted = {0};

        if (!bytes || fread(bytes, 1, len, stdin) != len)
            return 2;
        put_json(&quoted, text);
        struct span checked;

        if (!json_whole((struct span){quoted.at, quoted.len}, &checked))
            return 3; /* what is put out as a string is always one */
        claim_in_use_in(text, (struct span){"", 0}, uid);
        name_is_safe(text);
        if (json_whole(text, &value)) {
            visit(value);
            member = json_member(value, "prevResult");
            printf("%zu %zu\n", member.at ? (size_t)(member.at - bytes) : 0, member.len);
        } else {
            puts("-");
        }
        free(quoted.at);
        free(bytes);
    }
    return 0;
}

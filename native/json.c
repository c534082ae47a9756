#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Each of these returns where what it read ends, or NULL where the text is malformed. */

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static int hex_digit(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static const char *skip_string(const char *at, const char *end)
{
    if (at == end || *at != '"')
        return NULL;
    for (at++; at < end; at++) {
        if (*at == '"')
            return at + 1;
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        if (++at == end)
            return NULL;
        if (*at == 'u') {
            if (end - at < 5)
                return NULL;
            for (int i = 1; i <= 4; i++)
                if (hex_digit(at[i]) < 0)
                    return NULL;
            at += 4;
        } else if (*at == '\0' || !strchr("\"\\/bfnrt", *at)) {
            return NULL;
        }
    }
    return NULL;
}

static const char *skip_digits(const char *at, const char *end)
{
    const char *from = at;

    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at > from ? at : NULL;
}

static const char *skip_number(const char *at, const char *end)
{
    if (at < end && *at == '-')
        at++;
    if (at < end && *at == '0')
        at++;
    else if (!(at = skip_digits(at, end)))
        return NULL;
    if (at < end && *at == '.' && !(at = skip_digits(at + 1, end)))
        return NULL;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        at = skip_digits(at, end);
    }
    return at;
}

static const char *skip_scalar(const char *at, const char *end)
{
    static const char *const words[] = {"true", "false", "null"};

    if (*at == '"')
        return skip_string(at, end);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);

        if ((size_t)(end - at) >= len && memcmp(at, words[i], len) == 0)
            return at + len;
    }
    return skip_number(at, end);
}

/* A member's name and its colon. */
static const char *skip_name(const char *at, const char *end)
{
    at = skip_string(skip_space(at, end), end);
    if (!at)
        return NULL;
    at = skip_space(at, end);
    return at < end && *at == ':' ? at + 1 : NULL;
}

/* What is open, one bit for each level: an object or an array. Kept here and not on the stack of
 * calls, so that no text can use that up. */
struct levels {
    size_t depth;
    uint8_t objects[JSON_DEPTH_MAX / 8];
};

static bool open_level(struct levels *levels, bool object)
{
    if (levels->depth == JSON_DEPTH_MAX)
        return false;
    uint8_t bit = (uint8_t)(1U << (levels->depth % 8));
    uint8_t *byte = &levels->objects[levels->depth++ / 8];

    *byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
    return true;
}

static bool in_object(const struct levels *levels)
{
    size_t top = levels->depth - 1;

    return levels->objects[top / 8] >> (top % 8) & 1;
}

/* Behind a value: closes what ends here. Stops behind the outermost value, or where the next value
 * of the innermost one begins. */
static const char *close_levels(struct levels *levels, const char *at, const char *end)
{
    while (levels->depth) {
        bool object = in_object(levels);

        at = skip_space(at, end);
        if (at == end)
            return NULL;
        if (*at == ',')
            return object ? skip_name(at + 1, end) : at + 1;
        if (*at != (object ? '}' : ']'))
            return NULL;
        at++;
        levels->depth--;
    }
    return at;
}

static const char *skip_value(const char *at, const char *end)
{
    struct levels levels = {0};

    do {
        at = skip_space(at, end);
        if (at == end)
            return NULL;
        if (*at == '{' || *at == '[') {
            bool object = *at == '{';

            if (!open_level(&levels, object))
                return NULL;
            at = skip_space(at + 1, end);
            if (at == end)
                return NULL;
            if (*at == (object ? '}' : ']'))
                at = close_levels(&levels, at, end);
            else if (object)
                at = skip_name(at, end);
        } else {
            at = skip_scalar(at, end);
            if (at)
                at = close_levels(&levels, at, end);
        }
    } while (at && levels.depth);
    return at;
}

bool json_whole(struct span text, struct span *value)
{
    const char *end = text.at + text.len;
    const char *from = skip_space(text.at, end);
    const char *to = skip_value(from, end);

    if (!to || skip_space(to, end) != end)
        return false;
    *value = (struct span){from, (size_t)(to - from)};
    return true;
}

bool json_is_object(struct span value)
{
    return value.at && value.len && *value.at == '{';
}

bool json_is_array(struct span value)
{
    return value.at && value.len && *value.at == '[';
}

struct json_walk json_each(struct span container)
{
    if (!json_is_object(container) && !json_is_array(container))
        return (struct json_walk){0};
    return (struct json_walk){container.at + 1, container.at + container.len - 1,
                              json_is_object(container)};
}

bool json_next(struct json_walk *walk, struct span *key, struct span *value)
{
    const char *at = skip_space(walk->at, walk->end);

    *key = (struct span){0};
    if (at < walk->end && *at == ',')
        at = skip_space(at + 1, walk->end);
    if (at == walk->end)
        return false;
    if (walk->in_object) {
        const char *name_end = skip_string(at, walk->end);

        if (!name_end)
            return false;
        *key = (struct span){at, (size_t)(name_end - at)};
        at = skip_name(at, walk->end);
        if (!at)
            return false;
        at = skip_space(at, walk->end);
    }
    const char *to = skip_value(at, walk->end);

    if (!to)
        return false;
    *value = (struct span){at, (size_t)(to - at)};
    walk->at = to;
    return true;
}

bool json_repeats(struct span object, const char *name)
{
    struct span key, value;
    int count = 0;

    if (json_is_object(object))
        for (struct json_walk walk = json_each(object); json_next(&walk, &key, &value);)
            count += json_says(key, name);
    return count > 1;
}

struct span json_member(struct span object, const char *name)
{
    struct span found = {0}, key, value;

    if (!json_is_object(object))
        return found;
    for (struct json_walk walk = json_each(object); json_next(&walk, &key, &value);)
        if (json_says(key, name))
            found = value;
    return found;
}

/* Four hex digits, which are there. */
static unsigned read_unit(const char *at)
{
    unsigned unit = 0;

    for (int i = 0; i < 4; i++)
        unit = unit << 4 | (unsigned)hex_digit(at[i]);
    return unit;
}

static char *put_character(char *to, unsigned character)
{
    if (character < 0x80) {
        *to++ = (char)character;
    } else if (character < 0x800) {
        *to++ = (char)(0xc0 | character >> 6);
        *to++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *to++ = (char)(0xe0 | character >> 12);
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    } else {
        *to++ = (char)(0xf0 | character >> 18);
        *to++ = (char)(0x80 | (character >> 12 & 0x3f));
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    }
    return to;
}

/* The character behind \u, and where it ends; a lone half of a pair is U+FFFD, as in Go. */
static unsigned read_character(const char **at, const char *end)
{
    unsigned first = read_unit(*at), second;

    *at += 4;
    if (first < 0xd800 || first > 0xdfff)
        return first;
    if (first > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return 0xfffd;
    second = read_unit(*at + 2);
    if (second < 0xdc00 || second > 0xdfff)
        return 0xfffd;
    *at += 6;
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
}

char *json_text(struct span value)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";

    if (!value.at || value.len < 2 || *value.at != '"')
        return NULL;
    const char *at = value.at + 1, *end = value.at + value.len - 1;
    char *text = take_memory(value.len), *to = text; /* an escape is longer than what it means */

    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        const char *letter = strchr(letters, at[1]);
        char escaped = at[1];

        at += 2;
        if (escaped == 'u') {
            unsigned character = read_character(&at, end);

            if (!character) {
                free(text);
                return NULL;
            }
            to = put_character(to, character);
        } else {
            *to++ = letter ? meant[letter - letters] : escaped;
        }
    }
    *to = '\0';
    return text;
}

bool json_says(struct span value, const char *text)
{
    if (!value.at || value.len < 2 || *value.at != '"')
        return false;
    if (!memchr(value.at, '\\', value.len))
        return span_is((struct span){value.at + 1, value.len - 2}, text);
    char *said = json_text(value);
    bool same = said && strcmp(said, text) == 0;

    free(said);
    return same;
}

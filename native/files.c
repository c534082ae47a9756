#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

enum {
    PLAN_SIZE_MAX = 1 << 20,       /* 36 bytes a claim: 28,000 of them in one namespace */
    CHECKPOINT_SIZE_MAX = 64 << 20 /* about 1 KiB a claim: far more than a node can have */
};

bool name_is_safe(struct span name)
{
    if (!name.at || !name.len || name.len > NAME_LENGTH_MAX || *name.at == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '_' || c == '-'))
            return false;
    }
    return true;
}

static char *note_path(const char *directory, const char *sort, struct span name)
{
    struct buffer path = {0};

    put_text(&path, directory);
    put_text(&path, "/");
    put_text(&path, sort);
    put_text(&path, *sort ? "/" : "");
    put(&path, name.at, name.len);
    return buffer_text(&path);
}

bool is_noted(const char *directory, const char *sort, struct span name)
{
    return name_is_safe(name) && access(note_path(directory, sort, name), F_OK) == 0;
}

bool read_all(int fd, size_t max, struct buffer *content)
{
    char chunk[16384];

    for (;;) {
        ssize_t got = read(fd, chunk, sizeof chunk);

        if (got == 0)
            return true;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if ((size_t)got > max - content->len) {
            errno = EFBIG;
            return false;
        }
        put(content, chunk, (size_t)got);
    }
}

static bool read_file(const char *path, size_t max, struct buffer *content)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return false;
    bool whole = read_all(fd, max, content);

    close(fd);
    return whole;
}

bool read_noted(const char *directory, const char *sort, struct span name, struct buffer *content)
{
    return name_is_safe(name) &&
           read_file(note_path(directory, sort, name), PLAN_SIZE_MAX, content);
}

/* Whether the lines contain this one. */
static bool lists(struct span lines, const char *wanted)
{
    size_t len = strlen(wanted);

    for (const char *at = lines.at, *end = at + lines.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((stop ? stop : end) - at);

        if (line == len && memcmp(at, wanted, len) == 0)
            return true;
        at += line + 1;
    }
    return false;
}

/* Whether a set of UIDs has this one: an object with a member for each, or a list of them. */
static bool has_uid(struct span uids, const char *uid)
{
    struct span key, value;

    for (struct json_walk walk = json_each(uids); json_next(&walk, &key, &value);)
        if (json_says(key.at ? key : value, uid))
            return true;
    return false;
}

static bool entry_uses(struct span entry, struct span claims, const char *pod_uid)
{
    char *claim = json_text(json_member(entry, "ClaimUID"));
    bool ours = claim && (!claims.len || lists(claims, claim));

    free(claim);
    return ours && has_uid(json_member(entry, "PodUIDs"), pod_uid);
}

/* The list of claims in a checkpoint, or at == NULL where it is not of the form we know. */
static struct span claim_list(struct span checkpoint)
{
    struct span document, data;

    if (!json_whole(checkpoint, &document))
        return (struct span){0};
    data = json_member(document, "Data");
    char *text = json_text(data);

    if (text && !json_whole(span_of(text), &data))
        return (struct span){0};
    return json_member(data, "ClaimInfoStateList");
}

enum use claim_in_use_in(struct span checkpoint, struct span claims, struct span pod_uid)
{
    struct span list = claim_list(checkpoint), key, entry;
    char *uid = copy_text(pod_uid);

    if (span_is(list, "null")) /* how Go writes a list without anything in it */
        return NOT_IN_USE;
    if (!json_is_array(list))
        return memmem(checkpoint.at, checkpoint.len, uid, pod_uid.len) ? IN_USE : NOT_IN_USE;
    for (struct json_walk walk = json_each(list); json_next(&walk, &key, &entry);)
        if (entry_uses(entry, claims, uid))
            return IN_USE;
    return NOT_IN_USE;
}

enum use claim_in_use(const char *kubelet_state, struct span claims, struct span pod_uid)
{
    struct buffer content = {0};

    if (!name_is_safe(pod_uid))
        return NOT_IN_USE; /* a pod without a UID is none of kubelet's */
    if (!read_file(kubelet_state, CHECKPOINT_SIZE_MAX, &content) || !content.len)
        return USE_UNKNOWN;
    return claim_in_use_in((struct span){content.at, content.len}, claims, pod_uid);
}

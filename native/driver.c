#include "driver.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    AGAIN_MS = 20,           /* between two attempts: an instance binds its socket in less */
    ANSWER_SIZE_MAX = 65536, /* of a message the beginning tells enough */
    CODE_UNREADABLE = 999,   /* what CNI's own plugins use for "anything else" */
    CODE_MAX = 9999
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_ms(int ms)
{
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000L};

    while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
        ;
}

void put_command(struct buffer *request, const char *command)
{
    put_text(request, "netclaim/1 ");
    put_text(request, command);
    put_text(request, "\n");
}

bool put_field(struct buffer *request, const char *key, const char *value)
{
    if (!value)
        return true;
    for (const char *at = value; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return false;
    put_text(request, key);
    put_text(request, "=");
    put_text(request, value);
    put_text(request, "\n");
    return true;
}

void put_body(struct buffer *request, struct span body)
{
    put_text(request, "length=");
    put_number(request, body.len);
    put_text(request, "\n\n");
    put(request, body.at, body.len);
}

/* Wait until the socket is ready for `events` or has failed; false at the deadline. */
static bool wait_ready(int fd, short events, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd ready = {.fd = fd, .events = events};

        if (left <= 0)
            return false;
        if (poll(&ready, 1, left > 60000 ? 60000 : (int)left) > 0)
            return true;
    }
}

static bool send_all(int fd, struct span request, int64_t deadline)
{
    while (request.len) {
        ssize_t sent = send(fd, request.at, request.len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent >= 0) {
            request.at += sent;
            request.len -= (size_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!wait_ready(fd, POLLOUT, deadline))
                return false;
        } else if (errno != EINTR) {
            return true; /* it does not read any more; perhaps it has answered */
        }
    }
    return true;
}

/* Read to the end, or to the first line where that is all there is to know. */
static bool read_answer(int fd, struct buffer *answer, int64_t deadline)
{
    char chunk[4096];

    while (answer->len < ANSWER_SIZE_MAX) {
        if (span_is((struct span){answer->at, answer->len}, "ok\n") ||
            span_is((struct span){answer->at, answer->len}, "again\n"))
            return true;
        ssize_t got = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);

        if (got > 0)
            put(answer, chunk, (size_t)got);
        else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_ready(fd, POLLIN, deadline))
                return false;
        } else if (got == 0 || errno != EINTR)
            return true;
    }
    return true;
}

enum reading { READ_OK, READ_AGAIN, READ_REFUSED, READ_NOTHING };

static enum reading read_outcome(struct buffer *raw, struct answer *answer)
{
    const char *stop = raw->len ? memchr(raw->at, '\n', raw->len) : NULL;

    if (!stop)
        return READ_NOTHING;
    struct span line = {raw->at, (size_t)(stop - raw->at)};

    if (span_is(line, "ok"))
        return READ_OK;
    if (span_is(line, "again"))
        return READ_AGAIN;
    answer->code = CODE_UNREADABLE;
    if (line.len > 6 && memcmp(line.at, "error ", 6) == 0) {
        char *rest, *number = copy_text((struct span){line.at + 6, line.len - 6});
        unsigned long code = strtoul(number, &rest, 10);

        if (*number >= '0' && *number <= '9' && !*rest && code >= 1 && code <= CODE_MAX)
            answer->code = code;
        put(&answer->message, stop + 1, (size_t)(raw->at + raw->len - stop - 1));
    } else {
        put_text(&answer->message, "the driver's answer cannot be understood");
    }
    return READ_REFUSED;
}

/* A connected socket, or -1 with errno. A full backlog (EAGAIN) is waited out: somebody is there. */
static int connect_to(const char *path, int64_t deadline)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    if (len >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, len + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    while (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN || now_ms() + AGAIN_MS >= deadline) {
            int error = errno;

            close(fd);
            errno = error;
            return -1;
        }
        pause_ms(AGAIN_MS);
    }
    return fd;
}

struct answer ask_driver(const char *socket_path, struct span request, double seconds,
                         bool patient)
{
    int64_t deadline = now_ms() + (int64_t)(seconds * 1000);
    bool sent_on = false;

    for (;; pause_ms(AGAIN_MS)) {
        struct answer answer = {0};
        struct buffer raw = {0};
        int fd = connect_to(socket_path, deadline);

        if (fd < 0) {
            answer.error = errno;
            answer.outcome = errno == EAGAIN ? DRIVER_SILENT : DRIVER_AWAY;
            if (patient && sent_on && now_ms() + AGAIN_MS < deadline)
                continue;
            return answer;
        }
        bool in_time =
            send_all(fd, request, deadline) && read_answer(fd, &raw, deadline);
        enum reading reading = in_time ? read_outcome(&raw, &answer) : READ_NOTHING;

        close(fd);
        answer.outcome = !in_time                   ? DRIVER_SILENT
                         : reading == READ_OK       ? DRIVER_OK
                         : reading == READ_REFUSED  ? DRIVER_REFUSED
                         : reading == READ_AGAIN    ? DRIVER_SILENT
                                                    : DRIVER_LOST;
        bool is_asked_again = reading == READ_AGAIN || answer.outcome == DRIVER_LOST;

        if (!is_asked_again || now_ms() + AGAIN_MS >= deadline)
            return answer;
        sent_on = reading == READ_AGAIN;
    }
}

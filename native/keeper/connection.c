#include "connection.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "relay.h"
#include "say.h"

enum {
    CHUNK = 32 * 1024,
    LOST_MS = 2000 /* a process that dies has closed its sockets before anybody learns that it died */
};

struct connection *connection_new(int client, int kept, const struct answers *prepared)
{
    struct connection *connection = take_memory(sizeof *connection);

    connection->client = client;
    connection->driver = -1;
    connection->kept = kept;
    connection->relay = relay_new(prepared);
    return connection;
}

void connection_free(struct connection *connection)
{
    close(connection->client);
    if (connection->driver >= 0)
        close(connection->driver);
    relay_free(connection->relay);
    free(connection);
}

int connection_join(struct connection *connection)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    connection->driver = pair[0];
    connection->lost_at = 0;
    relay_joined(connection->relay, now_ms());
    return pair[1];
}

static bool send_queued(int fd, struct queue *queue)
{
    while (queue->len) {
        ssize_t sent = send(fd, queue_head(queue), queue->len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent > 0)
            queue_drop(queue, (size_t)sent);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return true;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

typedef bool feed(struct relay *relay, const void *bytes, size_t len, int64_t now);

/* Feed what has come; false at the end, or when it is no good. */
static bool receive(int fd, struct relay *relay, feed *feed, bool to_the_end)
{
    char chunk[CHUNK];

    do {
        ssize_t got = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);

        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return true;
        if (got <= 0 || !feed(relay, chunk, (size_t)got, now_ms()))
            return false;
    } while (to_the_end);
    return true;
}

static void leave_driver(struct connection *connection)
{
    close(connection->driver);
    connection->driver = -1;
    relay_lost(connection->relay, now_ms());
}

void connection_lose(struct connection *connection)
{
    connection->lost_at = 0;
    if (connection->driver < 0)
        return;
    receive(connection->driver, connection->relay, relay_from_driver, true);
    leave_driver(connection);
}

bool connection_pass(struct connection *connection, bool serves)
{
    struct relay *relay = connection->relay;

    if (!receive(connection->client, relay, relay_from_client, false))
        return false;
    if (connection->driver >= 0 &&
        (!send_queued(connection->driver, relay_to_driver(relay)) ||
         !receive(connection->driver, relay, relay_from_driver, false))) {
        leave_driver(connection);
        connection->lost_at = serves ? now_ms() : 0;
    }
    relay_tick(relay, now_ms());
    if (!send_queued(connection->client, relay_to_client(relay)))
        return false;
    return !connection->lost_at || now_ms() < connection->lost_at + LOST_MS;
}

int64_t connection_tick(struct connection *connection)
{
    int64_t next = relay_tick(connection->relay, now_ms());
    int64_t lost = connection->lost_at + LOST_MS;

    return connection->lost_at && lost < next ? lost : next;
}

short connection_events(struct connection *connection, bool of_client)
{
    struct queue *out =
        of_client ? relay_to_client(connection->relay) : relay_to_driver(connection->relay);

    return out->len ? POLLIN | POLLOUT : POLLIN;
}

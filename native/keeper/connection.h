/* The connections that are relayed: kubelet's end, and the driver's while there is a driver.
 *
 * Promise: a peer that breaks the protocol, or a driver that hangs up while it lives, costs that
 * connection and no other.
 */
#ifndef NETCLAIM_CONNECTION_H
#define NETCLAIM_CONNECTION_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "answers.h"

enum { CONNECTIONS_MAX = 32 }; /* kubelet keeps one; the rest is for its restarts and for tools */

struct connection {
    struct connection *next;
    int client, driver; /* -1: there is no driver */
    int kept;           /* the number of the listener that it came by */
    struct relay *relay;
    int64_t lost_at; /* when a driver that lives hung up; 0 if it did not */
    bool has_ended;
};

struct connection *connection_new(int client, int kept, const struct answers *prepared);
void connection_free(struct connection *connection);

/* Make a pair of sockets, and relay to one end; returns the other one, or -1. */
int connection_join(struct connection *connection);

/* The driver died: what it had answered is still read, then its calls wait for the next one. */
void connection_lose(struct connection *connection);

/* Send and receive what can be without waiting; false when kubelet's end is to be closed. */
bool connection_pass(struct connection *connection, bool serves);
int64_t connection_tick(struct connection *connection);   /* when to pass again, in any case */
short connection_events(struct connection *connection, bool of_client); /* to poll for */

#endif

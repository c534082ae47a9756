/* One question to the driver, over its unix socket, with a time limit.
 *
 * Promise: returns within the limit whatever the driver does: away, stopped in its tracks, with a
 * full backlog, or answering a byte a second. Limit: no question is asked again after it was lost;
 * only "again", by which an instance that is leaving points to the next one, is.
 */
#ifndef NETCLAIM_DRIVER_H
#define NETCLAIM_DRIVER_H

#include "bytes.h"

enum outcome {
    DRIVER_OK,
    DRIVER_REFUSED, /* it answered with an error */
    DRIVER_AWAY,    /* nobody listens */
    DRIVER_LOST,    /* it took the question and went away */
    DRIVER_SILENT   /* it did not answer in time */
};

struct answer {
    enum outcome outcome;
    unsigned long code;     /* of DRIVER_REFUSED: a CNI error code */
    struct buffer message;  /* of DRIVER_REFUSED: the driver's own words */
    int error;              /* of DRIVER_AWAY: the errno of connect() */
};

/* A request: its first line, then one call of put_field for each field, then put_body. A field
 * whose value has control characters cannot be sent: false. A value of NULL is left out. */
void put_command(struct buffer *request, const char *command);
bool put_field(struct buffer *request, const char *key, const char *value);
void put_body(struct buffer *request, struct span body);

/* `patient`: once the driver said that another takes over, wait for that one to appear. */
struct answer ask_driver(const char *socket_path, struct span request, double seconds,
                         bool patient);

#endif

/* Kubelet's probes of the driver and of the controller, without starting a Python for each of them.
 *
 * Asks for a path on $NETCLAIM_HEALTH_SOCKET, which only this pod has, by HTTP 1.0, and prints the
 * answer's text, which kubelet shows.
 */
#include "probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET "NETCLAIM_HEALTH_SOCKET"
#define ANSWER_S 8 /* below the 10 s of kubelet's probes, so that the reason is seen */

static int fail(const char *path, const char *why)
{
    printf("nobody answers at %s: %s\n", path, why);
    return 1;
}

/* Connect within the time that an answer may take; -1 with errno if that fails. */
static int connected(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = ANSWER_S};

    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int probe(const char *what)
{
    static char answer[65536];
    size_t length = 0;
    char request[64];
    const char *path = getenv(SOCKET);

    if (strcmp(what, "healthz") && strcmp(what, "readyz")) {
        fprintf(stderr, "usage: netclaim-keeper --probe healthz | readyz\n");
        return 2;
    }
    if (!path || !*path) {
        printf("$" SOCKET " is not set; it is what --health-socket got\n");
        return 1;
    }
    int fd = connected(path);

    if (fd < 0)
        return fail(path, strerror(errno));
    int size = snprintf(request, sizeof request, "GET /%s HTTP/1.0\r\nHost: probe\r\n\r\n", what);

    if (send(fd, request, size, MSG_NOSIGNAL) != size)
        return fail(path, strerror(errno));
    while (length < sizeof answer - 1) {
        ssize_t got = recv(fd, answer + length, sizeof answer - 1 - length, 0);

        if (got < 0)
            return fail(path, errno == EAGAIN ? "it takes too long" : strerror(errno));
        if (!got)
            break;
        length += got;
    }
    answer[length] = 0;
    const char *text = strstr(answer, "\r\n\r\n");

    fputs(text ? text + 4 : "", stdout);
    return strncmp(answer, "HTTP/1.0 200", 12) && strncmp(answer, "HTTP/1.1 200", 12);
}

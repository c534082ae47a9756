/* netclaim-keeper: the process that a node's driver is a child of, so that a crash costs seconds.
 *
 *     netclaim-keeper netclaim driver ...
 *
 * Runs the driver, and runs it again when it dies. What must not be missed meanwhile stays here:
 * listening sockets, in which callers queue, and kubelet's calls, which are relayed (see relay.h)
 * and made again to the next life of the driver.
 *
 * The driver speaks with it over the file descriptor that NETCLAIM_KEEPER names: messages of a verb,
 * a name and a text, some with a file descriptor.
 *
 *     keep NAME TEXT + listener   hold this listener for the next life
 *     relay NAME                  accept its connections, and pass their calls on to this life
 *     hold NAME                   let its calls wait for the next life
 *     drop NAME                   close it, and its connections
 *     answer NAME BYTES           answer one of its calls while there is no driver; see answers.h
 *     silence NAME                forget its answers
 *     note TEXT                   remember this for the next life
 *     alive                       from now on, a driver that is silent for long is killed
 *
 *     kept NAME TEXT + listener   what the last life left, in order; then
 *     begin TEXT                  its note
 *     call NAME + connection      a connection to serve
 *
 * Promise: ends with the driver's own exit code when that ends by itself, or because we were told
 * to. Signals are passed on.
 * Limit: what it remembers ends with it. Of a call it looks at nothing but its path.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "probe.h"
#include "connection.h"
#include "life.h"
#include "queue.h"
#include "say.h"

enum { KEPT_MAX = 8, NAME_SIZE = 32, TEXT_SIZE = 256, MESSAGE_SIZE = 1024 };
enum { TICK_MS = 1000 }; /* how often it looks whether the driver is alive */

struct kept {
    char name[NAME_SIZE], text[TEXT_SIZE];
    int fd;                  /* -1: this place is free */
    bool is_relayed, serves; /* by us; to this life of the driver */
    struct answers answers;  /* for callers while it serves none */
};

static struct life life = {.control = -1};
static struct kept kept[KEPT_MAX];
static char note[TEXT_SIZE];
static struct connection *connections;
static size_t connection_count;

/* -- messages ------------------------------------------------------------------------------------ */

static void send_message(const char *verb, const char *name, const char *text, int fd)
{
    char message[MESSAGE_SIZE];
    int len = snprintf(message, sizeof message, "%s %s %s", verb, name, text);
    struct iovec part = {message, (size_t)len};
    char room[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

    if (fd >= 0) {
        header.msg_control = room;
        header.msg_controllen = sizeof room;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);

        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    /* A driver that does not read has no more calls passed on to it until it dies. */
    while (sendmsg(life.control, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
        ;
}

static struct kept *find_kept(const char *name)
{
    for (struct kept *each = kept; each < kept + KEPT_MAX; each++)
        if (each->fd >= 0 && strcmp(each->name, name) == 0)
            return each;
    return NULL;
}

static void join(struct connection *connection)
{
    int end = connection_join(connection);

    if (end < 0) {
        say("cannot make a connection to the driver: %s", strerror(errno));
        return;
    }
    send_message("call", kept[connection->kept].name, "", end);
    close(end);
}

static void drop(struct kept *gone)
{
    if (!gone)
        return;
    answers_clear(&gone->answers); /* the service ends, and nobody may be told that it is there */
    for (struct connection *each = connections; each; each = each->next)
        if (&kept[each->kept] == gone) {
            connection_lose(each);
            connection_pass(each, false);
            each->has_ended = true;
        }
    close(gone->fd);
    gone->fd = -1;
}

static void keep(const char *name, const char *text, int fd)
{
    drop(find_kept(name));
    for (struct kept *each = kept; each < kept + KEPT_MAX; each++)
        if (each->fd < 0) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); /* a caller may be gone again */
            *each = (struct kept){.fd = fd};
            strncpy(each->name, name, NAME_SIZE - 1);
            strncpy(each->text, text, TEXT_SIZE - 1);
            return;
        }
    say("the driver keeps more than %d sockets; %s is not kept", KEPT_MAX, name);
    close(fd);
}

static void relay_to_life(struct kept *relayed)
{
    if (!relayed)
        return;
    relayed->is_relayed = relayed->serves = true;
    for (struct connection *each = connections; each; each = each->next)
        if (&kept[each->kept] == relayed && each->driver < 0 && !each->has_ended)
            join(each);
}

static void answer(struct kept *answered, const char *bytes, size_t len)
{
    if (!answers_take(&answered->answers, bytes, len))
        say("an answer of the driver for %s is not taken", answered->name);
}

static void take_message(char *message, size_t len, int fd)
{
    char *text = message;
    const char *verb = strsep(&text, " "), *name = text ? strsep(&text, " ") : NULL;

    size_t text_len = text ? (size_t)(message + len - text) : 0;

    name = name ? name : "";
    text = text ? text : (char *)"";
    if (strcmp(verb, "keep") == 0 && fd >= 0 && *name) {
        keep(name, text, fd);
        return;
    }
    if (fd >= 0)
        close(fd);
    if (strcmp(verb, "relay") == 0)
        relay_to_life(find_kept(name));
    else if (strcmp(verb, "hold") == 0 && find_kept(name))
        find_kept(name)->serves = false;
    else if (strcmp(verb, "drop") == 0)
        drop(find_kept(name));
    else if (strcmp(verb, "answer") == 0 && find_kept(name))
        answer(find_kept(name), text, text_len);
    else if (strcmp(verb, "silence") == 0 && find_kept(name))
        answers_clear(&find_kept(name)->answers);
    else if (strcmp(verb, "note") == 0)
        snprintf(note, sizeof note, "%.*s", TEXT_SIZE - 1, name);
    else if (strcmp(verb, "alive") == 0)
        life.alive_at = now_ms();
}

static void take_messages(void)
{
    for (;;) {
        char message[MESSAGE_SIZE];
        struct iovec part = {message, sizeof message - 1};
        char room[CMSG_SPACE(sizeof(int))];
        struct msghdr header = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
        ssize_t len = recvmsg(life.control, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        int fd = -1;

        if (len <= 0)
            return; /* its end shows by SIGCHLD */
        struct cmsghdr *rights = CMSG_FIRSTHDR(&header);

        if (rights && rights->cmsg_type == SCM_RIGHTS)
            memcpy(&fd, CMSG_DATA(rights), sizeof fd);
        message[len] = '\0';
        take_message(message, (size_t)len, fd);
    }
}

/* -- lives --------------------------------------------------------------------------------------- */

static void begin_life(void)
{
    life_begin(&life);
    for (struct kept *each = kept; each < kept + KEPT_MAX; each++)
        if (each->fd >= 0)
            send_message("kept", each->name, each->text, each->fd);
    send_message("begin", note, "", -1);
}

static void end_life(int status)
{
    take_messages(); /* its last ones */
    int code = life_ended(&life, status);

    if (code >= 0) /* there is no next life to speak for */
        for (struct kept *each = kept; each < kept + KEPT_MAX; each++)
            answers_clear(&each->answers);
    for (struct connection *each = connections; each; each = each->next)
        connection_lose(each);
    for (struct kept *each = kept; each < kept + KEPT_MAX; each++)
        each->serves = false;
    if (code >= 0) {
        for (struct connection *each = connections; each; each = each->next)
            connection_pass(each, false);
        exit(code);
    }
}

static void take_signals(int signals)
{
    struct signalfd_siginfo info;

    while (read(signals, &info, sizeof info) == sizeof info) {
        int number = (int)info.ssi_signo, status;
        pid_t pid;

        if (number != SIGCHLD) {
            life.is_ending = life.is_ending || number == SIGTERM || number == SIGINT;
            if (life.pid)
                kill(life.pid, number);
            else if (life.is_ending)
                exit(128 + number);
            continue;
        }
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) /* also those that nobody else waits for */
            if (pid == life.pid)
                end_life(status);
    }
}

/* -- connections --------------------------------------------------------------------------------- */

static void accept_from(struct kept *listener)
{
    int client = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (client < 0)
        return;
    if (connection_count == CONNECTIONS_MAX) {
        close(client);
        return;
    }
    struct connection *connection = connection_new(client, (int)(listener - kept), &listener->answers);

    connection->next = connections;
    connections = connection;
    connection_count++;
    if (listener->serves)
        join(connection);
}

static void pass_all(void)
{
    for (struct connection *each = connections; each; each = each->next)
        if (!each->has_ended && !connection_pass(each, kept[each->kept].serves))
            each->has_ended = true;
    for (struct connection **at = &connections; *at;) {
        struct connection *each = *at;

        if (each->has_ended) {
            *at = each->next;
            connection_count--;
            connection_free(each);
        } else {
            at = &each->next;
        }
    }
}

/* -- waiting ------------------------------------------------------------------------------------- */

static struct pollfd watched[2 + KEPT_MAX + 2 * CONNECTIONS_MAX];
static nfds_t watched_count;

static void watch(int fd, short events)
{
    watched[watched_count++] = (struct pollfd){.fd = fd, .events = events};
}

/* Wait for something to do; listeners are watched last of all that may change `connections`. */
static void wait_for_work(int signals)
{
    int64_t now = now_ms(), until = now + TICK_MS;

    if (!life.pid && life.next_at < until)
        until = life.next_at;
    watched_count = 0;
    watch(signals, POLLIN);
    watch(life.control, POLLIN); /* poll skips what is -1 */
    for (struct kept *each = kept; each < kept + KEPT_MAX; each++)
        watch(each->is_relayed ? each->fd : -1, POLLIN);
    for (struct connection *each = connections; each; each = each->next) {
        int64_t tick = connection_tick(each);

        until = tick < until ? tick : until;
        watch(each->client, connection_events(each, true));
        watch(each->driver, connection_events(each, false));
    }
    poll(watched, watched_count, until > now ? (int)(until - now) : 0);
}

static void run(int signals)
{
    for (;;) {
        int64_t before = now_ms();

        wait_for_work(signals);
        if (life.control >= 0)
            take_messages();
        take_signals(signals);
        for (int i = 0; i < KEPT_MAX; i++)
            if (watched[2 + i].revents & POLLIN && kept[i].fd == watched[2 + i].fd)
                accept_from(&kept[i]);
        pass_all();
        life_look(&life, now_ms() - before);
        if (life_is_due(&life))
            begin_life();
    }
}

int main(int count, char **words)
{
    static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    sigset_t set;

    if (count == 3 && !strcmp(words[1], "--probe"))
        return probe(words[2]);
    if (count < 2) {
        say("usage: netclaim-keeper PROGRAM [ARGUMENT ...]; for example netclaim-keeper netclaim "
            "driver; or netclaim-keeper --probe healthz | readyz");
        return 2;
    }
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

    if (signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        say("cannot watch processes: %s", strerror(errno));
        return 1;
    }
    for (struct kept *each = kept; each < kept + KEPT_MAX; each++)
        each->fd = -1;
    life.command = words + 1;
    begin_life();
    run(signals);
}

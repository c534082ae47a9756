#include "life.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

enum {
    QUICK_MS = 10000, /* a driver that lived longer had begun to work */
    QUICK_MAX = 8,    /* with the pauses between them, half a minute */
    PAUSE_MS = 250,   /* before the third life; twice as long before each later one */
    PAUSE_MAX_MS = 8000,
    ORPHANS_MS = 5000, /* a process that cannot be killed waits in the kernel; do not wait for it */
    ORPHANS_LOOK_MS = 20,
    SILENT_MS = 20000, /* kubelet waits 45 s for a prepare; the next life needs some of them */
    CODE_REFUSED = 2,  /* settings or the node must be changed: the same would happen again */
    CODE_NOT_FOUND = 127,
    CODE_GAVE_UP = 70
};

void life_begin(struct life *life)
{
    int pair[2];
    char number[16];
    pid_t parent = getpid();

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        say("cannot make a socket: %s", strerror(errno));
        exit(1);
    }
    life->began_at = now_ms();
    life->alive_at = 0;
    life->pid = fork();
    if (life->pid < 0) {
        say("cannot start a process: %s", strerror(errno));
        exit(1);
    }
    if (life->pid == 0) {
        sigset_t none;
        int control = dup(pair[1]); /* without CLOEXEC */

        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        snprintf(number, sizeof number, "%d", control);
        setenv("NETCLAIM_KEEPER", number, 1);
        if (getppid() == parent)
            execvp(life->command[0], life->command);
        say("cannot run %s: %s", life->command[0], strerror(errno));
        _exit(CODE_NOT_FOUND);
    }
    close(pair[1]);
    life->control = pair[0];
}

static void describe(char *text, size_t size, int status)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with code %d", WEXITSTATUS(status));
}

int life_ended(struct life *life, int status)
{
    int64_t now = now_ms(), lived = now - life->began_at;
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    char how[128];

    life->pid = 0;
    close(life->control);
    life->control = -1;
    if (life->is_ending || code == 0 || code == CODE_REFUSED || code == CODE_NOT_FOUND)
        return code;
    describe(how, sizeof how, status);
    life->quick = lived < QUICK_MS ? life->quick + 1 : 1;
    if (life->quick > QUICK_MAX) {
        say("the driver %s %d times in a row within %d s of its start; giving up. Its own messages "
            "above say why",
            how, life->quick, QUICK_MS / 1000);
        return CODE_GAVE_UP;
    }
    int64_t pause = life->quick < 2 ? 0 : (int64_t)PAUSE_MS << (life->quick - 2);

    life->next_at = now + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
    life->orphans_until = now + ORPHANS_MS;
    say("the driver %s after %.1f s; starting it again%s", how, (double)lived / 1000,
        pause ? " after a pause" : "");
    return -1;
}

/* Kill our other children, which the last life left; false if there is none. */
static bool kill_orphans(void)
{
    FILE *children = fopen("/proc/thread-self/children", "re");
    bool found = false;
    int pid;

    if (!children)
        return false;
    while (fscanf(children, "%d", &pid) == 1) {
        found = true;
        kill(pid, SIGKILL);
    }
    fclose(children);
    return found;
}

bool life_is_due(struct life *life)
{
    int64_t now = now_ms();

    if (life->pid || now < life->next_at)
        return false;
    if (now < life->orphans_until && kill_orphans()) {
        life->next_at = now + ORPHANS_LOOK_MS;
        return false;
    }
    return true;
}

void life_look(struct life *life, int64_t slept_ms)
{
    if (!life->pid || !life->alive_at)
        return;
    if (slept_ms > SILENT_MS / 2)
        life->alive_at = now_ms(); /* it was we who did not run, and perhaps the whole machine */
    if (now_ms() < life->alive_at + SILENT_MS)
        return;
    say("the driver has not been heard of for %d s; killing it", SILENT_MS / 1000);
    life->alive_at = 0;
    kill(life->pid, SIGKILL);
}

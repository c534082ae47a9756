/* The driver's process: one life after another.
 *
 * Promise: a life begins when nothing that the one before had started runs any more, after a pause
 * that grows while lives are short. After QUICK_MAX short ones in a row there is no next one.
 */
#ifndef NETCLAIM_LIFE_H
#define NETCLAIM_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct life {
    char **command;
    pid_t pid;   /* 0: none is running */
    int control; /* our end of the channel to it, or -1 */
    int64_t began_at, next_at, orphans_until, alive_at;
    int quick; /* short lives in a row */
    bool is_ending; /* we were told to end */
};

void life_begin(struct life *life);

/* A life has ended, with a status of wait(2); returns our exit code, or -1 if there is a next one. */
int life_ended(struct life *life, int status);

/* Whether the next life may begin now: the pause is over and nothing of the last one runs. */
bool life_is_due(struct life *life);

/* End a life that has said that it is alive and does not say so any more. */
void life_look(struct life *life, int64_t slept_ms);

#endif

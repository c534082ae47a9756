/* One line on standard error, for people. */
#ifndef NETCLAIM_SAY_H
#define NETCLAIM_SAY_H

#include <stdint.h>

__attribute__((format(printf, 1, 2))) void say(const char *format, ...);
int64_t now_ms(void);

#endif

#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

void say(const char *format, ...)
{
    char line[1024] = "netclaim-keeper: ";
    size_t len = 17;
    va_list arguments;

    va_start(arguments, format);
    int more = vsnprintf(line + len, sizeof line - len - 1, format, arguments);
    va_end(arguments);
    if (more > 0)
        len += (size_t)more < sizeof line - len - 1 ? (size_t)more : sizeof line - len - 2;
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* nobody is left to tell */
}

int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

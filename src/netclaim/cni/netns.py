"""Tell whether a path still leads to a network namespace.

Promise: never blocks, never enters the namespace.
Limit: cannot tell that a path leads to another namespace than it once did.
"""

import fcntl
import os

_NS_GET_NSTYPE = 0xB703  # ioctl: which kind of namespace a file is (linux/nsfs.h)
_CLONE_NEWNET = 0x40000000


def netns_alive(path: str) -> bool:
    """Whether there is a network namespace at `path`.

    A path can outlive its namespace as an empty file: the mount is gone, its mount point is not.
    """
    try:
        # Without O_NONBLOCK a pipe that someone put there would hold us up.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False
    try:
        return fcntl.ioctl(fd, _NS_GET_NSTYPE) == _CLONE_NEWNET
    except OSError:
        return False
    finally:
        os.close(fd)

"""Do something in a process of its own, and kill that at a step of one's choice.

A step is a call by which Python changes something outside of itself: a message to the kernel, a
file that takes its place. The process is killed in front of it.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection
from types import FrameType
from typing import Any, Final

STEPS: Final = frozenset({"send", "sendto", "rename", "replace", "unlink"})


def killed_at(step: int, action: Callable[[], object], steps: Collection[str] = STEPS) -> bool:
    """Whether an action had such a step, counted from 0, and so was killed there."""
    pid = os.fork()
    if pid == 0:
        left = step

        def watch(_: FrameType, event: str, called: Any) -> None:
            nonlocal left
            if event == "c_call" and called.__name__ in steps:
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        try:
            threading.setprofile(watch)
            sys.setprofile(watch)
            action()
        except BaseException:  # noqa: BLE001 -- the caller sees what it did, and the log why
            traceback.print_exc()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL

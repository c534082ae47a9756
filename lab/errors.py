"""What the lab says when it cannot go on.

LabError
├── UsageError     the input or this machine is wrong: one line says what to change; exit code 2
└── BootError      a part did not do its work: its last log lines are shown; exit code 1
"""

__all__ = ["BootError", "LabError", "UsageError"]


class LabError(Exception):
    """Whatever the lab raises on purpose; its text is meant for the user."""

    exit_code = 1


class UsageError(LabError):
    """The user or the machine's owner must change something; nothing was started."""

    exit_code = 2


class BootError(LabError):
    """A part failed; carries the end of its log."""

    def __init__(self, message: str, log_tail: str = "") -> None:
        super().__init__(f"{message}\n{log_tail}" if log_tail else message)


class StoppedError(LabError):
    """The user wants it to end; what was started is gone."""

    exit_code = 130  # 128 + SIGINT, as shells have it

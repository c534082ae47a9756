"""How long to wait after failures in a row: each time twice as long, up to a limit. No I/O."""

from typing import Final

DOUBLINGS_MAX: Final = 64  # any limit is reached by then; a float overflows after a thousand


def pause_after_s(failures: int, *, first_s: float, longest_s: float) -> float:
    """Return the pause after so many failures, at least one."""
    return min(first_s * 2.0 ** min(failures - 1, DOUBLINGS_MAX), longest_s)

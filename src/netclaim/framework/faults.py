"""One way to log a failure and to tell people of it.

Promise: however long an error's text is, what is kept, logged and shown of it is not.
"""

from typing import Final

import structlog

from netclaim.errors import NetclaimError

__all__ = ["TEXT_MAX", "brief", "cut", "explain"]

log = structlog.get_logger()

# Bytes of one failure's text. The API takes 32768 for a condition; this is what a plugin prints
# when it fails, not a whole log, and it is kept in memory and in the journal for each device.
TEXT_MAX: Final = 4096


def explain(event: str, error: BaseException, **where: str) -> str:
    """Log a failure; the text that a user is shown. A bug is logged with its traceback."""
    if isinstance(error, NetclaimError):
        text = brief(str(error))
        log.warning(event, error=text, **where)
        return text
    log.error(event, exc_info=error, **where)
    return brief(f"internal error: {type(error).__name__}: {error}")


def brief(text: str) -> str:
    """A failure's text as it may be kept."""
    return cut(text, TEXT_MAX)


def cut(text: str, limit: int) -> str:
    """Cut to so many bytes, between characters."""
    return text.encode(errors="replace")[:limit].decode(errors="ignore")

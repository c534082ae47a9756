"""One way to log a failure and to tell people of it."""

import structlog

from netclaim.errors import NetclaimError

__all__ = ["explain"]

log = structlog.get_logger()


def explain(event: str, error: BaseException, **where: str) -> str:
    """Log a failure; the text that a user is shown. A bug is logged with its traceback."""
    if isinstance(error, NetclaimError):
        log.warning(event, error=str(error), **where)
        return str(error)
    log.error(event, exc_info=error, **where)
    return f"internal error: {type(error).__name__}: {error}"

"""How the driver logs, and how it puts a failure into words.

Promise: one event a line, named `<verb>.<what>`, to standard error, with whom it is about. However
long an error's text is, what is kept, logged and shown of it is not.
"""

import sys
from typing import Final, Literal

import msgspec
import structlog

from netclaim.errors import NetclaimError
from netclaim.framework.subject import with_subject

__all__ = ["TEXT_MAX", "brief", "configure_logs", "cut", "explain"]

log = structlog.get_logger()

# Bytes of one failure's text. The API takes 32768 for a condition; this is what a plugin prints
# when it fails, not a whole log, and it is kept in memory and in the journal for each device.
TEXT_MAX: Final = 4096


def configure_logs(form: Literal["json", "text"], level: str = "info") -> None:
    """Set up structlog for the process; a library that serves drivers does not call this."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        with_subject,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "json":
        shared += [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer(_json)]
    else:
        shared.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


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


def _json(event: object, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()

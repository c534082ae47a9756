"""How the driver logs, and how it puts a failure into words.

Promise: each line on standard error is one event, named `<verb>.<what>`, with the claim and the pod
that it is about. However long an error's text is, only so much of it is kept, logged and shown.
"""

import sys
from collections.abc import Mapping
from typing import Final, Literal

import msgspec
import structlog

from netclaim.errors import NetclaimError
from netclaim.framework.telemetry.subject import with_subject
from netclaim.model.text import cut
from netclaim.plain_text import one_line, plain_json, sentence

log = structlog.get_logger()

# Bytes of one failure's text. The API takes 32768 for a condition; this is what a plugin prints
# when it fails, not a whole log, and it is kept in memory and in the journal for each device.
TEXT_MAX: Final = 4096
FIRST: Final = ("timestamp", "level", "event")  # keys of a line, as a person looks for them


def configure_logs(form: Literal["json", "text"], level: str = "info") -> None:
    """Set up structlog for the process. Code that is used as a library does not call this."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        with_subject,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "json":
        shared += [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer(_json)]
    else:
        shared.append(_printable)
        shared.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def explain(event: str, error: BaseException, **where: object) -> str:
    """Log a failure, a bug with its traceback; returns the text to show to a user."""
    if isinstance(error, NetclaimError):
        text = brief(str(error))
        log.warning(event, error=text, **where)
        return text
    log.error(event, exc_info=error, **where)
    return brief(f"internal error: {type(error).__name__}: {error}")


def brief(text: str) -> str:
    """A failure's text on one line, in printable characters, cut to what may be kept."""
    return cut(sentence(text), TEXT_MAX)


def _json(event: Mapping[str, object], **_: object) -> str:
    first = {key: event[key] for key in FIRST if key in event}
    return plain_json(msgspec.json.encode({**first, **event}, enc_hook=str)).decode()


def _printable(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Show texts of others without what a terminal obeys; other values are shown by their repr."""
    return {key: one_line(each) if isinstance(each, str) else each for key, each in event.items()}

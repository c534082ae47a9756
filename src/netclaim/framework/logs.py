"""How the driver writes its log: one event a line, named `<verb>.<what>`, to standard error."""

import sys
from typing import Literal

import msgspec
import structlog

__all__ = ["configure_logs"]


def configure_logs(form: Literal["json", "text"], level: str = "info") -> None:
    """Set up structlog for the process; a library that serves drivers does not call this."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
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


def _json(event: object, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()

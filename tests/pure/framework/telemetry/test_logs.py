"""What a line of the log looks like."""

import json
from collections.abc import Iterator

import pytest
import structlog

from netclaim.framework.telemetry.logs import configure_logs, log


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """The tests' own way to log."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def test_time_and_level_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who reads JSON lines sees when, how bad and what before everything else."""
    configure_logs("json")
    with structlog.contextvars.bound_contextvars(driver="a.example.com", node="n"):
        log.warning("attach.failed", claim="shop/web")
    (line,) = capsys.readouterr().err.splitlines()
    first, rest = list(json.loads(line))[:3], list(json.loads(line))[3:]
    assert first == ["timestamp", "level", "event"]
    assert set(rest) == {"driver", "node", "claim"}

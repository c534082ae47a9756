"""A claim is one trace and one id in the log, whichever process and thread works on it."""

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest
import structlog
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from structlog.testing import capture_logs

from netclaim.errors import PeerError
from netclaim.framework.process.driver_thread import own_loop
from netclaim.framework.telemetry.subject import concerning, doing, with_subject
from netclaim.framework.telemetry.traces import span, trace_id_of, traced, tracing
from netclaim.model import ClaimRef
from tests.support.framework.node import RED, node_in
from tests.support.framework.parts import pod_of
from tests.support.telemetry.otlp_collector import Collector, attributes

CLAIM = ClaimRef("5d8c7a52-4a0e-4d5b-9d9a-0f6f0f6f0f6f", "blue", "nic")


class Lines:
    """Keeps log lines as they would be written, with what is bound around them."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def __call__(self, _: Any, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        """Keep one."""
        self.found.append(dict(line))
        raise structlog.DropEvent

    def of(self, event: str) -> list[dict[str, Any]]:
        """The lines of an event."""
        return [line for line in self.found if line["event"] == event]


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What is logged while the test runs."""
    kept = Lines()
    with capture_logs():  # which puts the processors back at the end
        structlog.get_config()["processors"][:] = [with_subject, kept]
        yield kept


def test_the_id_is_the_claims() -> None:
    """The id of a trace is the same in every process, and one that OpenTelemetry takes."""
    assert trace_id_of("uid-red") == "8b15965211e6f6060d9586c8b10e9299", (
        "all versions make the same"
    )


def test_a_share_of_claims_can_be_traced() -> None:
    """A sampler that goes by the id takes its share of claims, as their UIDs are made."""
    sampler = TraceIdRatioBased(0.1)
    random = Random(1)
    uids = (uuid.UUID(bytes=random.randbytes(16), version=4) for _ in range(2000))
    ids = [int(trace_id_of(str(uid)), 16) for uid in uids]
    taken = sum(
        sampler.should_sample(None, each, "x").decision is not Decision.DROP for each in ids
    )
    assert 120 < taken < 280


def test_nothing_is_loaded_without_a_collector() -> None:
    """A driver that sends no traces does not import OpenTelemetry."""
    code = "import sys, netclaim.cli.driving; print('opentelemetry' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "protocol grpc is not supported"),
        ({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"}, "http/json is not supported"),
        ({"NOT_INSTALLED": "1"}, "OpenTelemetry is not installed"),
    ],
)
async def test_traces_that_cannot_be_sent(
    environ: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line says what to change, and the driver works without."""
    if "NOT_INSTALLED" in environ:
        monkeypatch.delitem(sys.modules, "netclaim.framework.telemetry.otel", raising=False)
        monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    wanted = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", **environ}
    with capture_logs() as logged:
        async with traced("d", "node-1", wanted):
            with doing("prepare", CLAIM):
                pass
    (line,) = logged
    assert (line["event"], line["log_level"]) == ("traces.disabled", "warning")
    assert message in line["error"]
    assert line["hint"]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
async def test_traces_that_nobody_wants(environ: dict[str, str]) -> None:
    """Without a collector, or if traces are disabled, there is nothing and not a word of it."""
    with capture_logs() as logged:
        async with traced("d", "node-1", environ):
            with span("x") as nothing:
                assert nothing is None
    assert logged == []


class Noting:
    """A tracer that notes the names of spans."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def span(self, name: str, trace_id: str, attributes: Any) -> AbstractContextManager[None]:
        """Noted."""
        self.names.append(f"{name} {trace_id[:4]}".strip())
        return nullcontext()


async def test_hooks_on_their_own_loop(lines: Lines) -> None:
    """What a hook logs and traces in its thread is of the claim that it is called for."""
    tracer = Noting()

    async def hook() -> None:
        structlog.get_logger().info("in the hook")
        with span("below"):
            pass

    with tracing(tracer):
        async with own_loop("hooks") as loop:
            with concerning(CLAIM, pod_of()):
                await loop.call("key", hook)
            await loop.call("key", hook)
    assert tracer.names == ["below", "below"]
    first, second = lines.of("in the hook")
    assert (first["claim"], first["pod"]) == ("blue/nic", "default/pod-1")
    assert first["trace_id"] == trace_id_of(CLAIM.uid)
    assert "claim" not in second


async def test_lines_of_a_pods_life(tmp_path: Path, lines: Lines) -> None:
    """From prepare to unprepare every line has the trace's id; those of pods name them."""
    async with node_in(tmp_path) as node:
        await node.stage.prepare(RED)
        node.stage.driver.fail("attach eth1", PeerError("no carrier"))
        with pytest.raises(PeerError):
            await node.run(pod_of())
        await node.run(pod_of(sandbox="sandbox-2"))
        await node.stop(pod_of(sandbox="sandbox-2"))
        await node.stage.preparer.unprepare(RED.ref)
    wanted = trace_id_of(RED.uid)
    ours = [line for line in lines.found if line["event"] != "retry"]
    assert [line["event"] for line in ours] == [
        "prepare.done",
        "attach.failed",
        "detach.done",
        "attach.refused",
        "attach.done",
        "detach.done",
        "unprepare.done",
    ]
    for line in ours:
        assert wanted in {line.get("trace_id"), *line.get("trace_ids", ())}, line
        assert "default/red" in {line.get("claim"), *line.get("claims", ())}, line
    for line in ours[1:6]:
        assert (line["pod"], line["pod_uid"]) == ("default/pod-1", "pod-1"), line
    assert ours[4]["sandbox"] == "sandbox-2"
    assert ours[0]["pods"] == ["default/pod-1"]


async def test_spans_reach_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans of one claim have its id and its names; what fails says so; what is below is below."""
    collector = Collector()
    async with collector.serving("127.0.0.1"):
        endpoint = f"http://127.0.0.1:{collector.port}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
        async with traced("d", "node-1"):
            with doing("prepare", CLAIM):
                pass
            with pytest.raises(PeerError), doing("attach", CLAIM, pod_of()), span("macvlan ADD"):
                raise PeerError("no carrier")
            with span("GC of nobody"):
                pass
        found = await collector.wait_for("prepare", "attach", "macvlan ADD")
    assert {each.trace_id.hex() for _, each in found} == {trace_id_of(CLAIM.uid)}
    spans = {each.name: each for _, each in found}
    assert set(spans) == {"prepare", "attach", "macvlan ADD"}
    assert not spans["prepare"].parent_span_id
    assert not spans["attach"].parent_span_id
    assert spans["macvlan ADD"].parent_span_id == spans["attach"].span_id
    assert spans["attach"].status.message == "PeerError: no carrier"
    assert attributes(spans["attach"])["netclaim.pod"] == "default/pod-1"
    about, _ = found[0]
    assert about["service.name"] == "netclaim"
    assert about["k8s.node.name"] == "node-1"
    assert about["deployment.environment"] == "test"


async def test_a_collector_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans that cannot be sent are said to be lost, once, and nothing waits for them."""
    collector = Collector()
    async with collector.serving("127.0.0.1"):
        endpoint = f"http://127.0.0.1:{collector.port}"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with capture_logs() as logged:
        async with asyncio.timeout(60), traced("d", "node-1"):
            for _ in range(3):
                with doing("prepare", CLAIM):
                    pass
    events = [line["event"] for line in logged]
    assert events[0] == "traces.enabled"
    assert set(events[1:]) == {"traces.failed"}

"""A runtime that sends anything at all: it is answered, refused, or hung up on."""

from collections.abc import Iterator, Sequence
from typing import Final

from google.protobuf.message import DecodeError, Message

from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import Container, ContainerState, RuntimeInfo
from netclaim.nri.deadlines import HookRunner
from netclaim.nri.errors import ProtocolError
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.service import PluginService
from netclaim.nri.values import (
    container_from_proto,
    container_to_proto,
    pod_from_proto,
    pod_to_proto,
    runtime_from_proto,
)
from netclaim.nri.wire import mux, ttrpc
from netclaim.nri.wire.endpoint import PLUGIN_SIDE, Endpoint
from netclaim.tasks import TaskScope
from tests.support.fuzzing import Trial, try_all
from tests.support.nri.parts import virtual_time

POD: Final = pod_to_proto(
    PodSandbox(
        id="c0ffee", uid="uid-red", namespace="default", name="red", netns="/run/netns/red",
        labels={"app": "red"}, annotations={"a": "b"}, ips=("10.0.0.2",), pid=7,
        runtime_handler="runc",
    )
)  # fmt: skip
CONTAINER: Final = container_to_proto(
    Container("c1", "c0ffee", "main", ContainerState.RUNNING, {"app": "red"}, {"a": "b"})
)
CONFIGURE: Final = pb.ConfigureRequest(
    runtime_name="containerd", runtime_version="2.3.4", NRI_version="0.12.0",
    request_timeout=2000, config="x: 1",
)  # fmt: skip
CALLS: Final[tuple[tuple[str, Message], ...]] = (
    ("Configure", CONFIGURE),
    ("Synchronize", pb.SynchronizeRequest(pods=[POD], containers=[CONTAINER])),
    ("RunPodSandbox", pb.PodSandboxRequest(pod=POD)),
    ("StopPodSandbox", pb.PodSandboxRequest(pod=POD)),
    ("RemovePodSandbox", pb.PodSandboxRequest(pod=POD)),
    ("CreateContainer", pb.CreateContainerRequest(pod=POD, container=CONTAINER)),
    ("StateChange", pb.StateChangeEvent(event=pb.RUN_POD_SANDBOX, pod=POD)),
    ("Shutdown", pb.Empty()),
)
PAYLOADS: Final = tuple(message.SerializeToString() for _, message in CALLS)
REQUESTS: Final = tuple(
    ttrpc.Request(number, PLUGIN_SIDE.serves.name, name, payload, 2.0).encode()
    for number, ((name, _), payload) in enumerate(zip(CALLS, PAYLOADS, strict=True), 1)
)
RESPONSES: Final = (
    ttrpc.Response(1, PAYLOADS[0]).encode(),
    ttrpc.failure(3, ttrpc.Code.UNKNOWN, "no").encode(),
)
FRAMES: Final = (
    *(mux.encode(mux.PLUGIN_CONN, message) for message in REQUESTS),
    *(mux.encode(mux.RUNTIME_CONN, message) for message in RESPONSES),
    mux.encode(mux.PLUGIN_CONN, REQUESTS[0]) + mux.encode(mux.RUNTIME_CONN, RESPONSES[0]),
    mux.encode(9, b"nobody is there"),
)


class Indifferent:
    """Handlers that take whatever they are told, and remember nothing of it."""

    async def configure(self, runtime: RuntimeInfo) -> None:
        """Fine."""

    async def synchronize(
        self, pods: Sequence[PodSandbox], containers: Sequence[Container], *, deadline_s: float
    ) -> None:
        """Fine."""

    async def run_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Fine."""

    async def stop_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Fine."""

    async def remove_pod_sandbox(self, pod: PodSandbox, *, deadline_s: float) -> None:
        """Fine."""

    async def create_container(
        self, pod: PodSandbox, container: Container, *, deadline_s: float
    ) -> None:
        """Fine."""


def ignore(_runtime: RuntimeInfo) -> None:
    """Nobody wants to know that a plugin is synchronized."""


def pieces(data: bytes) -> tuple[bytes, bytes]:
    """Cut bytes in two, at a place that the bytes themselves say."""
    cut = sum(data[:4]) % (len(data) + 1)
    return data[:cut], data[cut:]


def test_mux() -> None:
    """However a stream of frames is spoiled, only ProtocolError comes of it."""

    def decode(data: bytes) -> list[mux.Frame]:
        decoder = mux.Decoder()
        return [frame for piece in pieces(data) for frame in decoder.feed(piece)]

    try_all(decode, FRAMES, raises=ProtocolError)


def test_ttrpc() -> None:
    """So it is with messages, and with the requests and responses in them."""

    def decode(data: bytes) -> object:
        decoder = ttrpc.Decoder()
        found = [message for piece in pieces(data) for message in decoder.feed(piece)]
        return [
            ttrpc.parse_response(message)
            if message.type == ttrpc.MessageType.RESPONSE
            else ttrpc.parse_request(message)
            for message in found
        ]

    try_all(decode, (*REQUESTS, *RESPONSES), raises=ProtocolError)


def test_connection() -> None:
    """Frames and messages together, as they come to the plugin."""

    def decode(data: bytes) -> object:
        endpoint = Endpoint(PLUGIN_SIDE)
        return [event for piece in pieces(data) for event in endpoint.receive(piece)]

    try_all(decode, FRAMES, raises=ProtocolError)


def test_values() -> None:
    """A message that is readable at all becomes a value, and what is kept of it can be sent."""
    pod, container = POD.SerializeToString(), CONTAINER.SerializeToString()
    configure = CONFIGURE.SerializeToString()

    def decode(data: bytes) -> object:
        try:
            read = pod_from_proto(pb.PodSandbox.FromString(data))
            assert pod_from_proto(pod_to_proto(read)) == read
        except DecodeError:
            found = container_from_proto(pb.Container.FromString(data))
            assert container_from_proto(container_to_proto(found)) == found
        return runtime_from_proto(pb.ConfigureRequest.FromString(data))

    try_all(decode, (pod, container, configure), raises=DecodeError)


@virtual_time  # a runtime may give a hook a millisecond, which must not be too little here
async def test_calls_are_answered() -> None:
    """Whatever the payload of a call is, the call is answered, and none of them stays behind."""
    trial = Trial(PAYLOADS)
    with trial.noted():
        payloads = iter(trial)
        while await one_connection(trial, payloads):
            pass


async def one_connection(trial: Trial, payloads: Iterator[bytes]) -> bool:
    """Call every method some times on one connection; False: there was nothing left to send."""
    async with TaskScope() as tasks:
        methods = PluginService(Indifferent(), HookRunner(tasks), ignore).methods()
        names = [name for name, _ in CALLS] * 100
        number = 0
        for number, (name, payload) in enumerate(zip(names, payloads, strict=False), 1):
            request = ttrpc.Request(number, PLUGIN_SIDE.serves.name, name, payload)
            response = await methods[name](request, None)
            assert response.code in {ttrpc.Code.OK, ttrpc.Code.INVALID_ARGUMENT}, response.text
            if response.code == ttrpc.Code.OK:
                trial.take()
        assert not tasks._running
    return number > 0

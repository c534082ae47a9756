"""A kubelet that sends anything at all is answered, or told that its request is unreadable."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import pytest
from google.protobuf.message import DecodeError
from grpclib.client import Channel, UnaryUnaryMethod
from grpclib.const import Handler, Status
from grpclib.encoding.base import CodecBase
from grpclib.encoding.proto import ProtoCodec
from grpclib.exceptions import GRPCError
from grpclib.server import Stream

from netclaim.kubelet import DRA_APIS, V1, DeviceHealth, DraApi, Health, HealthBoard, Registration
from netclaim.kubelet.dra import DraService
from netclaim.kubelet.health import HEALTH_APIS, HealthService
from netclaim.kubelet.proto import dra_health_v1_pb2 as health_pb
from netclaim.kubelet.proto import registration_pb2 as registration_pb
from netclaim.kubelet.server import CallGate, GrpcService
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer
from tests.support.fuzzing import Trial, try_all
from tests.support.kubelet_parts import BLUE, DRIVER, RED, Answering, device_for, served

REQUESTS: Final = (
    V1.prepare_request([RED]).SerializeToString(),
    V1.unprepare_request([RED, BLUE]).SerializeToString(),
    registration_pb.RegistrationStatus(plugin_registered=True, error="e").SerializeToString(),
)
ANSWERS: Final = {
    RED.uid: PrepareAnswer(devices=(device_for(RED),)),
    BLUE.uid: PrepareAnswer(error="no"),
}
RESPONSES: Final = (
    *(api.prepare_response(ANSWERS).SerializeToString() for api in DRA_APIS),
    V1.unprepare_response({RED.uid: None, BLUE.uid: "no"}).SerializeToString(),
    health_pb.NodeWatchResourcesResponse(
        devices=[
            health_pb.DeviceHealth(
                device=health_pb.DeviceIdentifier(pool_name="node-1", device_name="eth1"),
                health=health_pb.UNHEALTHY,
                last_updated_time=7,
                message="m",
            )
        ]
    ).SerializeToString(),
)


class HungUpError(Exception):
    """Kubelet has heard enough of a list that never ends."""


class Wire:
    """A call's stream as its handler sees it: the request's bytes in, the answer's bytes out."""

    codec = ProtoCodec()

    def __init__(self, handler: Handler, request: bytes) -> None:
        self._handler = handler
        self._request = request
        self.answers: list[bytes] = []

    async def recv_message(self) -> Any:
        """Decode the request, as grpclib does."""
        return self.codec.decode(self._request, self._handler.request_type)

    async def send_message(self, message: Any) -> None:
        """Encode an answer."""
        self.answers.append(self.codec.encode(message, self._handler.reply_type))
        if self._handler.cardinality.server_streaming:
            raise HungUpError

    async def send_trailing_metadata(self) -> None:
        """The end of a call that went well."""


class Forgetful:
    """Prepares every claim and releases every claim, and remembers none."""

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """One device a claim."""
        return {ref.uid: PrepareAnswer(devices=(device_for(ref),)) for ref in refs}

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Success for each."""
        return dict.fromkeys((ref.uid for ref in refs), None)


class AnyBytes(CodecBase):
    """Sends bytes as they are; the answer is read as usual."""

    __content_subtype__ = "proto"

    def encode(self, message: Any, message_type: Any) -> bytes:
        """The bytes."""
        return bytes(message)

    def decode(self, data: bytes, message_type: Any) -> Any:
        """The answer."""
        return message_type.FromString(data)


def handlers() -> dict[str, Handler]:
    """All that kubelet can call of a driver."""
    board = HealthBoard([DeviceHealth("node-1", "eth1", Health.HEALTHY)])
    services: list[GrpcService] = [DraService(api, Forgetful()) for api in DRA_APIS]
    services.append(HealthService(board, clock=lambda: 7.0))
    services.append(Registration(DRIVER, Path("/a/dra.sock"), lambda verdict: None))
    return dict(CallGate(services).__mapping__())


async def call(handler: Handler, request: bytes) -> bytes | None:
    """The answer to a call; None where the request is refused as unreadable."""
    wire = Wire(handler, request)
    try:
        await handler.func(cast("Stream[Any, Any]", wire))
    except GRPCError as error:
        if error.status is not Status.INVALID_ARGUMENT or wire.answers:
            raise
        return None
    except HungUpError:
        pass
    (answer,) = wire.answers
    return answer


async def test_requests() -> None:
    """Each readable request has its one answer, which names every claim that it asks about."""
    verbs = ("NodePrepareResources", "NodeUnprepareResources")
    about_claims = {api.path(verb) for api in DRA_APIS for verb in verbs}
    trial = Trial(REQUESTS)
    with trial.noted():
        for data, (path, handler) in zip(trial, itertools.cycle(handlers().items()), strict=False):
            answer = await call(handler, data)
            if answer is None:
                continue
            trial.take()
            if path in about_claims:
                asked = {claim.uid for claim in handler.request_type.FromString(data).claims}
                assert set(handler.reply_type.FromString(answer).claims) == asked


@pytest.mark.parametrize("api", DRA_APIS, ids=lambda api: api.version)
def test_responses(api: DraApi) -> None:
    """Kubelet's side reads any readable answer; a health that it does not know is unknown."""

    def decode(data: bytes) -> object:
        messages = api.messages
        return (
            HEALTH_APIS[0].healths(health_pb.NodeWatchResourcesResponse.FromString(data)),
            api.prepare_answers(messages.NodePrepareResourcesResponse.FromString(data)),
            api.unprepare_errors(messages.NodeUnprepareResourcesResponse.FromString(data)),
        )

    try_all(decode, RESPONSES, raises=DecodeError)


async def test_unreadable_request_over_a_socket() -> None:
    """It is refused as such, and the next one on the same connection is answered."""
    messages = V1.messages
    async with (
        served(Answering()) as driver,
        Channel(path=str(driver.sockets.dra), codec=AnyBytes()) as channel,
    ):
        prepare = UnaryUnaryMethod[Any, Any](
            channel, V1.path("NodePrepareResources"), bytes, messages.NodePrepareResourcesResponse
        )
        with pytest.raises(GRPCError) as caught:
            await prepare(b"\x0a\xff")
        assert caught.value.status is Status.INVALID_ARGUMENT
        assert caught.value.message == "the request is unreadable"
        answer = await prepare(REQUESTS[0])
    assert V1.prepare_answers(answer) == {RED.uid: ANSWERS[RED.uid]}

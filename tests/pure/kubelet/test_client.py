"""Kubelet's side against drivers that do it wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from grpclib.const import Cardinality, Handler, Status
from grpclib.server import Stream

from netclaim.errors import PeerError
from netclaim.kubelet import (
    V1,
    DraClient,
    DriverCallError,
    DriverInfo,
    RegisteredDriver,
    ask_info,
    register,
)
from netclaim.kubelet.dra_api import DraApi
from netclaim.kubelet.proto import registration_pb2 as pb
from netclaim.kubelet.registration import GET_INFO, NOTIFY_STATUS
from netclaim.kubelet.server import receive, serving
from netclaim.model.on_node.prepared import PrepareAnswer
from tests.support.kubelet_parts import BLUE, RED, kubelet_directory


class Introduces:
    """Introduces itself as it is told, and keeps the verdict."""

    def __init__(self, info: pb.PluginInfo) -> None:
        self.info = info
        self.verdicts: list[pb.RegistrationStatus] = []

    def __mapping__(self) -> Mapping[str, Handler]:
        unary = Cardinality.UNARY_UNARY
        return {
            GET_INFO: Handler(self.get_info, unary, pb.InfoRequest, pb.PluginInfo),
            NOTIFY_STATUS: Handler(
                self.notify, unary, pb.RegistrationStatus, pb.RegistrationStatusResponse
            ),
        }

    async def get_info(self, stream: Stream[Any, Any]) -> None:
        """The introduction."""
        await stream.send_message(self.info)

    async def notify(self, stream: Stream[Any, Any]) -> None:
        """The verdict."""
        self.verdicts.append(await receive(stream))
        await stream.send_message(pb.RegistrationStatusResponse())


class AnswersFor:
    """Answers for one claim, whichever it was asked about."""

    def __init__(self, api: DraApi, uid: str) -> None:
        self.api = api
        self.uid = uid

    def __mapping__(self) -> Mapping[str, Handler]:
        messages = self.api.messages
        return {
            self.api.path("NodePrepareResources"): Handler(
                self.prepare,
                Cardinality.UNARY_UNARY,
                messages.NodePrepareResourcesRequest,
                messages.NodePrepareResourcesResponse,
            )
        }

    async def prepare(self, stream: Stream[Any, Any]) -> None:
        """Nothing but the one claim."""
        await stream.send_message(self.api.prepare_response({self.uid: PrepareAnswer()}))


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        (pb.PluginInfo(type="CSIPlugin", name="disk"), "not a DRAPlugin"),
        (pb.PluginInfo(type="DRAPlugin", name="net"), "has no endpoint"),
        (
            pb.PluginInfo(type="DRAPlugin", name="net", endpoint="/a", supported_versions=["v9"]),
            "supports v9, this kubelet v1.DRAPlugin, v1beta1.DRAPlugin",
        ),
    ],
)
async def test_odd_plugin_is_refused_and_told_why(info: pb.PluginInfo, reason: str) -> None:
    """A plugin that kubelet cannot use hears the reason before the caller does."""
    plugin = Introduces(info)
    with kubelet_directory() as root:
        async with serving(root / "a.sock", [plugin]):
            with pytest.raises(PeerError, match=reason) as refusal:
                await register(root / "a.sock")
    assert plugin.verdicts == [pb.RegistrationStatus(error=str(refusal.value))]


def at(endpoint: Path) -> RegisteredDriver:
    """A driver as if it had registered."""
    return RegisteredDriver("net", endpoint, V1, ("v1.DRAPlugin",))


async def test_skipped_claim_spoils_the_call() -> None:
    """As with kubelet, a driver that skips a claim and answers for another has failed."""
    with kubelet_directory() as root:
        async with (
            serving(root / "a.sock", [AnswersFor(V1, BLUE.uid)]),
            DraClient(at(root / "a.sock")) as call,
        ):
            with pytest.raises(PeerError, match=r"skipped.*uid-red.*answered.*uid-blue"):
                await call.prepare([RED])


async def test_driver_that_is_not_there() -> None:
    """A call to a driver that is gone is a PeerError with gRPC's UNAVAILABLE."""
    with kubelet_directory() as root:
        async with DraClient(at(root / "a.sock")) as call:
            with pytest.raises(DriverCallError) as absent:
                await call.prepare([RED])
    assert absent.value.status is Status.UNAVAILABLE


async def test_connection_is_made_again() -> None:
    """A client outlives a restart of its driver; only a call in between fails."""
    with kubelet_directory() as root:
        path = root / "a.sock"
        async with DraClient(at(path)) as call:
            for _ in range(2):
                async with serving(path, [AnswersFor(V1, RED.uid)]):
                    assert await call.prepare([RED]) == {RED.uid: PrepareAnswer()}
                with pytest.raises(DriverCallError):
                    await call.prepare([RED])


async def test_asking_only() -> None:
    """Asking who is there registers nobody and gives no verdict, however often it is done."""
    info = pb.PluginInfo(
        type="DRAPlugin", name="d.example.com", endpoint="/run/d.sock", supported_versions=["v9"]
    )
    plugin = Introduces(info)
    with kubelet_directory() as root:
        path = root / "plugins_registry" / "d-reg.sock"
        async with serving(path, [plugin]):
            expected = DriverInfo("DRAPlugin", "d.example.com", Path("/run/d.sock"), ("v9",))
            assert await ask_info(path) == expected
            assert await ask_info(path) == expected
        assert plugin.verdicts == []
        with pytest.raises(PeerError):
            await ask_info(path)

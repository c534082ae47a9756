"""Registration over a real socket: the introduction, kubelet's verdict, odd authorities."""

import contextlib

import pytest
from grpclib.client import Channel, StreamUnaryMethod, UnaryUnaryMethod
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from structlog.testing import capture_logs

from netclaim.errors import PeerError
from netclaim.kubelet import V1, V1BETA1, RegistrationVerdict
from netclaim.kubelet.proto import registration_pb2 as pb
from netclaim.kubelet.registration import GET_INFO
from tests.support.kubelet_parts import DRIVER, Answering, served


async def get_info(channel: Channel) -> pb.PluginInfo:
    """The driver's introduction."""
    return await UnaryUnaryMethod(channel, GET_INFO, pb.InfoRequest, pb.PluginInfo)(
        pb.InfoRequest(), timeout=10
    )


async def test_introduction() -> None:
    """The driver introduces itself with its name, its absolute socket and v1 before v1beta1."""
    async with served(Answering()) as driver:
        async with Channel(path=str(driver.sockets.registration)) as channel:
            info = await get_info(channel)
        assert info.type == "DRAPlugin"
        assert info.name == DRIVER
        assert info.endpoint == str(driver.sockets.dra)
        assert list(info.supported_versions) == [
            "v1.DRAPlugin",
            "v1beta1.DRAPlugin",
            "v1.DRAResourceHealth",
            "v1alpha1.DRAResourceHealth",
        ]


@pytest.mark.parametrize(
    "authority",
    [
        "localhost",
        "%2Fvar%2Flib%2Fkubelet%2Fplugins_registry%2Fa-reg.sock",  # kubelet's bare path
        "/var/lib/kubelet/plugins_registry/a-reg.sock",
        "a-reg.sock",
        "",
    ],
)
async def test_any_authority_is_answered(authority: str) -> None:
    """Whatever a client makes of a socket path as :authority, it is answered."""
    async with (
        served(Answering()) as driver,
        Channel(path=str(driver.sockets.registration)) as channel,
    ):
        channel._authority = authority
        assert (await get_info(channel)).name == DRIVER


async def test_request_without_a_message_is_refused() -> None:
    """A call that ends before its message is the client's fault, and it is told so."""
    async with (
        served(Answering()) as driver,
        Channel(path=str(driver.sockets.registration)) as channel,
    ):
        empty = StreamUnaryMethod(channel, GET_INFO, pb.InfoRequest, pb.PluginInfo)
        with pytest.raises(GRPCError) as refusal:
            await empty([], timeout=10)
    assert refusal.value.status is Status.INVALID_ARGUMENT


async def test_accepted_driver_is_registered() -> None:
    """Kubelet's acceptance ends the wait and is told to the observer; a second one as well."""
    async with served(Answering()) as driver:
        first = await driver.register()
        await driver.registration.wait_registered()
        again = await driver.register()
        await driver.registration.wait_registered()
        assert first == again
        assert first.endpoint == driver.sockets.dra
        assert driver.verdicts == [RegistrationVerdict(registered=True)] * 2


async def test_new_kubelet_takes_v1() -> None:
    """A kubelet that knows both versions takes the driver's first."""
    async with served(Answering()) as driver:
        assert (await driver.register(known=(V1BETA1, V1))).api is V1


async def test_old_kubelet_takes_v1beta1() -> None:
    """A kubelet of the time before v1 finds its version in the driver's list."""
    async with served(Answering()) as driver:
        assert (await driver.register(known=(V1BETA1,))).api is V1BETA1


async def test_refusal_is_told_in_kubelets_words() -> None:
    """A refused driver logs kubelet's reason, tells its observer, and is not registered."""
    async with served(Answering()) as driver:
        with capture_logs() as logs, pytest.raises(PeerError) as refusal:
            await driver.register(known=())
        assert driver.verdicts == [RegistrationVerdict(registered=False, error=str(refusal.value))]
        refused = [entry["error"] for entry in logs if entry["event"] == "kubelet.refused"]
        assert refused == [str(refusal.value)]
        assert not driver.registration.registered


async def test_refusal_after_acceptance_counts() -> None:
    """A driver that kubelet refuses later must wait for its next acceptance."""
    async with served(Answering()) as driver:
        await driver.register()
        await driver.registration.wait_registered()
        with contextlib.suppress(PeerError):
            await driver.register(known=())
        assert not driver.registration.registered
        await driver.register()
        await driver.registration.wait_registered()

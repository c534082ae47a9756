"""One node as kubelet, the API server and the driver's journal see it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.server import Server, Stream

from netclaim.cli import main
from netclaim.errors import HostError, PeerError
from netclaim.framework.journal.journal import open_journal
from netclaim.framework.journal.read_only import Glimpse, peek
from netclaim.framework.journal.records import Booking, Lease
from netclaim.framework.journal.store import JournalError
from netclaim.kubelet.pod_resources import (
    LIST,
    HeldDevice,
    KubeletClaim,
    KubeletPod,
    list_pod_resources,
    socket_below,
)
from netclaim.kubelet.proto import pod_resources_pb2 as pb
from netclaim.model.claims.claim import AllocatedDevice
from netclaim.model.on_node.attachment import Attachment, Interface
from netclaim.model.on_node.plan import Plan, Prepared
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef
from netclaim.status.node_view import NodeView, Said, known_claims, node_view
from netclaim.status.objects import read_objects
from tests.support.kube.stub import Reply, serve_stub, status
from tests.support.status_objects import DRIVER, claim, pod


class Kubelet:
    """A kubelet whose pod has one claim, named by two containers, and another that has none."""

    refuses = False

    def __mapping__(self) -> Mapping[str, Handler]:
        unary = Cardinality.UNARY_UNARY
        handler = Handler(
            self._list, unary, pb.ListPodResourcesRequest, pb.ListPodResourcesResponse
        )
        return {LIST: handler}

    async def _list(self, stream: Stream[Any, Any]) -> None:
        await stream.recv_message()
        if self.refuses:
            raise GRPCError(Status.RESOURCE_EXHAUSTED, "rejected by rate limit")
        held = pb.ClaimResource(
            driver_name=DRIVER,
            pool_name="one",
            device_name="eth0",
            share_id="s",
            cdi_devices=[pb.CDIDevice(name="k/c=d")],
        )
        claims = [
            pb.DynamicResource(claim_name="a", claim_namespace="default", claim_resources=[held])
        ]
        containers = [
            pb.ContainerResources(name=name, dynamic_resources=claims) for name in ("c", "d")
        ]
        pods = [
            pb.PodResources(name="p", namespace="default", containers=containers),
            pb.PodResources(name="plain", namespace="default"),
        ]
        await stream.send_message(pb.ListPodResourcesResponse(pod_resources=pods))


@asynccontextmanager
async def kubelet_in(directory: Path) -> AsyncIterator[Kubelet]:
    """A kubelet on its socket."""
    path = socket_below(directory)
    path.parent.mkdir(parents=True)
    kubelet = Kubelet()
    server = Server([kubelet])
    await server.start(path=str(path))
    try:
        yield kubelet
    finally:
        server.close()
        await server.wait_closed()


async def test_kubelet_lists_pods_with_their_claims(tmp_path: Path) -> None:
    """A claim is listed once for a pod, with the containers that name it and its devices."""
    async with kubelet_in(tmp_path) as kubelet:
        found = await list_pod_resources(socket_below(tmp_path))
        device = HeldDevice(DRIVER, "one", "eth0", "s", ("k/c=d",))
        assert found == (
            KubeletPod("default", "p", (KubeletClaim("default", "a", ("c", "d"), (device,)),)),
            KubeletPod("default", "plain"),
        )
        kubelet.refuses = True
        with pytest.raises(PeerError, match="RESOURCE_EXHAUSTED: rejected by rate limit"):
            await list_pod_resources(socket_below(tmp_path))


async def test_a_node_without_kubelet(tmp_path: Path) -> None:
    """Without a socket the admin is told where to run this; without a listener, that it is so."""
    with pytest.raises(HostError, match=r"kubelet.sock does not exist: this is for a node"):
        await list_pod_resources(socket_below(tmp_path))
    path = socket_below(tmp_path)
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    with pytest.raises(PeerError, match="kubelet does not answer at"):
        await list_pod_resources(path)


REF = ClaimRef(uid="uid-a", namespace="default", name="a")
GIVEN = AllocatedDevice(request="nic", driver=DRIVER, pool="one", device="eth0")
PLAN = Plan(claim=REF, device=GIVEN, network={})
LEASE = Lease(
    Attachment(
        plan=PLAN,
        pod=PodSandbox("s1", "uid-p", "default", "p"),
        interface=Interface("net1", ips=("10.0.0.2/24",)),
    ),
    "attached",
)
BOOKING = Booking(
    claim=REF, devices=(GIVEN,), prepared=Prepared(claim=REF, plans=(PLAN,)), state="ready"
)


async def test_a_journal_is_read_while_its_driver_writes(tmp_path: Path) -> None:
    """Another process sees what is on the disk, and does not keep the driver from writing."""
    path = tmp_path / "journal.db"
    async with open_journal(path, "boot") as journal:
        assert peek(path) == Glimpse((), ())
        await journal.put_booking(BOOKING)
        await journal.put_leases([LEASE])
        assert peek(path) == Glimpse((BOOKING,), (LEASE,))
        await journal.drop_lease(LEASE.attachment.key)
    assert peek(path) == Glimpse((BOOKING,), ())


def test_a_journal_that_cannot_be_read(tmp_path: Path) -> None:
    """No file, and a file that is none of ours, are errors that name it."""
    with pytest.raises(JournalError, match="unable to open database file"):
        peek(tmp_path / "journal.db")
    (tmp_path / "journal.db").write_text("not a database, whatever its name says")
    with pytest.raises(JournalError, match="file is not a database"):
        peek(tmp_path / "journal.db")
    assert [one.name for one in tmp_path.iterdir()] == ["journal.db"]


def held(name: str = "a", device: str = "eth0") -> KubeletPod:
    """A pod of kubelet's with a claim."""
    devices = (HeldDevice(DRIVER, "one", device),)
    return KubeletPod("default", "p", (KubeletClaim("default", name, ("c",), devices),))


def said(*objects: dict[str, Any], hidden: frozenset[tuple[str, str]] = frozenset()) -> Said:
    """What the API server says."""
    return Said(read_objects(objects), hidden)


def view(kubelet: KubeletPod, api: Said | None, journal: Glimpse | None) -> NodeView:
    """The three beside each other."""
    return node_view([kubelet], api, journal, drivers=frozenset({DRIVER}), node="one")


IN_API = said(claim("a", "eth0", pods=("p",)), pod("p", "a", on="one"))
JOURNAL = Glimpse((BOOKING,), (LEASE,))
EMPTY = Glimpse((), ())
NO_CLAIMS = KubeletPod("default", "p")


def test_all_agree() -> None:
    """A claim that all three know is one row, with what each says."""
    found = view(held(), IN_API, JOURNAL)
    (row,) = found.claims
    assert found.differences == ()
    assert (row.kubelet, row.api, row.journal) == (("one/eth0",), ("one/eth0",), "ready")
    assert (row.pods, row.interfaces) == (("p",), ("p: net1 10.0.0.2/24",))
    assert known_claims([held()], JOURNAL) == {("default", "a")}


@pytest.mark.parametrize(
    ("kubelet", "api", "journal", "differences"),
    [
        (held(), None, None, []),
        (held(), None, JOURNAL, []),
        (held(device="eth9"), IN_API, JOURNAL, ["kubelet has one/eth9, but the API server says"]),
        (held(), said(), None, ["kubelet has it, but the API server does not"]),
        (held(), said(hidden=frozenset({("default", "a")})), None, []),
        (held(), IN_API, EMPTY, ["kubelet has it, but the driver's journal does not"]),
        (
            NO_CLAIMS,
            said(pod("p", on="one")),
            JOURNAL,
            ["it is in the driver's journal, but not on the API server"],
        ),
        (NO_CLAIMS, IN_API, JOURNAL, ["pod p runs with it, but kubelet does not list it"]),
        # A claim that no container names is not listed by kubelet, and not missed.
        (
            NO_CLAIMS,
            said(claim("a", "eth0", pods=("p",)), pod("p", "a", on="one", containers=False)),
            JOURNAL,
            [],
        ),
        (
            NO_CLAIMS,
            said(claim("a", "eth0", pods=("p",)), pod("p", "a", on="one", phase="Pending")),
            JOURNAL,
            [],
        ),
    ],
)
def test_differences(
    kubelet: KubeletPod, api: Said | None, journal: Glimpse | None, differences: list[str]
) -> None:
    """What they do not agree on is said; nothing is concluded from who was not asked."""
    found = view(kubelet, api, journal).differences
    assert [
        one.partition(": ")[2][: len(said)] for one, said in zip(found, differences, strict=True)
    ] == differences


def run(*arguments: str) -> int:
    """Run netclaim status kubelet in this process and return how it exits."""
    with pytest.raises(SystemExit) as caught:
        main(["status", "kubelet", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


async def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It asks for the node's own pods and for single claims only, as a node may."""
    dra = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    async with kubelet_in(tmp_path), serve_stub() as server:
        server.on("GET", "/apis/resource.k8s.io", Reply({"versions": [{"version": "v1"}]}))
        server.on("GET", "/api/v1/pods", Reply({"items": [pod("p", "a", "b", on="one")]}))
        server.on("GET", f"{dra}/a", Reply(claim("a", "eth0", pods=("p",))))
        server.on("GET", f"{dra}/b", Reply(status(404, "NotFound", "no b"), 404))
        config = tmp_path / "kubeconfig"
        named = {"cluster": "c", "user": "u"}
        config.write_text(
            json.dumps(
                {
                    "clusters": [{"name": "c", "cluster": {"server": server.url}}],
                    "users": [{"name": "u", "user": {}}],
                    "contexts": [{"name": "x", "context": named}],
                    "current-context": "x",
                }
            )
        )
        options = ["--kubelet-dir", str(tmp_path), "--state-dir", str(tmp_path / "none")]
        options += ["--kubeconfig", str(config), "--node-name", "one", "-o", "json"]
        assert await asyncio.to_thread(run, *options, "--exit-code") == 1
        asked = [seen for seen in server.seen if seen.path == "/api/v1/pods"]
    assert [seen.query["fieldSelector"] for seen in asked] == ["spec.nodeName=one"]
    found = json.loads(capsys.readouterr().out)
    assert [(one["claim"], one["kubelet"], one["api"]) for one in found["claims"]] == [
        ("a", ["one/eth0"], ["one/eth0"]),
        ("b", [], []),
    ]
    assert found["differences"] == [
        "claim default/b: pod p runs with it, but kubelet does not list it"
    ]
    assert [one.partition(":")[0] for one in found["notes"]] == [
        "the driver's journal was not read"
    ]

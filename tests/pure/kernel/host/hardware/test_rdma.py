"""RDMA devices: their files in sysfs, and the messages of their own netlink protocol."""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from netclaim.kernel import Netns, Rtnl, open_netns
from netclaim.kernel.host.hardware.rdma import follows_namespaces, rdma_files
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import KernelError, attributes, number, text, text_of, u32
from netclaim.kernel.requests.rdma import RdmaStaysError, list_rdma, make_rdma, move_rdma
from tests.pure.kernel.test_netlink import encoded, verdict

GET = (uapi.RDMA_NL_NLDEV << 10) + uapi.RDMA_NLDEV_CMD_GET
DONE = struct.pack("=i", 0)
NEVER_S = 60.0


@pytest.fixture
def ends() -> Iterator[tuple[Rtnl, socket.socket]]:
    """A client, and the end that the test answers from."""
    ours, kernels = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    with ours, kernels:
        yield Rtnl(ours, timeout_s=NEVER_S), kernels


@pytest.fixture
def pod() -> Iterator[Netns]:
    """Some namespace."""
    with open_netns("/proc/self/ns/net") as opened:
        yield opened


def device(index: int, name: str) -> bytes:
    """How the kernel lists an RDMA device."""
    return u32(uapi.RDMA_NLDEV_ATTR_DEV_INDEX, index) + text(uapi.RDMA_NLDEV_ATTR_DEV_NAME, name)


def tell_list(kernel: socket.socket) -> None:
    """Answer the first request."""
    for index, name in enumerate(("mlx5_0", "mlx5_1")):
        kernel.send(encoded(GET, 1, device(index, name)))
    kernel.send(encoded(uapi.NLMSG_DONE, 1, DONE))


async def test_listed_by_name(ends: tuple[Rtnl, socket.socket]) -> None:
    """A device has an index, which moving it takes."""
    client, kernel = ends
    tell_list(kernel)
    assert await list_rdma(client) == {"mlx5_0": 0, "mlx5_1": 1}


async def test_moved_by_index(ends: tuple[Rtnl, socket.socket], pod: Netns) -> None:
    """The request names the device by its index and the namespace by a descriptor."""
    client, kernel = ends
    tell_list(kernel)
    kernel.send(verdict(2, 0))
    assert await move_rdma(client, "mlx5_1", pod)
    kernel.recv(4096)
    sent = dict(attributes(kernel.recv(4096), 16))
    assert number(sent[uapi.RDMA_NLDEV_ATTR_DEV_INDEX]) == 1
    assert os.fstat(number(sent[uapi.RDMA_NLDEV_NET_NS_FD])).st_ino


async def test_a_device_of_another_namespace_is_left_alone(
    ends: tuple[Rtnl, socket.socket], pod: Netns
) -> None:
    """One that is home already is not moved again."""
    client, kernel = ends
    tell_list(kernel)
    assert not await move_rdma(client, "mlx5_7", pod)


@pytest.mark.parametrize(
    ("code", "error"), [(errno.EOPNOTSUPP, RdmaStaysError), (errno.EPERM, KernelError)]
)
async def test_why_a_device_stays(
    ends: tuple[Rtnl, socket.socket], pod: Netns, code: int, error: type[Exception]
) -> None:
    """A kernel driver that cannot move its devices is no bug of ours; what to do is said."""
    client, kernel = ends
    tell_list(kernel)
    kernel.send(verdict(2, code))
    with pytest.raises(error) as raised:
        await move_rdma(client, "mlx5_0", pod)
    assert ("rdma system set netns shared" in str(raised.value)) == (error is RdmaStaysError)


async def test_made_of_a_link(ends: tuple[Rtnl, socket.socket]) -> None:
    """A device in software has a name, a type and a link."""
    client, kernel = ends
    kernel.send(verdict(1, 0))
    await make_rdma(client, "rxe0", "eth1")
    sent = dict(attributes(kernel.recv(4096), 16))
    assert {kind: text_of(value) for kind, value in sent.items()} == {
        uapi.RDMA_NLDEV_ATTR_DEV_NAME: "rxe0",
        uapi.RDMA_NLDEV_ATTR_LINK_TYPE: "rxe",
        uapi.RDMA_NLDEV_ATTR_NDEV_NAME: "eth1",
    }


def sysfs_at(root: Path) -> Path:
    """Two RDMA devices, with the files that the kernel has for each."""
    for number_, name in enumerate(("mlx5_0", "mlx5_1")):
        for kind, file in (("verbs", f"uverbs{number_}"), ("mad", f"umad{number_}")):
            entry = root / f"class/infiniband_{kind}" / file
            entry.mkdir(parents=True)
            (entry / "ibdev").write_text(f"{name}\n")
    (root / "class/infiniband_verbs/abi_version").write_text("6\n")
    (root / "class/misc/rdma_cm").mkdir(parents=True)
    return root


def test_files_of_one_device(tmp_path: Path) -> None:
    """A container gets its own device's verbs and connections, not the fabric's management."""
    root = sysfs_at(tmp_path)
    own = ("/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm")
    assert rdma_files(("mlx5_1",), root) == own
    assert rdma_files(("mlx5_7",), root) == rdma_files((), root) == ()
    assert rdma_files(("mlx5_0",), tmp_path / "none") == ()


@pytest.mark.parametrize(("mode", "follows"), [("Y", False), ("N", True), (None, False)])
def test_who_sees_rdma_devices(tmp_path: Path, mode: str | None, follows: bool) -> None:
    """Without the subsystem, nothing has to follow."""
    if mode is not None:
        file = tmp_path / "module/ib_core/parameters/netns_mode"
        file.parent.mkdir(parents=True)
        file.write_text(f"{mode}\n")
    assert follows_namespaces(tmp_path) == follows

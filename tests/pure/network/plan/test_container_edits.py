"""Files of RDMA devices, which go to containers with their link."""

from pathlib import Path
from typing import Any

import pytest

from netclaim.cni import parse_network
from netclaim.model import ContainerEdits, DeviceNode
from netclaim.network.plan.container_edits import edits_with
from netclaim.plugins.host_device.rdma import rdma_with
from tests.pure.kernel.host.hardware.test_rdma import sysfs_at
from tests.support.fake_cards import FakeCards
from tests.support.network_parts import link_of

HOST_DEVICE = {"type": "host-device"}
FILES = ContainerEdits(
    device_nodes=(DeviceNode("/dev/infiniband/uverbs0"), DeviceNode("/dev/infiniband/rdma_cm"))
)


@pytest.mark.parametrize(
    ("name", "plugin", "edits"),
    [
        ("eth1", HOST_DEVICE, FILES),
        ("eth1", {"type": "macvlan", "master": "eth1"}, None),
        ("eth2", HOST_DEVICE, None),
        ("eth3", HOST_DEVICE, None),
    ],
)
async def test_files_go_with_the_link(
    tmp_path: Path, name: str, plugin: dict[str, Any], edits: ContainerEdits | None
) -> None:
    """Not to pods that share it, nor with a link without RDMA or with RDMA in software."""
    root = sysfs_at(tmp_path)
    for index, each in enumerate(("eth1", "eth2", "eth3"), start=1):
        entry = root / "class/net" / each
        entry.mkdir(parents=True)
        (entry / "ifindex").write_text(f"{index}\n")
    (root / "class/net/eth1/device/infiniband/mlx5_0").mkdir(parents=True)
    (root / "class/net/eth3/device/infiniband/mlx5_1").mkdir(parents=True)
    (root / "class/infiniband/mlx5_1").mkdir(parents=True)
    (root / "class/infiniband/mlx5_1/parent").write_text("eth3\n")
    network = parse_network({"cniVersion": "1.0.0", "name": "n", **plugin})
    assert await edits_with(network, link_of(name, int(name[-1])), root) == edits


@pytest.mark.parametrize(
    ("ports", "edits"),
    [
        (("eth1",), FILES),
        (("eth1", "eth1"), FILES),
        (("",), FILES),  # InfiniBand, where ports have no link
        (("eth1", "eth2"), None),
        (("eth2",), None),
        (("eth1", ""), None),
        (("", ""), None),
    ],
)
async def test_files_of_a_device_that_uses_other_links_too_stay_on_the_node(
    tmp_path: Path, ports: tuple[str, ...], edits: ContainerEdits | None
) -> None:
    """One PCI function can have two links and an RDMA device with a port for each."""
    root = sysfs_at(tmp_path)
    (root / "class/net/eth1/device/infiniband/mlx5_0").mkdir(parents=True)
    (root / "class/net/eth1/ifindex").write_text("1\n")
    for number, each in enumerate(ports, start=1):
        users = root / f"class/infiniband/mlx5_0/ports/{number}/gid_attrs/ndevs"
        users.mkdir(parents=True)
        if each:
            (users / "0").write_text(f"{each}\n")
    network = parse_network({"cniVersion": "1.0.0", "name": "n", **HOST_DEVICE})
    assert await edits_with(network, link_of("eth1", 1), root) == edits
    (root / "module/ib_core/parameters").mkdir(parents=True)
    (root / "module/ib_core/parameters/netns_mode").write_text("N\n")
    moving, _ = rdma_with(link_of("eth1", 1), root)
    assert moving == (("mlx5_0",) if edits else ())


async def test_a_program_gets_the_files_of_the_hardware(tmp_path: Path) -> None:
    """Those of vfio, not those of RDMA: there is no link any more."""
    cards = FakeCards(tmp_path)
    cards.add("ens1f0", functions=1)
    cards.put_together("17", cards.function("ens1f0", 0))
    network = parse_network({"cniVersion": "1.0.0", "name": "n", **HOST_DEVICE, "vfio": True})
    assert await edits_with(network, link_of("ens1f0v0"), cards.root) == ContainerEdits(
        device_nodes=(DeviceNode("/dev/vfio/vfio"), DeviceNode("/dev/vfio/17"))
    )

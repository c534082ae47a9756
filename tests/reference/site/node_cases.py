"""The guest as a node: `netclaim try` lends its cards and functions to an embedded cluster.

The driver, the kernel's drivers and the scheduler's allocation are real; the GPU is not. One
cluster does all cases, since it takes the guest most of a minute to start one.
"""

import asyncio
import json
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from functools import cache
from pathlib import Path
from typing import Any, Final

from netclaim.kernel import Netns, Rtnl, find_link, open_netns
from netclaim.kernel.host.netns import OWN_NETNS
from netclaim.local.cluster import EmbeddedCluster
from netclaim.local.input.manifests import read_manifests
from netclaim.local.input.topology_file import load_topology
from netclaim.local.machine import contained
from netclaim.local.machine.file_system import NODES
from netclaim.local.topology import DEFAULT_TOPOLOGY, Link, Network, Topology
from netclaim.local.trial import Trial, end_pods, quiet_logs, start_cluster, start_pods
from netclaim.network import DRIVER_NAME
from netclaim.schema.kinds import CLAIM, POD, SLICE
from tests.reference.site.card_cases import ROOTS
from tests.reference.site.cni_site import ip
from tests.reference.site.dranet_cases import DRANETS, add_dummy, faults, networks, write
from tests.reference.site.driver_cases import LOST, lose_drivers
from tests.reference.site.heal_cases import HEALS, heal
from tests.reference.site.plugin_state import differences
from tests.reference.site.vf_site import NO_MAC, OWN, card_names, function_names

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
MANIFESTS: Final = ("virtual-functions.yaml", "gpu-function.yaml")
GPU_ROOT: Final = max(ROOTS)  # not that of the first functions, which others get
GPUS: Final = {
    "gpu.example.com": [str(EXAMPLES / "gpu.py"), "--gpus", "1", "--pcie-root", GPU_ROOT]
}
NODE: Final = "guest"
LENT: Final = "a node with cards"
ROOT: Final = "resource.kubernetes.io/pcieRoot"
LINK_KEYS: Final = ("address", "mtu", "txqlen", "promiscuity", "ifalias", "altnames", "group")
AMPLE_S: Final = 600.0  # emulated, and on a machine that is busy with other tests
# As the examples have it: what the cards do for each pod's functions, and one interface's MAC.
VLANS: Final = {
    "reader": [{"vlan": 100, "qos": 3}],
    "trainer": [{"vlan": 100, "qos": 3}] * 2,
    "rank-0": [{"vlan": 200}],
}
RANK: Final = "rank-0"
RANK_IFNAME: Final = "fabric0"
RANK_MAC: Final = "02:00:00:00:50:01"


def as_node() -> list[str]:
    """Pods get functions with what their card decides, a GPU's pod one of its root; all go home."""
    names = [name for card in card_names() for name in (card, *function_names(card))]
    before = _state(names)
    return _tried()[LENT] + differences(before, _state(names))


def dranets() -> list[str]:
    """Pods whose claims were written for dranet get a dummy, or reach each other from VRFs."""
    return _tried()[DRANETS]


def healed() -> list[str]:
    """Interfaces of kinds that this machine may lack come back with the link below them."""
    return _tried()[HEALS]


def without_driver() -> list[str]:
    """A function's device is tainted while its driver is gone, and its pod gets it back."""
    return _tried()[LOST]


def _state(names: list[str]) -> dict[str, Any]:
    """What the machine has of its cards and functions, and what the cards do for these."""
    links = {name: json.loads(ip("-j", "-d", "link", "show", "dev", name))[0] for name in names}
    own = {NO_MAC, *(link["address"] for link in links.values())}
    state: dict[str, Any] = {}
    for name, link in links.items():
        state[name] = {key: link.get(key) for key in LINK_KEYS}
        state[name]["up"] = "UP" in link["flags"]
        state[name]["functions"] = [
            each | {"address": OWN if each["address"] in own else each["address"]}
            for each in link.get("vfinfo_list", [])
        ]
    return state


@cache
def _tried() -> dict[str, list[str]]:
    """Run the trial in namespaces of its own, as the command does; returns what is wrong."""
    names = [name for card in card_names() for name in (card, *function_names(card))]
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "found.json"
        with open_netns(OWN_NETNS) as machine:

            def run() -> int:
                manifests = (*(EXAMPLES / name for name in MANIFESTS), write(Path(directory)))
                result.write_text(json.dumps(asyncio.run(_run(names, machine, manifests))))
                return 0

            contained(run)
        found: dict[str, list[str]] = json.loads(result.read_text())
    return found


async def _run(names: list[str], machine: Netns, manifests: Iterable[Path]) -> dict[str, list[str]]:
    links = tuple(Link(NODE, name, of_machine=True) for name in names)
    subnet = load_topology(DEFAULT_TOPOLOGY).primary_subnet
    primary = Network("primary", (Link(NODE, "node0"),), (subnet,))
    trial = Trial(
        topology=Topology((NODE,), (primary, Network("fabric", links), *networks(NODE))),
        manifests=read_manifests([str(each) for each in manifests]),
        driver_names=(DRIVER_NAME,),
        programs=GPUS,
        timeout_s=AMPLE_S,
        machine=machine,
    )
    quiet_logs()
    until_s = asyncio.get_running_loop().time() + AMPLE_S
    async with AsyncExitStack() as stack:
        cluster = await start_cluster(trial, stack, until_s)
        await add_dummy(cluster, NODE)
        outcome = await start_pods(cluster, trial, until_s)
        if outcome.is_well:
            lent = [each async for each in _faults(cluster)]
            written = [each async for each in faults(cluster, outcome.pods)]
        else:
            lent, written = ([str(pod) for pod in outcome.pods] for _ in range(2))
        async with asyncio.timeout_at(until_s):
            healed = await heal(cluster, NODE)
            lost = await lose_drivers(cluster, machine)
            lost += [each async for each in _faults(cluster)]
        await end_pods(cluster, AMPLE_S)
        lent += [f"{each['metadata']['name']} did not end" for each in cluster.store.list(POD)]
    return {LENT: lent, DRANETS: written, HEALS: healed, LOST: lost}


async def _faults(cluster: EmbeddedCluster) -> AsyncIterator[str]:
    """Say where pods have other functions than they asked for, or cards do something else."""
    given = {pod: _functions(cluster, pod) for pod in VLANS}
    cards = {
        name: _vfs_of(name) for name in {each["pfName"] for all_ in given.values() for each in all_}
    }
    seen_ = {
        pod: [cards[each["pfName"]][each["vfIndex"]]["vlan_list"][0] for each in functions]
        for pod, functions in given.items()
    }
    for each in differences(VLANS, seen_):
        yield each
    roots = [{each[ROOT] for each in functions} for functions in given.values()]
    for each in differences([1, 1, {GPU_ROOT}], [len(roots[0]), len(roots[1]), roots[2]]):
        yield each
    uid = cluster.verbs.get(POD, RANK, "default")["metadata"]["uid"]
    with open_netns(cluster.netns_of(uid)) as pod, Rtnl.open(pod) as rtnl:
        link = await find_link(rtnl, RANK_IFNAME)
        if link is None or link.mac != RANK_MAC or not link.up:
            yield f"{RANK} has {link}"


def _functions(cluster: EmbeddedCluster, pod: str) -> list[dict[str, Any]]:
    """The attributes of the functions that a pod's claim was given."""
    slices = [each["spec"] for each in cluster.store.list(SLICE)]
    devices = {
        device["name"]: {
            name: next(iter(typed.values())) for name, typed in device["attributes"].items()
        }
        for spec in slices
        if spec["driver"] == DRIVER_NAME
        for device in spec["devices"]
    }
    (claim,) = (
        each
        for each in cluster.store.list(CLAIM)
        if each["metadata"].get("ownerReferences", [{"name": ""}])[0]["name"] == pod
    )
    results = claim["status"]["allocation"]["devices"]["results"]
    return [devices[each["device"]] for each in results if each["driver"] == DRIVER_NAME]


def _vfs_of(card: str) -> list[dict[str, Any]]:
    """What a card of the node does for its functions."""
    inside = ["nsenter", f"--net={NODES / NODE}", "ip", "-j", "-d", "link", "show", "dev", card]
    shown = json.loads(subprocess.run(inside, capture_output=True, check=True).stdout)
    functions: list[dict[str, Any]] = shown[0]["vfinfo_list"]
    return functions


AS_NODE: Final = {LENT: as_node, DRANETS: dranets, HEALS: healed, LOST: without_driver}

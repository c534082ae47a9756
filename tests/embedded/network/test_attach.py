"""Claims become interfaces of pods, and back: real links, real plugins, real namespaces."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.cni import CniError, PluginMissingError
from netclaim.errors import RequestError
from netclaim.kernel import Netns
from netclaim.model import Attachment, Interface, Plan
from netclaim.model.claims.claim import ReportedDevice
from netclaim.network.driver import LinkDriver
from netclaim.network.errors import LinkGoneError, NameTakenError
from netclaim.network.policy.levels import LABEL
from tests.support.kernel_support import fresh_netns, ip, ip_json
from tests.support.network_parts import WHERE
from tests.support.network_support import (
    claim_for,
    driver_for,
    host_local,
    leases,
    plan_for,
    pod_of,
    run_on,
)

pytestmark = pytest.mark.embedded


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The driver's own directory."""
    return tmp_path / "state"


@pytest.fixture
def driver(state: Path, cni_plugins: Path) -> LinkDriver:
    """The driver of that node, which lets claims name one program."""
    return driver_for(state, cni_plugins, claim_plugins=frozenset({"sdn"}))


def names(netns: Netns) -> set[str]:
    """The links in a namespace, but for its loopback."""
    return {link["ifname"] for link in ip_json(netns, "link")} - {"lo"}


def test_a_macvlan_comes_and_goes(node: Netns, pod: Netns, driver: LinkDriver, state: Path) -> None:
    """Attach makes the interface with its address and says so; detach leaves nothing."""
    claim = claim_for({"type": "macvlan", "ipam": host_local()})

    async def attach() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod))

    attachment = run_on(node, attach)
    (link,) = ip_json(pod, "address", "show", "net1")
    assert link["linkinfo"]["info_kind"] == "macvlan"
    assert [(a["local"], a["prefixlen"]) for a in link["addr_info"] if a["family"] == "inet"] == [
        ("10.10.1.2", 24)
    ]
    assert attachment.interface == Interface("net1", link["address"], ("10.10.1.2/24",))
    assert attachment.data == {
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "net1", "mac": link["address"], "sandbox": pod.path}],
        "ips": [{"address": "10.10.1.2/24", "gateway": "10.10.1.1", "interface": 0}],
        "mtu": link["mtu"],
    }
    assert leases(state) == ["10.10.1.2"]

    run_on(node, lambda: driver.detach(attachment))
    assert names(pod) == set()
    assert leases(state) == []
    run_on(node, lambda: driver.detach(attachment))


def test_an_interface_that_is_made_again(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """It has its address and MAC again, or if somebody else has the address, another one."""
    network = {"type": "macvlan", "ipam": host_local()}

    async def attach_twice() -> tuple[Attachment, Attachment, Attachment]:
        plan = await plan_for(driver, claim_for(network))
        first = await driver.attach(plan, pod_of(pod))
        had = first.interface or _no()
        await driver.detach(first)
        again = await driver.reattach(plan, pod_of(pod), had)
        await driver.detach(again)
        with fresh_netns() as elsewhere:
            other = pod_of(elsewhere, "demo-b", "5b7c0847")
            claim = claim_for(network, uid="other")
            await driver.reattach(await plan_for(driver, claim), other, had)  # takes its address
            return first, again, await driver.reattach(plan, pod_of(pod), had)

    first, again, late = run_on(node, attach_twice)
    assert again.interface == first.interface
    assert late.interface is not None
    assert late.interface.ips != (first.interface or _no()).ips


def test_fifteen_claims_on_one_link(
    node: Netns, driver: LinkDriver, state: Path, pod: Netns
) -> None:
    """Any number of pods may stand on a link, side by side, each with its own address."""

    async def attach_all() -> list[Attachment]:
        plans = [
            await plan_for(
                driver,
                claim_for({"type": "macvlan", "ipam": host_local()}, ifname=f"net{n}", uid=f"c{n}"),
            )
            for n in range(1, 16)
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(driver.attach(plan, pod_of(pod))) for plan in plans]
        return [task.result() for task in tasks]

    attachments = run_on(node, attach_all)
    assert names(pod) == {f"net{n}" for n in range(1, 16)}
    ips = {ip for attachment in attachments for ip in (attachment.interface or _no()).ips}
    assert len(ips) == 15


def _no() -> Interface:
    raise AssertionError("attached without an interface")


def test_a_lease_is_released_with_the_namespace_gone(
    node: Netns, driver: LinkDriver, state: Path
) -> None:
    """After a reboot there is no namespace, and still the address must come back."""
    claim = claim_for({"type": "macvlan", "ipam": host_local()})
    with fresh_netns() as pod:

        async def attach() -> Plan:
            plan = await plan_for(driver, claim)
            await driver.attach(plan, pod_of(pod))
            return plan

        plan = run_on(node, attach)
    assert leases(state) == ["10.10.1.2"]
    run_on(node, lambda: driver.detach(Attachment(plan, pod_of(None))))
    assert leases(state) == []


def test_what_was_never_attached_can_be_detached(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """Detach follows an attach that failed before it did anything."""
    claim = claim_for({"type": "macvlan", "ipam": host_local()})

    async def detach() -> None:
        await driver.detach(Attachment(await plan_for(driver, claim), pod_of(pod)))

    run_on(node, detach)


def test_the_plugins_own_words_reach_the_user(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """A plugin that refuses its configuration is quoted, and nothing is left of the attempt."""
    claim = claim_for({"type": "macvlan", "mtu": 9000, "ipam": host_local()})

    async def attach() -> None:
        await driver.attach(await plan_for(driver, claim), pod_of(pod))

    with pytest.raises(CniError, match=r"MTU 9000 is not between 0 and the master's 1500"):
        run_on(node, attach)
    assert names(pod) == set()


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ({"type": "macvlan", "mode": "sideways"}, 'mode: "sideways" is not one of private, vepa'),
        ({"type": "vlan", "vlanId": 5000}, "vlanId: 5000 is not between 0 and 4094"),
        ({"type": "macvlan", "spead": 1}, 'spead: unknown key "spead"; known keys are type, ipam'),
    ],
)
def test_what_no_plugin_can_serve_is_refused_before_the_pod(
    node: Netns, driver: LinkDriver, plugin: dict[str, Any], message: str
) -> None:
    """Prepare says it, with the path of the key, in the words of `netclaim check`."""
    with pytest.raises(RequestError) as caught:
        run_on(node, lambda: plan_for(driver, claim_for(plugin)))
    assert str(caught.value).startswith(f"{WHERE}.config.plugins[0].{message}")


def test_a_driver_that_is_stricter_knows_its_running_pods(node: Netns, driver: LinkDriver) -> None:
    """A claim whose device is reported ready is planned again, whatever keys it has."""
    claim = claim_for({"type": "tuning", "mtus": 1400, "dataDir": ""}, {"type": "tuning"})
    ready = ReportedDevice(driver.name, claim.devices[0].key, since="2026-01-01T00:00:00Z")
    privileged = {LABEL: "privileged"}
    running = msgspec.structs.replace(claim, reported=(ready,), namespace_labels=privileged)
    assert run_on(node, lambda: plan_for(driver, running)).network


def test_a_name_that_the_pod_has_is_refused(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """Ours does not replace an interface of that name, no matter who made it."""
    ip(pod, "link", "add", "net1", "type", "bridge")
    claim = claim_for({"type": "macvlan", "ipam": host_local()})

    async def attach() -> None:
        await driver.attach(await plan_for(driver, claim), pod_of(pod))

    with pytest.raises(NameTakenError) as caught:
        run_on(node, attach)
    assert str(caught.value) == (
        "ifName: the pod already has an interface named 'net1'; "
        "use a different name for each claim of the pod"
    )
    assert leases(state) == []


def test_of_two_claims_with_one_name_one_is_refused(
    node: Netns, pod: Netns, driver: LinkDriver
) -> None:
    """Two claims of a pod are attached at the same time; the second of a name is told so."""

    async def attach_both() -> list[Attachment | BaseException]:
        plans = [
            await plan_for(driver, claim_for({"type": "macvlan"}, device=device, uid=device))
            for device in ("eth1", "eth2")
        ]
        return await asyncio.gather(
            *(driver.attach(plan, pod_of(pod)) for plan in plans), return_exceptions=True
        )

    outcomes = run_on(node, attach_both)
    assert [type(outcome) for outcome in outcomes] == [Attachment, NameTakenError]


def test_a_link_that_vanished_is_named(node: Netns, pod: Netns, driver: LinkDriver) -> None:
    """A link can go between prepare and attach; the message says which."""
    plan = run_on(node, lambda: plan_for(driver, claim_for({"type": "macvlan"})))
    ip(node, "link", "delete", "eth1")
    with pytest.raises(LinkGoneError) as caught:
        run_on(node, lambda: driver.attach(plan, pod_of(pod)))
    assert str(caught.value) == (
        "the allocated link 'eth1' is not on the node; "
        "it was removed or renamed, or another pod has it"
    )
    with pytest.raises(LinkGoneError):
        run_on(node, lambda: plan_for(driver, claim_for({"type": "macvlan"})))


@pytest.mark.parametrize(
    "plugin", [{"type": "sdn"}, {"type": "macvlan", "ipam": {"type": "sdn"}}], ids=["main", "ipam"]
)
def test_a_missing_plugin_is_told_at_prepare(
    node: Netns, driver: LinkDriver, cni_plugins: Path, plugin: dict[str, Any]
) -> None:
    """A plugin that is not installed is known before the pod exists, address management too."""
    with pytest.raises(PluginMissingError) as caught:
        run_on(node, lambda: plan_for(driver, claim_for(plugin)))
    assert str(caught.value) == f"CNI plugin 'sdn' is not installed: looked in {cni_plugins}"


def test_the_generic_device_takes_a_master_that_it_may_name(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """A claim that asks for no particular link names its master itself, if it may.

    The scheduler counts who shares a link, and does not know of links that are only named.
    """
    plugin = {"type": "macvlan", "master": "eth2", "ipam": host_local()}
    claim = claim_for(plugin, device="cni")
    with pytest.raises(RequestError, match="'eth2' cannot be named here: claims share it by"):
        run_on(node, lambda: plan_for(driver, claim))
    trusted = msgspec.structs.replace(claim, namespace_labels={LABEL: "privileged"})

    async def attach() -> Attachment:
        plan = await plan_for(driver, trusted)
        return await driver.attach(plan, pod_of(pod))

    attachment = run_on(node, attach)
    (link,) = ip_json(pod, "link", "show", "net1")
    (master,) = ip_json(node, "link", "show", "eth2")
    assert link["link_index"] == master["ifindex"]
    run_on(node, lambda: driver.detach(attachment))
    assert names(pod) == set()


def test_a_link_goes_into_the_pod_and_comes_home(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """host-device moves the allocated link itself; detach brings it back as it was."""
    claim = claim_for({"type": "host-device", "ipam": host_local()})

    async def attach() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod))

    attachment = run_on(node, attach)
    assert names(pod) == {"net1"}
    assert "eth1" not in names(node)
    run_on(node, lambda: driver.detach(attachment))
    assert names(pod) == set()
    (link,) = ip_json(node, "link", "show", "eth1")
    assert "UP" in link["flags"]
    assert leases(state) == []


@pytest.mark.parametrize("programs", [(), ("host-device",)], ids=["ours", "program"])
def test_an_alias_counts_only_where_nothing_else_tells_the_name(
    node: Netns, state: Path, cni_plugins: Path, programs: tuple[str, ...]
) -> None:
    """The kernel returns hardware of a dead namespace under the name that it had in the pod.

    Its alias, which the pod can write, is all that the program leaves to know it by; ours has a
    record of what it lent, and lent nothing here.
    """
    driver = driver_for(state, cni_plugins, exec_plugins=programs)
    claim = claim_for({"type": "host-device", "ipam": host_local()})
    plan = run_on(node, lambda: plan_for(driver, claim))
    for change in (("alias", "eth1"), ("down",), ("name", "net1"), ("up",)):
        ip(node, "link", "set", "net1" if change == ("up",) else "eth1", *change)
    run_on(node, lambda: driver.detach(Attachment(plan, pod_of(None))))
    (link,) = ip_json(node, "link", "show", "eth1" if programs else "net1")
    assert "UP" in link["flags"]
    assert len({"eth1", "net1"} & names(node)) == 1


def test_alternative_names_from_one_pod_do_not_keep_the_link_of_another(
    node: Netns, pod: Netns, state: Path, cni_plugins: Path
) -> None:
    """Each link is home under its own name, and has no other."""
    driver = driver_for(state, cni_plugins)
    claims = [
        claim_for({"type": "host-device"}, device=device, uid=device) for device in ("eth1", "eth2")
    ]
    before = names(node)
    with fresh_netns() as other:
        pods = (pod_of(pod, "a", "aaaa"), pod_of(other, "b", "bbbb"))

        async def attach_both() -> list[Attachment]:
            return [
                await driver.attach(await plan_for(driver, claim), sandbox)
                for claim, sandbox in zip(claims, pods, strict=True)
            ]

        attachments = run_on(node, attach_both)
        ip(pod, "link", "property", "add", "dev", "net1", "altname", "eth2")
        for attachment in attachments:
            run_on(node, partial(driver.detach, attachment))
    assert names(node) == before
    assert all("altnames" not in link for link in ip_json(node, "link", "show"))


@pytest.mark.parametrize("plugin", ["macvlan", "host-device"])
def test_preparing_again_gives_the_same_plan(node: Netns, driver: LinkDriver, plugin: str) -> None:
    """A crash before the plan was saved is followed by another prepare."""
    claim = claim_for({"type": plugin})

    async def prepare_twice() -> list[dict[str, Any]]:
        plans = [await plan_for(driver, claim) for _ in range(2)]
        return [plan.network or {} for plan in plans]

    once, again = run_on(node, prepare_twice)
    assert once == again

"""What is left of pods and claims that are gone is found, named and removed; nothing else is."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.cni import CniError
from netclaim.kernel import Netns
from netclaim.model import Attachment, Claim, Leftover, Living
from netclaim.network.driver import LinkDriver
from tests.support.kernel_support import fresh_netns, ip, ip_json, name_of
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

OLD_S = 1_000_000_000.0  # long ago
NOBODY = Living(sandboxes=frozenset())
MACVLAN = {"type": "macvlan", "ipam": host_local()}

# Notes what it is told, and fails as a file beside it says.
PROGRAM = """#!/bin/sh
here=${0%/*}
cat >"$here/$CNI_COMMAND.stdin"
if [ -e "$here/$CNI_COMMAND.fails" ]; then cat "$here/$CNI_COMMAND.fails"; exit 1; fi
if [ "$CNI_COMMAND" = ADD ]; then echo '{"ips":[{"address":"10.9.0.2/24"}]}'; fi
"""


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The driver's own directory."""
    return tmp_path / "drivers" / "ours"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory with the program `sdn`."""
    directory = tmp_path / "programs"
    directory.mkdir()
    (directory / "sdn").write_text(PROGRAM)
    (directory / "sdn").chmod(0o755)
    return directory


@pytest.fixture
def driver(state: Path, programs: Path) -> LinkDriver:
    """The driver of that node."""
    return driver_for(
        state,
        programs,
        claim_plugins=frozenset({"sdn"}),
        runtime_results=state.parent / "runtime-results",
    )


def with_version(claim: Claim, version: str) -> Claim:
    """The same claim in another version of CNI."""
    (config,) = claim.configs
    parameters = json.loads(json.dumps(config.parameters))
    parameters["config"]["cniVersion"] = version
    changed = msgspec.structs.replace(config, parameters=parameters)
    return msgspec.structs.replace(claim, configs=(changed,))


def attach(
    node: Netns, driver: LinkDriver, claim: Claim, pod: Netns, sandbox: str = "s1"
) -> Attachment:
    """Prepare and attach."""

    async def work() -> Attachment:
        return await driver.attach(await plan_for(driver, claim), pod_of(pod, sandbox=sandbox))

    return run_on(node, work)


def end(netns: Netns) -> None:
    """End a pod's namespace, as the runtime does."""
    subprocess.run(["ip", "netns", "delete", name_of(netns)], check=True)


def age(directory: Path) -> None:
    """Make all files below a directory old."""
    for path in directory.rglob("*"):
        if path.is_file():
            os.utime(path, (OLD_S, OLD_S))


def find(node: Netns, driver: LinkDriver, living: Living = NOBODY) -> list[Leftover]:
    """What the driver finds."""

    async def work() -> list[Leftover]:
        return list(await driver.leftovers(living))

    return run_on(node, work)


def collect(node: Netns, driver: LinkDriver, *leftovers: Leftover) -> None:
    """Have them removed, each twice."""

    async def work() -> None:
        for leftover in leftovers:
            await driver.collect(leftover)
            await driver.collect(leftover)

    run_on(node, work)


def results(state: Path) -> list[str]:
    """The CNI results that are kept."""
    return sorted(path.name for path in (state / "cni" / "results").glob("*"))


def test_interface_of_a_sandbox_that_is_gone(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """Its result gets the DEL that is due, which releases the address."""
    attach(node, driver, claim_for(MACVLAN), pod)
    end(pod)
    age(state)
    found = find(node, driver)
    assert [each.kind for each in found] == ["result", "lease"]
    assert found[0].what == "interface net1 of network a-network in sandbox s1"
    assert found[1].what.startswith("address 10.10.1.2 of network a-network, leased to sandbox s1 ")
    collect(node, driver, found[0])
    assert results(state) == []
    assert leases(state) == []
    collect(node, driver, *found)
    assert find(node, driver) == []


@pytest.mark.parametrize("why", ["runs", "journaled", "namespace", "young"])
def test_interface_of_a_sandbox_that_lives(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path, why: str
) -> None:
    """A sandbox that runs, is in the journal, has its namespace or is new keeps what it has."""
    attachment = attach(node, driver, claim_for(MACVLAN), pod)
    if why != "namespace":
        end(pod)
    if why != "young":
        age(state)
    living = {
        "runs": Living(sandboxes=frozenset({"s1"})),
        "journaled": Living(attachments=(attachment,)),
        "namespace": Living(),
        "young": NOBODY,
    }[why]
    assert find(node, driver, living) == []
    assert results(state) == ["a-network-s1-net1"]
    assert leases(state) == ["10.10.1.2"]


def test_address_whose_result_is_lost(
    node: Netns, driver: LinkDriver, state: Path, tmp_path: Path
) -> None:
    """With the state lost, leases of ended sandboxes are released; others' are not touched."""
    with fresh_netns() as gone, fresh_netns() as alive:
        attach(node, driver, claim_for(MACVLAN), gone, "s1")
        attach(node, driver, claim_for(MACVLAN, uid="claim-2", device="eth2"), alive, "s2")
        end(gone)
        for result in (state / "cni" / "results").iterdir():
            result.unlink()
        own = state / "leases" / driver.name
        others = [
            state / "leases" / "other.example.com/namespace/default/leases/a-network/10.10.1.9",
            own / "elsewhere/a-network/10.10.1.9",
        ]
        for other in others:
            other.parent.mkdir(parents=True)
            other.write_text("s1\r\nnet1")
        linked = own / "namespace/linked"
        linked.symlink_to(others[0].parents[2])
        age(tmp_path)
        assert find(node, driver, Living()) == []  # the runtime could not be asked
        found = find(node, driver, Living(sandboxes=frozenset({"s2"})))
        assert [(each.kind, each.memo["address"]) for each in found] == [("lease", "10.10.1.2")]
        collect(node, driver, *found)
        assert sorted(p.name for p in own.glob("namespace/default/leases/*/10.*")) == ["10.10.1.3"]
        assert all(other.exists() for other in others)


def test_address_that_changed_hands(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """A lease that another sandbox has by the time of removal is left alone."""
    attach(node, driver, claim_for(MACVLAN), pod)
    end(pod)
    (state / "cni/results/a-network-s1-net1").unlink()
    age(state)
    found = find(node, driver)
    (lease,) = state.glob("leases/*/namespace/default/leases/a-network/10.*")
    lease.write_text("s2\r\nnet1")
    collect(node, driver, *found)
    assert lease.exists()


def test_link_that_was_lent(node: Netns, pod: Netns, driver: LinkDriver, state: Path) -> None:
    """A lent link whose result is lost is brought home as far as it is there, and forgotten."""
    attach(node, driver, claim_for({"type": "host-device"}), pod)
    (state / "cni/results/a-network-s1-net1").unlink()
    age(state)
    claimed = Living(claims=frozenset({"claim-1"}), sandboxes=frozenset())
    assert find(node, driver, claimed) == []  # the namespace is there
    end(pod)
    found = find(node, driver, claimed)
    assert [each.what for each in found] == ["link eth1, lent to sandbox s1 as net1"]
    collect(node, driver, *found)
    assert find(node, driver, claimed) == []


def test_note_of_a_claim(node: Netns, driver: LinkDriver, state: Path) -> None:
    """That a claim took a link away is forgotten with the claim; the framework asks for it."""
    run_on(node, lambda: plan_for(driver, claim_for({"type": "host-device"})))
    assert find(node, driver) == []
    age(state)
    assert find(node, driver, Living(claims=frozenset({"claim-1"}))) == []
    (found,) = find(node, driver)
    assert (found.kind, found.claim_uid) == ("lent-device", "claim-1")
    collect(node, driver, found)
    assert list((state / "lent").iterdir()) == []


def test_settings_before_tuning(node: Netns, driver: LinkDriver, state: Path) -> None:
    """A backup of a sandbox that is gone is removed, that of one that runs is not."""
    tuned = claim_for({"type": "macvlan"}, {"type": "tuning", "mtu": 1400})
    other = claim_for(
        {"type": "macvlan"}, {"type": "tuning", "mtu": 1400}, uid="claim-2", device="eth2"
    )
    with fresh_netns() as gone, fresh_netns() as alive:
        attach(node, driver, tuned, gone, "s1")
        attach(node, driver, other, alive, "s2_x")
        end(gone)
        (state / "cni/results/a-network-s1-net1").unlink()
        age(state)
        assert find(node, driver, Living()) == []
        found = find(node, driver, Living(sandboxes=frozenset({"s2_x"})))
        assert [each.kind for each in found] == ["tuning"]
        collect(node, driver, *found)
        kept = [path.name for path in state.glob("leases/*/namespace/default/tuning/*")]
        assert kept == ["s2_x_net1.json"]


def test_plugins_are_told_what_is_valid(
    node: Netns, pod: Netns, driver: LinkDriver, programs: Path
) -> None:
    """GC of a network of CNI 1.1.0 lists all that is attached; before, nobody is told."""
    old = attach(node, driver, claim_for({"type": "sdn"}), pod)
    run_on(node, lambda: driver.tell_living(Living(attachments=(old,))))
    assert not (programs / "GC.stdin").exists()
    run_on(node, lambda: driver.detach(old))
    new = with_version(claim_for({"type": "sdn"}), "1.1.0")
    attachment = attach(node, driver, new, pod)
    unlisted = attach(node, driver, msgspec.structs.replace(new, uid="claim-2"), pod, "s2")
    run_on(node, lambda: driver.tell_living(Living(attachments=(attachment,))))
    told = json.loads((programs / "GC.stdin").read_text())
    assert told["cni.dev/valid-attachments"] == [
        {"containerID": "s1", "ifname": "net1"},
        {"containerID": "s2", "ifname": "net1"},  # in the cache: its DEL is still due
    ]
    run_on(node, lambda: driver.detach(unlisted))


@pytest.mark.parametrize("other", ["runtime-results", "theirs/cni/results"])
def test_networks_that_others_have_too(
    node: Netns, pod: Netns, driver: LinkDriver, programs: Path, state: Path, other: str
) -> None:
    """No plugin is told of a network whose name the runtime or another driver uses as well."""
    attachment = attach(node, driver, with_version(claim_for({"type": "sdn"}), "1.1.0"), pod)
    theirs = state.parent / other / "a-network-0123-eth0"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    run_on(node, lambda: driver.tell_living(Living(attachments=(attachment,))))
    assert not (programs / "GC.stdin").exists()
    theirs.unlink()
    run_on(node, lambda: driver.tell_living(Living(attachments=(attachment,))))
    assert (programs / "GC.stdin").exists()


def test_an_attachment_that_only_the_cache_knows(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """It comes back as it was; without its cached result, or for another sandbox, it does not."""
    attachment = attach(node, driver, claim_for(MACVLAN), pod)
    assert run_on(node, lambda: driver.recall(attachment.plan, attachment.pod)) == attachment
    other = msgspec.structs.replace(attachment.pod, id="s9")
    assert run_on(node, lambda: driver.recall(attachment.plan, other)) is None
    (state / "cni/results/a-network-s1-net1").unlink()
    assert run_on(node, lambda: driver.recall(attachment.plan, attachment.pod)) is None


def test_check_compares_with_the_result(
    node: Netns, pod: Netns, driver: LinkDriver, state: Path
) -> None:
    """An interface that has lost its address is there, but not as it was."""
    attachment = attach(node, driver, claim_for(MACVLAN), pod)
    run_on(node, lambda: driver.check(attachment))
    ip(pod, "address", "flush", "dev", "net1")
    assert run_on(node, lambda: driver.is_attached(attachment))
    with pytest.raises(CniError, match="CNI plugin macvlan CHECK"):
        run_on(node, lambda: driver.check(attachment))
    (state / "cni/results/a-network-s1-net1").unlink()  # as after a loss of the state
    run_on(node, lambda: driver.check(attachment))
    assert [link["ifname"] for link in ip_json(pod, "link", "show", "net1")] == ["net1"]


@pytest.mark.parametrize(
    "plugin", [{"type": "sdn"}, {"type": "macvlan", "ipam": {"type": "sdn"}}], ids=["main", "ipam"]
)
@pytest.mark.parametrize("code", [50, 51])
def test_plugin_that_is_not_available(
    node: Netns, driver: LinkDriver, programs: Path, plugin: dict[str, Any], code: int
) -> None:
    """A program that says so by STATUS fails prepare in its own words; again, once it is there."""
    said = {"cniVersion": "1.1.0", "code": code, "msg": "the controller is being upgraded"}
    fails = programs / "STATUS.fails"
    fails.write_text(json.dumps(said))
    run_on(node, lambda: plan_for(driver, claim_for(plugin)))  # 1.0.0 has no STATUS
    claim = with_version(claim_for(plugin), "1.1.0")
    with pytest.raises(CniError, match="STATUS: the controller is being upgraded") as caught:
        run_on(node, lambda: plan_for(driver, claim))
    assert caught.value.device == ("kind-worker", "eth1", "")
    fails.write_text(json.dumps(said | {"code": 999}))  # one that does not know STATUS
    run_on(node, lambda: plan_for(driver, claim))
    fails.unlink()
    run_on(node, lambda: plan_for(driver, claim))

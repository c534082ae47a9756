"""A container can read about its devices, and what it reads is true."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from netclaim.errors import HostError
from netclaim.framework.journal.journal import Journal, open_journal
from netclaim.framework.journal.records import Lease
from netclaim.framework.prepare.cdi import CdiDirectory
from netclaim.framework.prepare.metadata import MetadataFiles
from netclaim.model import Attachment, Device, Interface, Plan, Prepared, parse_claim
from tests.support.framework.parts import (
    BOOT,
    DRIVER,
    booking_of,
    claim_of,
    device_of,
    plan_of,
    pod_of,
    stage_in,
)

CLAIM = claim_of("red", pods=("pod-1", "pod-2"))
IN_CONTAINER = "/var/run/kubernetes.io/dra-device-attributes"


def objects(path: Path) -> list[dict[str, Any]]:
    """The objects of a file, in order; each is a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def inode(path: Path) -> int:
    """Which file it is that has the name now."""
    return path.stat().st_ino


def devices(path: Path) -> list[dict[str, Any]]:
    """The devices that a file tells of."""
    (request,) = objects(path)[0]["requests"]
    found: list[dict[str, Any]] = request["devices"]
    return found


async def attach(journal: Journal, plan: Plan, sandbox: str, **facts: Any) -> None:
    """Note in the journal that a sandbox has the device."""
    interface = Interface(**{"name": "net1", "ips": ("192.0.2.5/24",)} | facts)
    attachment = Attachment(plan, pod_of(sandbox=sandbox), interface)
    await journal.put_leases([Lease(attachment, "attached")])


async def test_a_file_for_each_request(tmp_path: Path) -> None:
    """A file has its request's devices, once for each version, and the container's path for it."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        files.note_offered([Device("eth1", {"mtu": 1500, "example.com/rack": "a"})])
        claim = claim_of(
            "red",
            device_of("eth1", request="fast/first"),
            device_of("eth2", request="slow"),
            device_of("eth3", request="slow"),
        )
        prepared = booking_of(claim).prepared
        assert prepared is not None
        mounts = files.write(prepared, "")
    fast, slow = (tmp_path / "metadata/uid-red" / f"{name}.json" for name in ("fast", "slow"))
    newest, older = objects(fast)
    assert newest == {
        "apiVersion": "metadata.resource.k8s.io/v1beta1",
        "kind": "DeviceMetadata",
        "metadata": {"name": "red", "namespace": "default", "uid": "uid-red", "generation": 1},
        "requests": [
            {
                "name": "fast/first",
                "devices": [
                    {
                        "driver": DRIVER,
                        "pool": "node-1",
                        "name": "eth1",
                        "attributes": {"mtu": {"int": 1500}, "example.com/rack": {"string": "a"}},
                    }
                ],
            }
        ],
    }
    assert older == newest | {"apiVersion": "metadata.resource.k8s.io/v1alpha1"}
    assert [device["name"] for device in devices(slow)] == ["eth2", "eth3"]
    assert fast.stat().st_mode & 0o777 == 0o644
    mounted = {key[1]: (mount.host_path, mount.container_path) for key, mount in mounts.items()}
    inside = f"{IN_CONTAINER}/resourceclaims/red"
    assert mounted == {
        "eth1": (str(fast), f"{inside}/fast/{DRIVER}-metadata.json"),
        "eth2": (str(slow), f"{inside}/slow/{DRIVER}-metadata.json"),
        "eth3": (str(slow), f"{inside}/slow/{DRIVER}-metadata.json"),
    }
    assert all("ro" in mount.options for mount in mounts.values())


async def test_interfaces_come_when_they_are_attached(tmp_path: Path) -> None:
    """An attach adds the interface, in a file of the next generation; a second one adds nothing."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        files.note_offered([Device("eth1", {"mtu": 1500})])
        booking = msgspec.structs.replace(booking_of(CLAIM), pod_claim_name="nic")
        await journal.put_booking(booking)
        assert booking.prepared is not None
        (mount,) = files.write(booking.prepared, "nic").values()
        assert mount.container_path.startswith(f"{IN_CONTAINER}/resourceclaimtemplates/nic/net/")
        path = Path(mount.host_path)
        before = inode(path)
        files.note_offered([Device("eth1", {"mtu": 9000})])  # what was true at prepare stays
        await attach(journal, booking.prepared.plans[0], "s1", hardware_address="02:00:00:00:00:01")
        files.refresh(CLAIM.uid)
        assert devices(path)[0]["networkData"] == {
            "interfaceName": "net1",
            "ips": ["192.0.2.5/24"],
            "hardwareAddress": "02:00:00:00:00:01",
        }
        assert devices(path)[0]["attributes"] == {"mtu": {"int": 1500}}
        assert [o["metadata"]["generation"] for o in objects(path)] == [2, 2]
        assert objects(path)[0]["podClaimName"] == "nic"
        after = inode(path)
        assert after != before
        files.refresh(CLAIM.uid)
        assert inode(path) == after


async def test_pods_that_share_a_claim(tmp_path: Path) -> None:
    """What pods do not have in common is left out; the one that stays has all of its own again."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        plan = plan_of(CLAIM, device_of())
        await journal.put_booking(booking_of(CLAIM))
        await attach(journal, plan, "s1", ips=("192.0.2.5/24",))
        await attach(journal, plan, "s2", ips=("192.0.2.6/24",))
        files.refresh(CLAIM.uid)
        path = tmp_path / "metadata/uid-red/net.json"
        assert devices(path)[0]["networkData"] == {"interfaceName": "net1"}
        await journal.drop_lease((CLAIM.uid, "s1", device_of().key))
        files.refresh(CLAIM.uid)
        assert devices(path)[0]["networkData"]["ips"] == ["192.0.2.6/24"]


async def test_no_file_is_left(tmp_path: Path) -> None:
    """A released claim's files go; those of a claim that nobody knows are found by their age."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        cdi = CdiDirectory(tmp_path / "cdi", DRIVER, files)
        assert files.strays((), before=1e12) == {}
        prepared = Prepared(CLAIM.ref, (plan_of(CLAIM, device_of()),))
        (cdi_id,) = (await cdi.write(prepared, "")).values()
        assert cdi_id == f"{DRIVER}/claim=uid-red-eth1"
        spec = json.loads((tmp_path / "cdi" / f"{DRIVER}_uid-red.json").read_text())
        (mount,) = spec["devices"][0]["containerEdits"]["mounts"]
        assert mount["hostPath"] == str(tmp_path / "metadata/uid-red/net.json")
        (tmp_path / "cdi" / f"{DRIVER}_uid-red.json").unlink()
        assert await cdi.strays({"uid-red"}, before=1e12) == {}
        assert list(await cdi.strays((), before=1e12)) == ["uid-red"]
        assert await cdi.strays((), before=0) == {}
        await cdi.remove("uid-red")
        await cdi.remove("uid-red")
        assert list((tmp_path / "metadata").iterdir()) == []


async def test_nothing_beside_the_files_is_left(tmp_path: Path) -> None:
    """What a process that was killed left unfinished goes with the claim's files."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        files.write(Prepared(CLAIM.ref, (plan_of(CLAIM, device_of()),)), "")
        (tmp_path / "metadata/uid-red/net.tmp").write_text("{")
        files.remove("uid-red")
        assert list((tmp_path / "metadata").iterdir()) == []


async def test_files_that_were_lost(tmp_path: Path) -> None:
    """A driver that starts writes the files of prepared claims again that are gone."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        await journal.put_booking(booking_of(CLAIM))
        await attach(journal, plan_of(CLAIM, device_of()), "s1")
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        files.note_offered([Device("eth1", {"mtu": 1500})])
        (device,) = devices(tmp_path / "metadata/uid-red/net.json")
        assert device["attributes"] == {"mtu": {"int": 1500}}
        assert device["networkData"]["ips"] == ["192.0.2.5/24"]
        (tmp_path / "file").write_text("")
        broken = MetadataFiles(tmp_path / "file", DRIVER, journal, wanted=True)
        with capture_logs() as logs:
            broken.note_offered([])
        assert [entry["event"] for entry in logs] == ["metadata.unreadable", "metadata.failed"]


async def test_not_wanted_any_more(tmp_path: Path) -> None:
    """A driver that stops telling containers writes nothing, and removes what it wrote before."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        prepared = Prepared(CLAIM.ref, (plan_of(CLAIM, device_of()),))
        MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True).write(prepared, "")
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=False)
        cdi = CdiDirectory(tmp_path / "cdi", DRIVER, files)
        assert await cdi.write(prepared, "") == {}
        assert list((tmp_path / "metadata").iterdir()) == [tmp_path / "metadata/uid-red"]
        await cdi.remove(CLAIM.uid)
        assert list((tmp_path / "metadata").iterdir()) == []


async def test_damage(tmp_path: Path) -> None:
    """A file that is broken is written anew; a directory that is none is the admin's to act on."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        prepared = Prepared(CLAIM.ref, (plan_of(CLAIM, device_of()),))
        path = tmp_path / "metadata/uid-red/net.json"
        path.parent.mkdir(parents=True)
        for damage in (b"", b"\xff", b"[]\n", b"{}\n"):
            path.write_bytes(damage)
            files.write(prepared, "")
            assert devices(path)[0]["name"] == "eth1"
        (tmp_path / "file").write_text("")
        broken = MetadataFiles(tmp_path / "file", DRIVER, journal, wanted=True)
        with pytest.raises(HostError, match="cannot write"):
            broken.write(prepared, "")
        with pytest.raises(HostError, match="cannot read"):
            broken.strays((), before=0)
        with pytest.raises(HostError, match="cannot remove"):
            broken.remove("uid-red")


async def test_told_before_there_is_a_container(tmp_path: Path) -> None:
    """The file is written within the attach, which fails if that fails."""
    async with stage_in(tmp_path, CLAIM) as stage:
        await stage.prepare(CLAIM)
        stage.facts.fault = HostError("the disk is full")
        with pytest.raises(HostError, match="disk is full"):
            await stage.attach(pod_of())
        assert "sandbox-1" not in stage.marks.complete
        stage.facts.fault = None
        await stage.release(pod_of())
        stage.facts.refreshed.clear()
        await stage.attach(pod_of())
        assert stage.facts.refreshed == [CLAIM.uid]


async def test_told_when_a_pod_ends_and_others_stay(tmp_path: Path) -> None:
    """The file is written for those who still have the claim, and not when nobody has it."""
    async with stage_in(tmp_path, CLAIM) as stage:
        await stage.prepare(CLAIM)
        await stage.attach(pod_of())
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        stage.facts.refreshed.clear()
        await stage.release(pod_of())
        assert stage.facts.refreshed == [CLAIM.uid]
        await stage.release(pod_of("pod-2", "sandbox-2"))
        assert stage.facts.refreshed == [CLAIM.uid]


async def test_a_pod_ends_although_nothing_can_be_written(tmp_path: Path) -> None:
    """A detach is not held up by what containers can read."""
    async with stage_in(tmp_path, CLAIM) as stage:
        await stage.prepare(CLAIM)
        await stage.attach(pod_of())
        await stage.attach(pod_of("pod-2", "sandbox-2"))
        stage.facts.fault = HostError("the disk is full")
        await stage.release(pod_of())
        assert stage.states() == {"sandbox-2/eth1": "attached"}


@pytest.mark.parametrize(
    ("annotated", "name"), [("nic", "nic"), ("../../etc", ""), ("a/b", ""), ("", "")]
)
def test_the_name_in_the_pod(annotated: str, name: str) -> None:
    """What a claim says is its name in the pod becomes part of a path only if it is a name."""
    meta = {"uid": "u", "namespace": "n", "name": "c"}
    notes = {"annotations": {"resource.kubernetes.io/pod-claim-name": annotated}}
    assert parse_claim({"metadata": meta | notes}).pod_claim_name == name
    assert parse_claim({"metadata": meta}).pod_claim_name == ""


async def test_files_of_a_claim_that_is_ending_do_not_come_back(tmp_path: Path) -> None:
    """Neither a sandbox that ends nor the first list of devices writes what was removed."""
    async with open_journal(tmp_path / "journal", BOOT) as journal:
        files = MetadataFiles(tmp_path / "metadata", DRIVER, journal, wanted=True)
        booking = booking_of(CLAIM)
        assert booking.prepared is not None
        files.write(booking.prepared, "")
        await journal.put_booking(booking.lapsed())
        files.remove(CLAIM.uid)
        files.refresh(CLAIM.uid)
        files.note_offered([Device("eth1", {"mtu": 1500})])
        assert list((tmp_path / "metadata").iterdir()) == []

"""The writes that bring ResourceSlices in line are few, ordered and complete."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.framework.publish.server_fields import dropped_fields, without_server_fields
from netclaim.framework.publish.slices import (
    Accepted,
    Create,
    Delete,
    Operation,
    Pool,
    Update,
    plan_slices,
)
from netclaim.model import (
    Capacity,
    CounterSet,
    CounterUse,
    Device,
    JsonObject,
    Quantity,
    RequestPolicy,
    Taint,
    ValidRange,
    Version,
)
from netclaim.model.api.dra.device_json import counter_set_json, device_json
from tests.support.framework.slices import SliceServer

POOL = Pool(driver="net.example.com", node="node-1", node_uid="node-uid")


def devices_of(*names: str, tainted: bool = False, mtu: int = 1500) -> tuple[Device, ...]:
    """Devices of these names."""
    taints = (Taint(key="example.com/broken", effect="NoExecute"),) if tainted else ()
    return tuple(Device(name=name, attributes={"mtu": mtu}, taints=taints) for name in names)


def numbered(count: int, **facts: bool) -> tuple[Device, ...]:
    """So many devices."""
    return devices_of(*(f"d{number}" for number in range(count)), **facts)


def plan(server: SliceServer, devices: Sequence[Device | CounterSet]) -> tuple[Operation, ...]:
    """What there is to do."""
    return plan_slices(POOL, devices, server.objects.values(), accepted={})


def settle(server: SliceServer, devices: Sequence[Device | CounterSet]) -> tuple[Operation, ...]:
    """Do it."""
    operations = plan(server, devices)
    for operation in operations:
        server.carry_out(operation)
    return operations


def generations(server: SliceServer) -> list[int]:
    """Each slice's generation."""
    return [obj["spec"]["pool"]["generation"] for obj in server.objects.values()]


def test_first_slice() -> None:
    """A node's devices are one slice, owned by the node, in a pool of the node's name."""
    server = SliceServer()
    (operation,) = settle(server, devices_of("eth0", "eth1"))
    assert isinstance(operation, Create)
    assert operation.obj["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "name": "node-1",
            "uid": "node-uid",
            "controller": True,
        }
    ]
    assert operation.obj["spec"] == {
        "driver": "net.example.com",
        "nodeName": "node-1",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": "eth0", "attributes": {"mtu": {"int": 1500}}},
            {"name": "eth1", "attributes": {"mtu": {"int": 1500}}},
        ],
    }


def test_nothing_to_do() -> None:
    """Slices that are right are left alone."""
    server = SliceServer()
    settle(server, numbered(300))
    assert plan(server, numbered(300)) == ()


def test_no_devices() -> None:
    """A node without devices has one empty slice, and that is left alone too."""
    server = SliceServer()
    assert len(settle(server, ())) == 1
    assert plan(server, ()) == ()
    settle(server, numbered(200))
    settle(server, ())
    assert len(server.objects) == 1
    assert plan(server, ()) == ()


@pytest.mark.parametrize("tainted", [False, True])
@pytest.mark.parametrize(("count", "slices"), [(64, 1), (65, 2), (128, 2), (129, 3)])
def test_splitting(count: int, slices: int, tainted: bool) -> None:
    """A slice holds 64 devices, as the API has it for devices with taints."""
    server = SliceServer()
    settle(server, numbered(count, tainted=tainted))
    assert len(server.objects) == slices
    assert {obj["spec"]["pool"]["resourceSliceCount"] for obj in server.objects.values()} == {
        slices
    }


def test_taints_move_no_device() -> None:
    """Of a thousand devices one is tainted, then another, then none: one write each, of a slice."""
    server, devices = SliceServer(), numbered(1000)
    settle(server, devices)

    def places() -> dict[str, str]:
        return {
            device["name"]: name
            for name, obj in server.objects.items()
            for device in obj["spec"]["devices"]
        }

    before = places()
    for tainted in ({"d0"}, {"d0", "d1"}, {"d1"}, set(), {"d999"}, set()):
        offered = [devices_of(d.name, tainted=d.name in tainted)[0] for d in devices]
        (operation,) = settle(server, offered)
        assert isinstance(operation, Update)
        assert plan(server, offered) == ()
        assert places() == before
    assert set(generations(server)) == {1}


def test_all_devices_tainted_at_once_are_a_write_for_each_slice() -> None:
    """As when a card with all its functions loses its carrier; the pool counts when all are in."""
    server = SliceServer()
    settle(server, numbered(256))
    assert len(settle(server, numbered(256, tainted=True))) == 4
    assert generations(server) == [2] * 4
    assert len(settle(server, numbered(256))) == 4


def test_one_changed_slice_keeps_its_generation() -> None:
    """A change within one slice is one write, atomic by itself: the generation stays."""
    server = SliceServer()
    settle(server, numbered(100))
    (operation,) = settle(server, (*numbered(99), *devices_of("d99", mtu=9000)))
    assert isinstance(operation, Update)
    assert generations(server) == [1, 1]


def test_several_changed_slices_get_a_new_generation() -> None:
    """Changes in several slices count only once all of them are written."""
    server = SliceServer()
    settle(server, numbered(100))
    changed = [
        Device(name=d.name, attributes={"mtu": 9000 if d.name in {"d0", "d99"} else 1500})
        for d in numbered(100)
    ]
    assert len(settle(server, changed)) == 2
    assert generations(server) == [2, 2]


def test_removed_device_moves_no_other() -> None:
    """A device that goes leaves the other slices alone."""
    server = SliceServer()
    settle(server, numbered(300))
    (operation,) = settle(server, numbered(300)[1:])
    assert isinstance(operation, Update)


def test_devices_are_in_the_drivers_order() -> None:
    """A device that the driver lists first is first, though others were published before it."""
    server = SliceServer()
    settle(server, devices_of("eth0", "eth1"))
    settle(server, devices_of("cni", "eth0", "eth1"))
    (found,) = server.objects.values()
    assert [device["name"] for device in found["spec"]["devices"]] == ["cni", "eth0", "eth1"]


def test_deleted_slice_comes_back_with_a_new_generation() -> None:
    """A slice that somebody deleted is made again, and the whole pool with it."""
    server = SliceServer()
    settle(server, numbered(100))
    server.remove(POOL.slice_name(0))
    operations = settle(server, numbered(100))
    assert [type(operation) for operation in operations] == [Update, Create]
    assert generations(server) == [2, 2]


@pytest.mark.parametrize("owners", [None, [], [{"kind": "Node", "name": "node-1", "uid": "old"}]])
def test_lost_owner_comes_back(owners: list[JsonObject] | None) -> None:
    """Slices whose owner somebody took away get it back, and are the same otherwise."""
    server = SliceServer()
    settle(server, numbered(300))
    before = [obj["spec"] for obj in server.objects.values()]
    for index in (0, 2):
        server.objects[POOL.slice_name(index)]["metadata"]["ownerReferences"] = owners
    operations = settle(server, numbered(300))
    assert [type(operation) for operation in operations] == [Update, Update]
    assert [obj["spec"] for obj in server.objects.values()] == before
    for obj in server.objects.values():
        assert [owner["uid"] for owner in obj["metadata"]["ownerReferences"]] == ["node-uid"]
    assert plan(server, numbered(300)) == ()


def test_foreign_slice_is_deleted_first() -> None:
    """A slice of our driver and node that is not ours goes, and its generation is surpassed."""
    server = SliceServer()
    spec = {
        "driver": POOL.driver,
        "nodeName": POOL.node,
        "pool": {"name": POOL.node, "generation": 7, "resourceSliceCount": 1},
        "devices": [{"name": "eth0"}],
    }
    server.store({"metadata": {"name": "kind-worker-cni-dra-driver"}, "spec": spec})
    operations = settle(server, devices_of("eth0"))
    assert [type(operation) for operation in operations] == [Delete, Create]
    assert generations(server) == [8]


def test_half_finished_pool() -> None:
    """Generations that differ, as after a crash between two writes, are made one."""
    server = SliceServer()
    settle(server, numbered(100))
    server.objects[POOL.slice_name(1)]["spec"]["pool"]["generation"] = 5
    settle(server, numbered(100))
    assert generations(server) == [6, 6]


def test_generation_goes_on_after_a_wipe() -> None:
    """After all slices were deleted the generation still grows."""
    (operation,) = plan_slices(POOL, devices_of("eth0"), [], accepted={}, last_generation=4)
    assert isinstance(operation, Create)
    assert operation.obj["spec"]["pool"]["generation"] == 5


def test_servers_decision_is_accepted() -> None:
    """What the server made of the very same devices before is no reason to write."""
    server = SliceServer()

    def drop_attributes(obj: JsonObject) -> None:
        for device in obj["spec"]["devices"]:
            del device["attributes"]

    server.admit = drop_attributes
    settle(server, devices_of("eth0"))
    (name, obj), *_ = server.objects.items()
    sent = [device_json(device) for device in devices_of("eth0")]
    returned = {"devices": obj["spec"]["devices"]}
    accepted = {name: Accepted(sent={"devices": sent}, returned=returned)}
    assert plan_slices(POOL, devices_of("eth0"), [obj], accepted=accepted) == ()
    assert len(plan_slices(POOL, devices_of("eth1"), [obj], accepted=accepted)) == 1


def test_taint_time_is_the_servers() -> None:
    """The time at which a taint was added is filled in by the server and not fought over."""
    server = SliceServer()

    def fill_in(obj: JsonObject) -> None:
        for device in obj["spec"]["devices"]:
            for taint in device["taints"]:
                taint["timeAdded"] = "2030-01-01T00:00:00Z"

    server.admit = fill_in
    settle(server, devices_of("eth0", tainted=True))
    assert plan(server, devices_of("eth0", tainted=True)) == ()
    (operation,) = plan(server, devices_of("eth0", "eth1", tainted=True))
    assert isinstance(operation, Update)
    taints = [device["taints"][0] for device in operation.obj["spec"]["devices"]]
    assert ["timeAdded" in taint for taint in taints] == [True, False]


def partitioned(gpus: int, parts: int) -> tuple[Device | CounterSet, ...]:
    """GPUs with so many partitions each, which share the GPU's counter."""
    one = Quantity.parse("1")
    offered: list[Device | CounterSet] = []
    for gpu in range(gpus):
        offered.append(CounterSet(f"gpu-{gpu}", {"slots": Quantity.parse(str(parts))}))
        use = CounterUse(f"gpu-{gpu}", {"slots": one})
        offered += [Device(f"gpu-{gpu}-{part}", consumes=(use,)) for part in range(parts)]
    return tuple(offered)


def test_counters_are_in_slices_of_their_own() -> None:
    """A slice has devices or at most 8 counter sets; 64 devices that use counters are a slice."""
    server = SliceServer()
    settle(server, partitioned(gpus=17, parts=4))
    specs = [server.objects[name]["spec"] for name in sorted(server.objects)]
    sizes = [(len(s.get("devices", [])), len(s.get("sharedCounters", []))) for s in specs]
    assert sizes == [(64, 0), (4, 0), (0, 8), (0, 8), (0, 1)]
    assert {spec["pool"]["resourceSliceCount"] for spec in specs} == {5}
    assert plan(server, partitioned(gpus=17, parts=4)) == ()


def test_counters_that_change_are_a_write_of_their_slice() -> None:
    """A counter set that changes is written alone; without counters their slice goes."""
    server = SliceServer()
    settle(server, (*numbered(1), CounterSet("set", {"a": Quantity.parse("1")})))
    (operation,) = settle(server, (*numbered(1), CounterSet("set", {"a": Quantity.parse("2")})))
    assert isinstance(operation, Update)
    assert operation.obj["spec"]["sharedCounters"] == [
        {"name": "set", "counters": {"a": {"value": "2"}}}
    ]
    assert "devices" not in operation.obj["spec"]
    settle(server, numbered(1))
    assert [list(obj["spec"].get("devices", [])) for obj in server.objects.values()] == [
        [device_json(device) for device in numbered(1)]
    ]


def test_names() -> None:
    """Names are DNS subdomains in the order of their index, and no two pools share one."""
    names = [POOL.slice_name(index) for index in (0, 1, 10, 255)]
    assert names == sorted(names)
    long = Pool(driver="d" * 63, node="n" * 253, node_uid="")
    assert len(long.slice_name(0)) <= 253
    split = [Pool("a-b", "c", ""), Pool("a", "b-c", "")]
    assert len({pool.slice_name(0) for pool in split}) == 2


NAMES = st.integers(min_value=0, max_value=400)
OFFER = st.tuples(st.sets(NAMES, max_size=400), st.booleans(), st.sampled_from([1500, 9000]))


@given(st.lists(OFFER, min_size=1, max_size=4))
def test_any_history(offers: list[tuple[set[int], bool, int]]) -> None:
    """After any sequence of offers the pool is whole, and there is nothing left to write."""
    server = SliceServer()
    for numbers, tainted, mtu in offers:
        devices = devices_of(*(f"d{n}" for n in sorted(numbers)), tainted=tainted, mtu=mtu)
        before = {name: obj["spec"]["pool"]["generation"] for name, obj in server.objects.items()}
        operations = settle(server, devices)
        assert sorted(server.device_names()) == sorted(device.name for device in devices)
        assert all(len(o["spec"].get("devices", [])) <= 64 for o in server.objects.values())
        assert len(set(generations(server))) == 1
        assert generations(server)[0] >= max(before.values(), default=0)
        if len(operations) > 1:
            assert generations(server)[0] > max(before.values(), default=0)
        assert plan(server, devices) == ()


def test_every_field_of_a_device() -> None:
    """A device's JSON has each field under the API's name, and no empty ones."""
    q = Quantity.parse
    device = Device(
        name="eth1",
        attributes={"up": True, "mtu": 1500, "mac": "02:00", "driverVersion": Version("1.2.3")},
        capacity={
            "plain": Capacity(q("1000M")),
            "values": Capacity(q("4"), RequestPolicy(q("1"), valid_values=(q("1"), q("2")))),
            "range": Capacity(
                q("10G"), RequestPolicy(q("1G"), valid_range=ValidRange(q("1G"), step=q("1G")))
            ),
        },
        allow_multiple_allocations=True,
        taints=(Taint(key="k", effect="NoSchedule", value="v"), Taint(key="k", effect="None")),
        consumes=(CounterUse("gpu-0", {"memory": q("40Gi")}),),
        binding_conditions=("example.com/ready",),
        binding_failure_conditions=("example.com/failed",),
        binds_to_node=True,
    )
    assert device_json(device) == {
        "name": "eth1",
        "attributes": {
            "up": {"bool": True},
            "mtu": {"int": 1500},
            "mac": {"string": "02:00"},
            "driverVersion": {"version": "1.2.3"},
        },
        "capacity": {
            "plain": {"value": "1G"},
            "values": {
                "value": "4",
                "requestPolicy": {"default": "1", "validValues": ["1", "2"]},
            },
            "range": {
                "value": "10G",
                "requestPolicy": {"default": "1G", "validRange": {"min": "1G", "step": "1G"}},
            },
        },
        "allowMultipleAllocations": True,
        "taints": [
            {"key": "k", "effect": "NoSchedule", "value": "v"},
            {"key": "k", "effect": "None"},
        ],
        "consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": "40Gi"}}}],
        "bindsToNode": True,
        "bindingConditions": ["example.com/ready"],
        "bindingFailureConditions": ["example.com/failed"],
    }
    assert device_json(Device(name="eth2")) == {"name": "eth2"}
    assert counter_set_json(CounterSet("gpu-0", {"memory": q("80Gi")})) == {
        "name": "gpu-0",
        "counters": {"memory": {"value": "80Gi"}},
    }


def test_dropped_fields() -> None:
    """Fields that did not come back are named once, not once for each device."""
    policy = {"value": "10G", "requestPolicy": {"default": "1G"}}
    sent = [
        {"name": name, "capacity": {"bandwidth": policy}, "allowMultipleAllocations": True}
        for name in ("eth0", "eth1")
    ]
    returned = [{"name": n, "capacity": {"bandwidth": {"value": "10G"}}} for n in ("eth0", "eth1")]
    assert dropped_fields(sent, returned) == {
        "allowMultipleAllocations",
        "capacity.*.requestPolicy",
    }
    assert dropped_fields(sent, sent) == frozenset()
    assert without_server_fields(sent) == sent

"""A pool of addresses as a device of the cluster, so that the scheduler knows when it is full.

    media       kind: addresses, name: addresses/media
                capacity addresses: 126, of which every claim takes one
                taint cni.networking.x-k8s.io/address-pool

Nothing is prepared of it: a claim that has a share of it has its address by a lease, as every other
claim. Promise: only a request that tolerates the taint can get it, so that a class that selects no
more than the driver still means links. It has the attributes that all links have, because a
selector that reads one which a device lacks fails the whole allocation. A pool that nobody may have
addresses of has a second taint. No I/O.
"""

from typing import Final

import msgspec

from netclaim.kernel import Link, SysfsFacts
from netclaim.model import Capacity, Device, JsonObject, Quantity, RequestPolicy, Taint
from netclaim.model.pools.counted_pool import class_name_of, slice_pool_of
from netclaim.model.quantity import NANO
from netclaim.network.devices.device import device_of

KIND: Final = "addresses"
ADDRESSES: Final = "addresses"  # the capacity
# Neither key names the driver: a request is written without knowing how the driver is called.
TAINT: Final = "cni.networking.x-k8s.io/address-pool"
UNUSABLE: Final = "cni.networking.x-k8s.io/address-pool-unusable"
LABEL: Final = "cni.networking.x-k8s.io/address-pool"  # at a pool's slice and class
ONE: Final = Quantity(NANO)
REQUEST: Final = "address"  # how a template calls it


def pool_device(pool: str, addresses: int, *, unusable: str = "") -> Device:
    """The device of a pool with so many addresses; `unusable` is why nobody may have one."""
    nothing = Link(index=0, name=slice_pool_of(pool), arphrd=0, flags=0)
    bare = device_of(nothing, (), SysfsFacts(virtual=True), default_route=False)
    taints = [Taint(TAINT, "NoSchedule")]
    if unusable:
        taints.append(Taint(UNUSABLE, "NoSchedule", unusable))
    policy = RequestPolicy(default=ONE, valid_values=(ONE,))
    return msgspec.structs.replace(
        bare,
        name=pool,
        attributes={**bare.attributes, "ifName": "", "kind": KIND},
        capacity={ADDRESSES: Capacity(Quantity(addresses * NANO), policy)},
        allow_multiple_allocations=True,
        taints=tuple(taints),
    )


def pool_class(pool: str, driver: str) -> JsonObject:
    """The DeviceClass that selects the device of a pool."""
    name = f'device.attributes["{driver}"].name == "{slice_pool_of(pool)}"'
    expressions = (f'device.driver == "{driver}"', name)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": class_name_of(pool), "labels": {LABEL: pool}},
        "spec": {"selectors": [{"cel": {"expression": each}} for each in expressions]},
    }


def address_request(pool: str, *, beside: str) -> JsonObject:
    """The request for an address of a pool, beside the one for the link."""
    tolerated = {"key": TAINT, "operator": "Exists", "effect": "NoSchedule"}
    exactly = {"deviceClassName": class_name_of(pool), "tolerations": [tolerated]}
    return {"name": REQUEST if beside != REQUEST else f"{REQUEST}-1", "exactly": exactly}

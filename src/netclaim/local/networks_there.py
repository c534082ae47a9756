"""Whether what PodNetworks need is there: classes, devices on the nodes' links, and their pools.

A pod that comes before them would be reported as one that no node fits. Only looks at the store.
"""

from collections.abc import Iterator

from netclaim.allocator.cel import CelError, compile_selector, device_view
from netclaim.local.api.store import Store
from netclaim.model.api.dra.slice import ResourceSlice
from netclaim.model.api.own_kinds.pod_network import Parent, PodNetwork
from netclaim.model.pools.counted_pool import pool_of, pool_of_class
from netclaim.network.devices.network_device import is_device_of
from netclaim.network.pod_network import link_expression, network_of
from netclaim.schema.kinds import ADDRESS_POOL, CLASS, NODE, POD_NETWORK, SLICE, TEMPLATE


def has_networks(store: Store) -> bool:
    """Whether the controller and the drivers have made what the networks there are need."""
    networks = [each for each in map(PodNetwork.read, store.list(POD_NETWORK)) if each.is_ours]
    judged = all(each.status.observed_generation == each.metadata.generation for each in networks)
    return judged and not any(_missing(store)) and not any(_uncounted(store))


def _missing(store: Store) -> Iterator[str]:
    """Yield the networks that a node could offer and does not yet."""
    networks = [each for each in map(network_of, store.list(CLASS)) if each is not None]
    nodes = (found["metadata"] for found in store.list(NODE))
    labels = {node["name"]: node.get("labels", {}) for node in nodes}
    slices = [ResourceSlice.read(found) for found in store.list(SLICE)]
    for network in networks:
        for each in slices:
            parent = network.spec.parent.on_node(labels.get(each.spec.node_name, {}))
            if network.spec.parent.overrides and parent == Parent():
                continue
            there = any(is_device_of(network.name, device.name) for device in each.spec.devices)
            if not there and _has_link(parent, each):
                yield network.name


def _uncounted(store: Store) -> Iterator[str]:
    """Yield the pools that are there, and of which the scheduler does not know yet."""
    classes = {found["metadata"]["name"] for found in store.list(CLASS)}
    counted = {pool_of(found["spec"]["pool"]["name"]) for found in store.list(SLICE)}
    pools = {found["metadata"]["name"] for found in store.list(ADDRESS_POOL)}
    for found in store.list(TEMPLATE):
        for request in found["spec"]["spec"].get("devices", {}).get("requests", ()):
            name = request.get("exactly", {}).get("deviceClassName", "")
            pool = pool_of_class(name)
            if pool in pools and (name not in classes or pool not in counted):
                yield pool


def _has_link(parent: Parent, offered: ResourceSlice) -> bool:
    """Whether a node has a link that is a network's."""
    driver = offered.spec.driver
    selector = compile_selector(link_expression(parent, driver))
    for device in offered.spec.devices:
        try:
            if selector.matches(device_view(driver, device)):
                return True
        except CelError:  # which keeps the network from that link, too
            continue
    return False

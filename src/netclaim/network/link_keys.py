"""Bring a network's configuration and the allocated link together.

Promise: a plugin that stands on a link, or takes one into the pod, works with the allocated link
and no other. Left out, the link is filled in; another one is refused with the path of the key.
Limit: pure, and knows the reference plugins only. What other plugins do with a link is theirs.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from netclaim.cni import NetworkList
from netclaim.errors import RequestError
from netclaim.kernel.links import Link
from netclaim.network.parameters import InterfaceRequest

__all__ = ["takes_link", "with_link", "without_link"]

LINK_KEYS: Final = {
    "host-device": "device",
    "ipvlan": "master",
    "macvlan": "master",
    "vlan": "master",
}
# Further keys by which host-device can name a link.
OTHER_KEYS: Final = ("hwaddr", "kernelpath", "pciBusID")
TAKES_LINK: Final = "host-device"  # the one that moves the link itself into the pod
# Without a master macvlan and ipvlan take the link of the default route; vlan takes none.
NEEDS_MASTER: Final = "vlan"


def takes_link(network: NetworkList) -> bool:
    """Whether the link itself goes into the pod, rather than something made on it."""
    return any(plugin.type == TAKES_LINK for plugin in network.plugins)


def with_link(request: InterfaceRequest, link: Link, *, shared: bool = False) -> NetworkList:
    """Return the network on its allocated link, which may be `shared` with other claims."""
    network = request.network
    for index, key, config, field in _linked(request):
        if shared:
            _check_leaves_link(network.plugins[index].type, config, link, field)
        for other in OTHER_KEYS if key == LINK_KEYS[TAKES_LINK] else ():
            if config.get(other):
                raise RequestError(
                    f"leave it out: the allocated link {link.name!r} is used",
                    field=f"{field}.{other}",
                )
        named = config.get(key) or link.name
        if named not in {link.name, *link.altnames}:
            raise RequestError(
                f"names the link {named!r}, but {link.name!r} was allocated: "
                f"leave it out, or select {named!r} in the request",
                field=f"{field}.{key}",
            )
        network = network.with_keys(index, {key: link.name})
    return network


def _check_leaves_link(plugin: str, config: Mapping[str, Any], link: Link, field: str) -> None:
    """Refuse what would take a shared link away from the others that have it."""
    greedy = plugin == "macvlan" and config.get("mode") == "passthru"
    if plugin == TAKES_LINK or greedy:
        raise RequestError(
            f"{plugin}{' in mode passthru' if greedy else ''} would take the shared link "
            f"{link.name!r} away from other claims: put a macvlan of another mode on it, or select "
            f"a link that is not shared",
            field=field,
        )


def without_link(request: InterfaceRequest, links: Collection[Link]) -> NetworkList:
    """Return the network of a request that was allocated no particular link.

    It may stand on any of the node's links, which it names, but take none away: the scheduler
    knows nothing of it.
    """
    there = {name for link in links for name in (link.name, *link.altnames)}
    for index, key, config, field in _linked(request):
        plugin = request.network.plugins[index].type
        named = config.get(key)
        if plugin == TAKES_LINK:
            raise RequestError(
                f"{plugin} takes a link away from the node, so the link must be allocated: "
                f"select one in the request {request.device.base_request}",
                field=field,
            )
        if not named and plugin == NEEDS_MASTER:
            raise RequestError(
                f"is missing: name a link, or select one in the request "
                f"{request.device.base_request}",
                field=f"{field}.{key}",
            )
        if named and named not in there:
            raise RequestError(f"there is no link {named!r} on the node", field=f"{field}.{key}")
    return request.network


def _linked(request: InterfaceRequest) -> Iterator[tuple[int, str, dict[str, Any], str]]:
    """Yield the plugins that use a link of the node, each with its key and its configuration."""
    for index, plugin in enumerate(request.network.plugins):
        key = LINK_KEYS.get(plugin.type)
        config = plugin.to_dict()
        if key is None or config.get("linkInContainer") is True:
            continue
        field = request.plugin_fields[index]
        if not isinstance(config.get(key, ""), str):
            raise RequestError("must be a string", field=f"{field}.{key}")
        yield index, key, config, field

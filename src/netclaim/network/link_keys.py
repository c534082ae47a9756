"""Bring a network's configuration and the allocated link together.

Promise: a plugin that stands on a link, or takes one into the pod, works with the allocated link
and no other. Left out, the link is filled in; another one is refused with the path of the key.
Limit: No I/O, and knows the reference plugins only. What other plugins do with a link is theirs.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from netclaim.cni import NetworkList
from netclaim.errors import RequestError
from netclaim.kernel.links import Link
from netclaim.network.parameters import InterfaceRequest
from netclaim.paths import Path

__all__ = ["linked_names", "moves_link", "takes_link", "with_link", "without_link"]

LINK_KEYS: Final = {
    "host-device": "device",
    "ipvlan": "master",
    "macvlan": "master",
    "vlan": "master",
}
# Further keys by which host-device can name a link.
OTHER_KEYS: Final = ("hwaddr", "kernelpath", "pciBusID")
MOVES_LINK: Final = "host-device"  # the one that moves the link itself into the pod
# Without a master macvlan and ipvlan take the link of the default route; vlan takes none.
NEEDS_MASTER: Final = "vlan"


def takes_link(network: NetworkList) -> bool:
    """Whether a network leaves nothing of the link for others: it moves it, or all its traffic."""
    return any(_is_greedy(plugin.type, plugin.to_dict()) for plugin in network.plugins)


def moves_link(network: NetworkList) -> bool:
    """Whether the link itself goes into the pod, rather than something made on it."""
    return any(plugin.type == MOVES_LINK for plugin in network.plugins)


def linked_names(network: NetworkList) -> frozenset[str]:
    """The links that a network names which is on its links already."""
    keys = ((plugin.to_dict(), LINK_KEYS.get(plugin.type)) for plugin in network.plugins)
    return frozenset(config[key] for config, key in keys if key and config.get(key))


def with_link(request: InterfaceRequest, link: Link, *, shared: bool = False) -> NetworkList:
    """Return the network on its allocated link, which may be `shared` with other claims."""
    network = request.network
    for index, key, config, path in _linked(request):
        if shared:
            _check_leaves_link(network.plugins[index].type, config, link, path)
        for other in OTHER_KEYS if key == LINK_KEYS[MOVES_LINK] else ():
            if config.get(other):
                raise RequestError(
                    f"leave it out: the allocated link {link.name!r} is used",
                    path=(*path, other),
                )
        named = config.get(key) or link.name
        if named not in {link.name, *link.altnames}:
            raise RequestError(
                f"names the link {named!r}, but {link.name!r} was allocated: "
                f"leave it out, or select {named!r} in the request",
                path=(*path, key),
            )
        network = network.with_keys(index, {key: link.name})
    return network


def without_link(
    request: InterfaceRequest,
    links: Collection[Link],
    default: Link | None,
    *,
    withheld: Mapping[int, str],
) -> tuple[NetworkList, tuple[Link, ...]]:
    """Return the network of a request that was allocated no particular link, and its links.

    It may stand on any of `links` that is not `withheld` (index and reason), which it names, or on
    the node's `default` one, but take none away: the scheduler knows nothing of it.
    """
    network = request.network
    used: list[Link] = []
    for index, key, config, path in _linked(request):
        plugin = network.plugins[index].type
        if _is_greedy(plugin, config):
            mode = "" if plugin == MOVES_LINK else " in mode passthru"
            raise RequestError(
                f"{plugin}{mode} takes a link away from the node, so the link must be allocated: "
                f"select one in the request {request.device.base_request}",
                path=path,
            )
        link = _find(config.get(key), links, path=(*path, key))
        if link is None:
            link = default if plugin != NEEDS_MASTER else None
        if link is None:
            raise RequestError(
                f"{key} is missing; name a link, or select one in the request "
                f"{request.device.base_request}",
                path=(*path, key),
            )
        if link.index in withheld:
            raise RequestError(
                f"the link {link.name!r} cannot be named here: {withheld[link.index]}",
                path=(*path, key),
            )
        network = network.with_keys(index, {key: link.name})
        used.append(link)
    return network, tuple(used)


def _find(named: str | None, links: Collection[Link], *, path: Path) -> Link | None:
    """Find a link by one of its names; None where none is named."""
    if not named:
        return None
    found = next((link for link in links if named in {link.name, *link.altnames}), None)
    if found is None:
        raise RequestError(f"there is no link {named!r} on the node", path=path)
    return found


def _is_greedy(plugin: str, config: Mapping[str, Any]) -> bool:
    return plugin == MOVES_LINK or (plugin == "macvlan" and config.get("mode") == "passthru")


def _check_leaves_link(plugin: str, config: Mapping[str, Any], link: Link, path: Path) -> None:
    """Refuse what would take a shared link away from the others that have it."""
    if _is_greedy(plugin, config):
        mode = "" if plugin == MOVES_LINK else " in mode passthru"
        raise RequestError(
            f"{plugin}{mode} would take the shared link "
            f"{link.name!r} away from other claims: put a macvlan of another mode on it, or select "
            f"a link that is not shared",
            path=path,
        )


def _linked(request: InterfaceRequest) -> Iterator[tuple[int, str, dict[str, Any], Path]]:
    """Yield the plugins that use a link of the node, each with its key and its configuration."""
    for index, plugin in enumerate(request.network.plugins):
        key = LINK_KEYS.get(plugin.type)
        config = plugin.to_dict()
        if key is None or (config.get("linkInContainer") is True and plugin.type != MOVES_LINK):
            continue
        path = request.plugin_paths[index]
        if not isinstance(config.get(key, ""), str):
            raise RequestError("must be a string", path=(*path, key))
        yield index, key, config, path

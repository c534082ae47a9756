"""Bring a network's configuration and the allocated link together.

Promise: a plugin that stands on a link, or takes one into the pod, works with the allocated link
and no other. Left out, the link is filled in; another one is refused with the path of the key.
Limit: no I/O. Which key names a link, and what takes one away, the plugins' classes say; what other
plugins do with a link is theirs.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from netclaim.cni import NetworkList, PluginConf
from netclaim.errors import RequestError
from netclaim.kernel.state.links import Link
from netclaim.network.devices.shares import how_alone
from netclaim.network.request.parameters import InterfaceRequest
from netclaim.paths import Path
from netclaim.plugins.engine.plugin import Plugin
from netclaim.plugins.registry import PLUGIN_CLASSES


def takes_link(network: NetworkList) -> bool:
    """Whether a network leaves nothing of the link for others: it moves it, or all its traffic."""
    return bool(taking_link(network))


def taking_link(network: NetworkList) -> str:
    """Name what leaves nothing of the link for others; empty if nothing does."""
    found = (kind.takes_link(plugin.config) for plugin, kind in _known(network))
    return next(filter(None, found), "")


def moves_link(network: NetworkList) -> bool:
    """Whether the link itself goes into the pod, rather than something made on it."""
    return any(kind.moves_link for _, kind in _known(network))


def hands_over(network: NetworkList) -> bool:
    """Whether a program gets the link's hardware, so that the pod has no interface."""
    return any(kind.hands_over(plugin.config) for plugin, kind in _known(network))


def mtu_of(network: NetworkList, link_mtu: int) -> int:
    """The MTU that the interface gets: a plugin's own, or that of the link; 0: not known."""
    if hands_over(network):
        return 0
    written = [plugin.config.get("mtu") for plugin in network.plugins]
    if given := [mtu for mtu in written if type(mtu) is int and mtu > 0]:  # a program may read text
        return given[-1]
    return link_mtu if linked_names(network) or moves_link(network) else 0


def linked_names(network: NetworkList) -> frozenset[str]:
    """The links of the node that a network names which is on its links already."""
    keys = (
        (plugin.config, kind.link_key)
        for plugin, kind in _known(network)
        if not _is_in_pod(kind, plugin.config)
    )
    return frozenset(config[key] for config, key in keys if key and config.get(key))


def with_link(request: InterfaceRequest, link: Link) -> NetworkList:
    """Return the network on its allocated link, which stays on the node if claims share it."""
    remedy = how_alone(request.device, link.name)
    network = request.network
    for index, kind, config, path in _linked(request):
        key = kind.link_key
        if remedy:
            _check_leaves_link(kind, config, link, path, remedy)
        for other in kind.other_link_keys:
            if config.get(other):
                raise RequestError(
                    f"leave it out; the allocated link {link.name!r} is used",
                    path=(*path, other),
                )
        named = config.get(key) or link.name
        if named not in {link.name, *link.altnames}:
            raise RequestError(
                f"names the link {named!r}, but {link.name!r} was allocated; "
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
    for index, kind, config, path in _linked(request):
        key = kind.link_key
        if taking := kind.takes_link(config):
            raise RequestError(
                f"{taking} takes a link away from the node, so the link must be allocated; "
                f"select one in the request {request.device.base_request}",
                path=path,
            )
        link = _find(config.get(key), links, path=(*path, key))
        if link is None and kind.has_default_link:
            link = default
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


def _check_leaves_link(
    kind: type[Plugin], config: Mapping[str, Any], link: Link, path: Path, remedy: str
) -> None:
    """Refuse what would take a shared link away from the others that have it."""
    if taking := kind.takes_link(config):
        raise RequestError(
            f"{taking} would take the shared link {link.name!r} away from other claims; to have "
            f"it alone, {remedy}, or use a macvlan in another mode",
            path=path,
        )


def _is_in_pod(kind: type[Plugin], config: Mapping[str, Any]) -> bool:
    """Whether a plugin looks for its link in the pod; most cannot, whatever their keys say."""
    return bool(kind.pod_link_key) and config.get(kind.pod_link_key) is True


def _known(network: NetworkList) -> Iterator[tuple[PluginConf, type[Plugin]]]:
    """Yield the plugins of a network whose types we have, executed or not."""
    for plugin in network.plugins:
        if plugin.type in PLUGIN_CLASSES:
            yield plugin, PLUGIN_CLASSES[plugin.type]


def _linked(
    request: InterfaceRequest,
) -> Iterator[tuple[int, type[Plugin], Mapping[str, Any], Path]]:
    """Yield the plugins that use a link of the node, each with its configuration."""
    for index, plugin in enumerate(request.network.plugins):
        kind = PLUGIN_CLASSES.get(plugin.type)
        config = plugin.config
        if kind is None or not kind.link_key or _is_in_pod(kind, config):
            continue
        path = request.plugin_paths[index]
        if not isinstance(config.get(kind.link_key, ""), str):
            raise RequestError("must be a string", path=(*path, kind.link_key))
        yield index, kind, config, path

"""Judge: hold a network against the policy's table, plugin by plugin and key by key.

Promise: what the table does not have is refused, whatever it is. What a class wrote is taken as it
is, with one exception: a link that carries the node is not given away, unless a class says so for a
namespace that is `privileged`. No I/O. Judges the one form that `canonical` makes.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from netclaim.cni import NetworkList, PluginConf
from netclaim.errors import RequestError
from netclaim.manifests.near import did_you_mean
from netclaim.network.errors import PolicyError
from netclaim.network.judge.addresses import address_fault
from netclaim.network.judge.carried import Use, carried_by
from netclaim.network.judge.settings import settings_faults
from netclaim.network.policy.levels import LABEL, Level
from netclaim.network.policy.standing import (
    Standing,
    needs_level,
    needs_own,
    needs_program,
)
from netclaim.network.policy.table import (
    COMMON_KEYS,
    IPAM_TYPES,
    NETWORK_BYTES_MAX,
    PLUGINS_MAX,
    ROUTES_MAX,
    SETTINGS,
    SUBNETS_MAX,
    SYSCTLS,
    TYPES,
    KeyPolicy,
)
from netclaim.network.request.into_config.link_keys import takes_link
from netclaim.paths import Key, Path
from netclaim.plugins.engine.unknown_keys import unknown_keys
from netclaim.plugins.registry import ALIKE_TYPES, LINK_SETTINGS

OWN_INTERFACE: Final = "IFNAME"  # in a sysctl's name: the interface that is made


def judge(
    network: NetworkList,
    paths: tuple[Path, ...],
    standing: Standing,
    *,
    ifname: str,
    trusted: bool,
    chosen: bool,
) -> list[RequestError]:
    """List what is wrong with a network.

    `trusted`: it is a class's word; `chosen`: `ips` beside it take the place of its addresses.
    """
    faults: list[RequestError] = []
    if (
        standing.carries
        and takes_link(network)
        and not (trusted and standing.level is Level.PRIVILEGED)
    ):
        faults.append(
            PolicyError(
                f"the link {standing.link!r} carries the node ({standing.carries}) and cannot be "
                f"given to a pod; select another link. Only a DeviceClass can give it away, in a "
                f"namespace that an admin has labelled {LABEL}={Level.PRIVILEGED}",
                path=paths[0] if paths else (),
            )
        )
    if trusted or standing.level is Level.PRIVILEGED:
        return faults
    if (too_large := size_fault(network, paths)) is not None:
        return [*faults, too_large]
    faults += _order_faults(network, paths)
    for plugin, where in zip(network.plugins, paths, strict=True):
        faults += _plugin_faults(plugin, where, standing, ifname, chosen=chosen)
    return faults


def size_fault(network: NetworkList, paths: tuple[Path, ...]) -> RequestError | None:
    """Refuse a network that is larger than a claim's may be.

    Prepare asks before anything else, so that the length of no other loop is a tenant's choice.
    """
    if len(network.plugins) > PLUGINS_MAX:
        message = (
            f"the network has {len(network.plugins)} plugins; a claim's network may have at most "
            f"{PLUGINS_MAX}"
        )
        return PolicyError(message, path=paths[PLUGINS_MAX])
    size = len(network.to_json())
    if size > NETWORK_BYTES_MAX:
        message = f"has {size} bytes; a claim's network may have at most {NETWORK_BYTES_MAX}"
        return PolicyError(message, path=paths[0])
    return None


def _order_faults(network: NetworkList, paths: tuple[Path, ...]) -> Iterator[RequestError]:
    """Refuse a second plugin that makes the interface: to undo it would undo the first one's."""
    for plugin, where in list(zip(network.plugins, paths, strict=True))[1:]:
        known = TYPES.get(plugin.type)
        if known is not None and not known.follows:
            yield PolicyError(
                f"{plugin.type} creates an interface, but {network.plugins[0].type} already "
                f"creates one; remove one of the two",
                path=(*where, "type"),
            )


def _plugin_faults(
    plugin: PluginConf, where: Path, standing: Standing, ifname: str, *, chosen: bool
) -> Iterator[RequestError]:
    config = plugin.config
    ipam = config.get("ipam")
    known = TYPES.get(plugin.type)
    if known is None:
        yield from _program_faults(plugin.type, TYPES, (*where, "type"), standing)
    elif known.level > Level.BASELINE:
        what = f"the plugin {plugin.type} ({known.about})"
        yield needs_level(known.level, (*where, "type"), standing, what)
        return
    elif known.own and standing.not_own:
        what = f"the plugin {plugin.type} ({known.about})"
        yield needs_own((*where, "type"), standing, what)
    unknown: list[str] = []
    for key, value in config.items():
        rule = COMMON_KEYS.get(key) or (known.keys.get(key) if known is not None else None)
        if rule is not None:
            yield from _key_faults(rule, value, (*where, key), standing)
        elif known is not None:
            unknown.append(key)
    if known is not None:
        yield from _unknown_keys(unknown, {**COMMON_KEYS, **known.keys}, where, standing)
    yield from _inner_faults(plugin, where, standing, ifname)
    if ipam:
        yield from _ipam_faults(ipam, (*where, "ipam"), standing, chosen=chosen)


def _inner_faults(
    plugin: PluginConf, where: Path, standing: Standing, ifname: str
) -> Iterator[RequestError]:
    """Yield what the values of some plugins' keys are refused for."""
    config = plugin.config
    if plugin.type == "tuning":
        yield from _sysctl_faults(config.get("sysctl"), (*where, "sysctl"), standing, ifname)
    if plugin.type == LINK_SETTINGS:
        settings = {key: value for key, value in config.items() if key in SETTINGS}
        yield from settings_faults(settings, {key: (*where, key) for key in settings}, standing)


def _ipam_faults(
    ipam: Mapping[str, Any], where: Path, standing: Standing, *, chosen: bool
) -> Iterator[RequestError]:
    name = ipam.get("type", "")
    known = IPAM_TYPES.get(name)
    if known is None:
        yield from _program_faults(name, IPAM_TYPES, (*where, "type"), standing)
        return
    unknown = [key for key in ipam if key not in known.keys and key != "type"]
    for key, value in ipam.items():
        rule = known.keys.get(key)
        if rule is not None:
            yield from _key_faults(rule, value, (*where, key), standing)
    yield from _unknown_keys(unknown, {"type", *known.keys}, where, standing)
    try:
        found = carried_by(ipam, where, chosen=chosen)
    except RequestError as error:
        yield error
        return
    assigned = sum(1 for each in found if each.use is Use.ASSIGNED)
    if assigned > SUBNETS_MAX:
        yield PolicyError(
            f"has {assigned} subnets and addresses; a claim's network may have at most "
            f"{SUBNETS_MAX}",
            path=where,
        )
        return
    routes = len(ipam.get("routes") or ())  # null is none, as for the plugins
    if routes > ROUTES_MAX:
        yield PolicyError(
            f"has {routes} routes; a claim's network may have at most {ROUTES_MAX}",
            path=(*where, "routes"),
        )
        return
    for each in found:
        if fault := address_fault(each, standing):
            yield fault


def _program_faults(
    name: str, known: Collection[str], where: Path, standing: Standing
) -> Iterator[RequestError]:
    hint = did_you_mean(name, known, cutoff=ALIKE_TYPES)
    if name not in standing.claim_plugins and hint:
        yield PolicyError(f'unknown plugin type "{name}"{hint}', path=where)
    elif name not in standing.claim_plugins:
        yield needs_program(name, where, standing)


def _key_faults(
    rule: KeyPolicy, value: object, where: Path, standing: Standing
) -> Iterator[RequestError]:
    if not value:  # nothing, no, 0 and "" mean the same as leaving it out
        return
    if rule.level > Level.BASELINE:
        yield needs_level(rule.level, where, standing)
    elif rule.own and standing.not_own:
        yield needs_own(where, standing)
    elif rule.values and value not in rule.values:
        if value not in rule.own_values:
            listed = ", ".join((*rule.values, *rule.own_values))
            yield PolicyError(f"{value!r} is not one of {listed}", path=where)
        elif standing.not_own:
            yield needs_own(where, standing, f"{value}")


def _sysctl_faults(
    sysctls: object, where: Path, standing: Standing, ifname: str
) -> Iterator[RequestError]:
    if not sysctls:
        return
    if not isinstance(sysctls, dict):
        yield PolicyError("must be an object of names and values", path=where)
        return
    for name in sysctls:
        spelt = _own_sysctl(name, ifname)
        if spelt not in SYSCTLS:
            yield needs_level(Level.PRIVILEGED, (*where, Key(name)), standing, f"the sysctl {name}")


def _own_sysctl(name: str, ifname: str) -> str:
    """Spell a sysctl as the list does: with dots, and IFNAME for the claim's own interface."""
    parts = name.split("/") if "/" in name else name.split(".")
    if any("." in part for part in parts):  # a plugin takes every dot for a slash
        return ""
    return ".".join(OWN_INTERFACE if part == ifname else part for part in parts)


def _unknown_keys(
    unknown: Sequence[str], known: Collection[str], where: Path, standing: Standing
) -> Iterator[RequestError]:
    """Refuse keys that the table does not have, with a guess at what was meant."""

    def hint(key: str) -> str:
        meant = did_you_mean(key, known)
        return f"{meant} (at the policy level {standing.level} only known keys may be set)"

    for message, path in unknown_keys(unknown, where, hint):
        yield PolicyError(message, path=path)

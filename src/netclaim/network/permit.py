"""Permit: hold what a claim asks for against the policy's table.

Promise: everything that a claim set is judged, whatever it is; a refusal names the key, what it
needs and who can grant it; all refusals of a request are reported together. What a class set is
taken as it is, with one exception: a link that carries the node is not given away, unless a class
says so for a namespace that is `privileged`. Limit: No I/O. Judges the one form that `canonical`
makes.
"""

import difflib
import ipaddress
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from netclaim.cni import NetworkList, PluginConf
from netclaim.errors import RequestError
from netclaim.network.errors import PolicyError, raise_all
from netclaim.network.link_keys import takes_link
from netclaim.network.parameters import KEY_SHOWN_MAX, UNKNOWN_MAX, InterfaceRequest
from netclaim.network.policy import (
    ALLOWABLE,
    COMMON_KEYS,
    IPAM_TYPES,
    LABEL,
    NETWORK_BYTES_MAX,
    PARAMETERS,
    PLUGINS_MAX,
    ROUTES_MAX,
    SUBNETS_MAX,
    SYSCTLS,
    TYPES,
    Key,
    Level,
)
from netclaim.network.wishes import WISHES, Wishes
from netclaim.plugins.conf import read_cidr
from netclaim.plugins.errors import PluginError

__all__ = ["Standing", "judge", "permit", "wish_faults"]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
MISSPELT: Final = 0.8  # how alike a type must be to be taken for a slip: portmap is not tap
OWN_INTERFACE: Final = "IFNAME"  # in a sysctl's name: the interface that is made


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a claim stands: how far it is trusted, and on which link."""

    level: Level
    namespace: str
    link: str = ""
    shared: str = ""  # why the link is not the claim's own, in words; empty: it is
    carries: str = ""  # why the node depends on the link; empty: it does not
    node_networks: tuple[Network, ...] = ()  # that the node lives in, on a link which carries it
    node_addresses: frozenset[str] = frozenset()  # that the node has on the link
    claim_plugins: frozenset[str] = frozenset()  # programs that claims may name
    ceiling: Level = Level.PRIVILEGED  # that no label goes beyond

    @property
    def not_own(self) -> str:
        """Say why the link is not the claim's alone; empty where it is."""
        if self.carries:
            return f"the link {self.link!r} carries the node: {self.carries}"
        return self.shared


def permit(request: InterfaceRequest, standing: Standing) -> None:
    """Raise unless the claim may have what it asks for."""
    faults = [
        *_parameter_faults(request, standing),
        *judge(
            request.network,
            request.plugin_fields,
            standing,
            ifname=request.ifname,
            trusted=request.trusted,
        ),
    ]
    refused = {fault.field for fault in faults}
    wished = {
        key: where
        for key, where in request.claimed.items()
        if key in WISHES and where not in refused
    }
    faults += wish_faults(request.wishes, wished, standing, vouched=request.allowed or ())
    raise_all(faults)


def wish_faults(
    wishes: Wishes, claimed: Mapping[str, str], standing: Standing, *, vouched: Collection[str]
) -> Iterator[RequestError]:
    """Yield what is wrong with the wishes that a claim made, by key and where they were written.

    `vouched` are those that its class allows. No class means the node's own addresses by that.
    """
    if standing.level is Level.PRIVILEGED:
        return
    if "mac" in claimed and "mac" not in vouched and standing.not_own:
        yield _needs_own(claimed["mac"], standing)
    for ip in wishes.ips if "ips" in claimed else ():
        interface = ipaddress.ip_interface(ip)
        if str(interface.ip) in standing.node_addresses:
            message = f"{interface.ip} is the node's own address on the link {standing.link!r}"
            yield PolicyError(f"{message}; choose another", field=claimed["ips"])
        elif "ips" not in vouched:
            fault = _address_fault(str(interface), claimed["ips"], standing)
            if fault is not None:
                yield fault


def judge(
    network: NetworkList,
    fields: tuple[str, ...],
    standing: Standing,
    *,
    ifname: str,
    trusted: bool,
) -> list[RequestError]:
    """List what is wrong with a network; `trusted`: it is a class's word."""
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
                field=fields[0] if fields else "",
            )
        )
    if trusted or standing.level is Level.PRIVILEGED:
        return faults
    if len(network.plugins) > PLUGINS_MAX:
        message = (
            f"the network has {len(network.plugins)} plugins; a claim's network may have at most "
            f"{PLUGINS_MAX}"
        )
        return [*faults, PolicyError(message, field=fields[PLUGINS_MAX])]
    size = len(network.to_json())
    if size > NETWORK_BYTES_MAX:
        message = f"has {size} bytes; a claim's network may have at most {NETWORK_BYTES_MAX}"
        return [*faults, PolicyError(message, field=fields[0])]
    faults += _order_faults(network, fields)
    for plugin, where in zip(network.plugins, fields, strict=True):
        faults += _plugin_faults(plugin, where, standing, ifname)
    return faults


def _order_faults(network: NetworkList, fields: tuple[str, ...]) -> Iterator[RequestError]:
    """Refuse a second plugin that makes the interface: to undo it would undo the first one's."""
    for plugin, where in list(zip(network.plugins, fields, strict=True))[1:]:
        known = TYPES.get(plugin.type)
        if known is not None and not known.follows:
            yield PolicyError(
                f"{plugin.type} makes an interface, but {network.plugins[0].type} already made "
                f"one; remove one of the two",
                field=f"{where}.type",
            )


def _parameter_faults(request: InterfaceRequest, standing: Standing) -> Iterator[RequestError]:
    """Judge the keys beside the network: whether the claim may set them at all."""
    if standing.level is Level.PRIVILEGED:
        return
    for key in ALLOWABLE:
        where = request.claimed.get(key)
        if where is None or _is_vouched(request, key):
            continue
        if request.allowed is not None or request.class_has_config:
            yield PolicyError(
                f"the DeviceClass does not let claims set it; leave it out, or ask a cluster admin "
                f"to add {key} to the class's `allow`",
                field=where,
            )
        elif standing.level < PARAMETERS[key].level:
            yield _needs(PARAMETERS[key].level, where, standing)


def _is_vouched(request: InterfaceRequest, key: str) -> bool:
    """Whether the class lets its claims set a key."""
    return request.allowed is not None and key in request.allowed


def _plugin_faults(
    plugin: PluginConf, where: str, standing: Standing, ifname: str
) -> Iterator[RequestError]:
    config = plugin.to_dict()
    ipam = config.get("ipam")
    known = TYPES.get(plugin.type)
    if known is None:
        yield from _program_faults(plugin.type, TYPES, f"{where}.type", standing)
    elif known.level > Level.BASELINE:
        what = f"the plugin {plugin.type} ({known.about})"
        yield _needs(known.level, f"{where}.type", standing, what)
        return
    elif known.own and standing.not_own:
        what = f"the plugin {plugin.type} ({known.about})"
        yield _needs_own(f"{where}.type", standing, what)
    unknown: list[str] = []
    for key, value in config.items():
        rule = COMMON_KEYS.get(key) or (known.keys.get(key) if known is not None else None)
        if rule is not None:
            yield from _key_faults(rule, value, f"{where}.{key}", standing)
        elif known is not None:
            unknown.append(key)
    if known is not None:
        yield from _unknown_keys(unknown, {**COMMON_KEYS, **known.keys}, where, standing)
    if plugin.type == "tuning":
        yield from _sysctl_faults(config.get("sysctl"), f"{where}.sysctl", standing, ifname)
    if ipam:
        yield from _ipam_faults(ipam, f"{where}.ipam", standing)


def _ipam_faults(ipam: Mapping[str, Any], where: str, standing: Standing) -> Iterator[RequestError]:
    name = ipam.get("type", "")
    known = IPAM_TYPES.get(name)
    if known is None:
        yield from _program_faults(name, IPAM_TYPES, f"{where}.type", standing)
        return
    unknown = [key for key in ipam if key not in known.keys and key != "type"]
    for key, value in ipam.items():
        rule = known.keys.get(key)
        if rule is not None:
            yield from _key_faults(rule, value, f"{where}.{key}", standing)
    yield from _unknown_keys(unknown, {"type", *known.keys}, where, standing)
    addresses = list(_addresses(ipam, where))
    if len(addresses) > SUBNETS_MAX:
        yield PolicyError(
            f"has {len(addresses)} subnets and addresses; a claim's network may have at most "
            f"{SUBNETS_MAX}",
            field=where,
        )
        return
    routes = len(_listed(ipam.get("routes")))
    if routes > ROUTES_MAX:
        yield PolicyError(
            f"has {routes} routes; a claim's network may have at most {ROUTES_MAX}",
            field=f"{where}.routes",
        )
    for address, path in addresses:
        if fault := _address_fault(address, path, standing):
            yield fault


def _program_faults(
    name: str, known: Collection[str], where: str, standing: Standing
) -> Iterator[RequestError]:
    near = difflib.get_close_matches(name, known, n=1, cutoff=MISSPELT)
    if name not in standing.claim_plugins and near:
        yield PolicyError(f"unknown plugin type {name!r}; did you mean {near[0]!r}?", field=where)
    elif name not in standing.claim_plugins:
        yield PolicyError(
            f"{name!r} is a program of the node; to name it, a claim needs the policy level "
            f"{Level.PRIVILEGED}, but {_has(standing)}; ask a cluster admin to put the network "
            f"into a DeviceClass, or to list the type in the drivers' --claim-plugins",
            field=where,
        )


def _key_faults(rule: Key, value: object, where: str, standing: Standing) -> Iterator[RequestError]:
    if not value:  # nothing, no, 0 and "" mean the same as leaving it out
        return
    if rule.level > Level.BASELINE:
        yield _needs(rule.level, where, standing)
    elif rule.own and standing.not_own:
        yield _needs_own(where, standing)
    elif rule.values and value not in rule.values:
        if value not in rule.own_values:
            listed = ", ".join((*rule.values, *rule.own_values))
            yield PolicyError(f"{value!r} is not one of {listed}", field=where)
        elif standing.not_own:
            yield _needs_own(where, standing, f"{value}")


def _sysctl_faults(
    sysctls: object, where: str, standing: Standing, ifname: str
) -> Iterator[RequestError]:
    if not sysctls:
        return
    if not isinstance(sysctls, dict):
        yield PolicyError("must be an object of names and values", field=where)
        return
    for name in sysctls:
        spelt = _own_sysctl(name, ifname)
        if spelt not in SYSCTLS:
            yield _needs(Level.PRIVILEGED, f"{where}.{name}", standing, f"the sysctl {name}")


def _own_sysctl(name: str, ifname: str) -> str:
    """Spell a sysctl as the list does: with dots, and IFNAME for the claim's own interface."""
    parts = name.split("/") if "/" in name else name.split(".")
    if any("." in part for part in parts):  # a plugin takes every dot for a slash
        return ""
    return ".".join(OWN_INTERFACE if part == ifname else part for part in parts)


def _addresses(ipam: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    """Yield the subnets and addresses that an ipam can hand out, with their paths."""
    if ipam.get("subnet"):
        yield str(ipam["subnet"]), f"{where}.subnet"
    for n, each in enumerate(_listed(ipam.get("ranges"))):
        for m, one in enumerate(_listed(each)):
            if isinstance(one, dict):
                yield str(one.get("subnet") or ""), f"{where}.ranges[{n}][{m}].subnet"
    for n, one in enumerate(_listed(ipam.get("addresses"))):
        if isinstance(one, dict):
            yield str(one.get("address") or ""), f"{where}.addresses[{n}].address"


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _address_fault(written: str, where: str, standing: Standing) -> RequestError | None:
    """Refuse addresses of the node's own network on a link that the node lives on."""
    if not standing.node_networks:
        return None
    try:
        network = read_cidr(written).network
    except PluginError:
        return None  # nobody can have such an address; the plugin says so
    for own in standing.node_networks:
        if own.version == network.version and own.overlaps(network):
            return PolicyError(
                f"{written} overlaps {own}, the node's own network on the link "
                f"{standing.link!r}, which carries the node; choose another network, "
                f"{_ask(standing)}",
                field=where,
            )
    return None


def _unknown_keys(
    unknown: Sequence[str], known: Collection[str], where: str, standing: Standing
) -> Iterator[RequestError]:
    """Refuse keys that the table does not have, with a guess at what was meant."""
    for key in unknown[:UNKNOWN_MAX]:
        shown = key[:KEY_SHOWN_MAX]
        near = difflib.get_close_matches(shown, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        yield PolicyError(
            f"unknown key {shown!r}{hint} (at the policy level {standing.level} only known keys "
            f"may be set)",
            field=f"{where}.{shown}",
        )
    if len(unknown) > UNKNOWN_MAX:
        yield PolicyError(f"has {len(unknown) - UNKNOWN_MAX} more unknown keys", field=where)


def _needs(level: Level, where: str, standing: Standing, what: str = "") -> RequestError:
    subject = f"{what} " if what else ""
    return PolicyError(
        f"{subject}needs the policy level {level}, but {_has(standing)}; leave it out, "
        f"{_ask(standing, level)}",
        field=where,
    )


def _needs_own(where: str, standing: Standing, what: str = "") -> RequestError:
    subject = f"{what} " if what else ""
    return PolicyError(
        f"{subject}needs a link that the claim has to itself, but {standing.not_own}; leave it "
        f"out, {_ask(standing)}",
        field=where,
    )


def _has(standing: Standing) -> str:
    return f"namespace {standing.namespace!r} has {standing.level}"


def _ask(standing: Standing, level: Level = Level.PRIVILEGED) -> str:
    """Say who can grant a level, and how."""
    ask = "or ask a cluster admin to set it in the DeviceClass"
    if level > standing.ceiling:
        return f"{ask}; no label of the namespace goes beyond --policy-ceiling, {standing.ceiling}"
    return f"{ask} or to label the namespace {LABEL}={level}"

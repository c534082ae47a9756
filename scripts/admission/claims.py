"""What is asked of a claim by itself, as CEL: variables that take it apart, and list what is wrong.

Made from the tables of what a claim may say.
"""

from collections.abc import Iterable, Iterator, Sequence

from netclaim.network.policy.levels import LABEL, Level
from netclaim.network.policy.table import (
    COMMON_KEYS,
    IPAM_TYPES,
    NETWORK_KEYS,
    SYSCTLS,
    TYPES,
    KeyPolicy,
    TypePolicy,
)
from netclaim.network.request.dranet import BESIDE, INTERFACE, KNOWN
from netclaim.network.request.ifnames import COLLECTIVE_IFNAMES, TAKEN_IFNAMES
from netclaim.network.request.into_config.added import HOST_DEVICE, READERS
from netclaim.network.request.into_config.wishes import WISHES
from netclaim.network.request.keys import KEYS, SetBy
from netclaim.plugins.engine.conf import Conf, read_cidr, read_ip
from netclaim.plugins.engine.key_rules import DeclaredKey, declared, keys_within
from netclaim.plugins.link_settings.conf import read_network, read_range
from netclaim.plugins.strict import CommonConf
from scripts.admission.cel import DRANETS, LEVEL, SPEC, TYPED, as_validation, as_variables, cel
from scripts.admission.messages import mistakes, refusals

# What is empty or off means the same as leaving it out, to the driver too.
_SET = "!(p[k] in variables.nothing)"
_IPAM_SET = "!(p.ipam[k] in variables.nothing)"
_IPAM = "has(p.ipam) && type(p.ipam) == map"
_OWN_IPAM = f"{_IPAM} && has(p.ipam.type) && p.ipam.type in variables.ipamNames"
# A network that the rules below can look into: an object, with the keys they look for spelt so.
_LOOKED_AT = cel(["plugins", "type", "ipam", "mode", "sysctl"])
_SPELT = f"{{0}}.all(k, !(k.lowerAscii() in {_LOOKED_AT}) || k in {_LOOKED_AT})"
_PLUGIN_SEEN = (
    f"has({{0}}.type) && {_SPELT} && (!has({{0}}.ipam) || {{0}}.ipam == null || "
    f"(type({{0}}.ipam) == map && {_SPELT.format('{0}.ipam')}))"
)
_SEEN = (
    f"type(p.config) == map && (has(p.config.plugins) ? {_SPELT.format('p.config')} && "
    f"type(p.config.plugins) == list && p.config.plugins.all(o, type(o) == map && "
    f"{_PLUGIN_SEEN.format('o')}) : {_PLUGIN_SEEN.format('p.config')})"
)
_PLACES = 24  # characters of a key at which a mistake is looked for; the longest has fewer


def claim_policy() -> str:
    """Return the variables that take a claim apart, and what is asked of its parts."""
    unknown = "!{names}.exists(c, c.lowerAscii() == k.lowerAscii())"
    unknown_key = (
        f"{unknown.format(names='variables.names[p.type]')} && !k.contains('/') && p[k] != null"
    )
    high_key = "k.lowerAscii() in variables.higher[p.type] && " + _SET
    unknown_ipam = (
        f"{unknown.format(names='variables.ipamNames[p.ipam.type]')} && !k.contains('/') && "
        "p.ipam[k] != null"
    )
    high_ipam = f"k.lowerAscii() in variables.ipamHigher[p.ipam.type] && {_IPAM_SET}"
    bad_address = "type({0}) != string || !isCIDR({0})"
    subnets = f"has(s.subnet) && ({bad_address.format('s.subnet')})"
    listed = f"has(a.address) && ({bad_address.format('a.address')})"
    variables = {
        "level": LEVEL,
        "spec": SPEC,
        "ours": (
            "variables.spec.?devices.?config.orValue([]).filter(c, has(c.opaque) && "
            "c.opaque.driver in variables.drivers).map(c, c.opaque.parameters)"
        ),
        "networks": (
            "variables.ours.filter(p, has(p.config) && type(p.config) == map).map(p, p.config)"
        ),
        "unseen": f"variables.ours.filter(p, has(p.config) && !({_SEEN}))",
        "plugins": (
            "variables.networks.filter(n, has(n.plugins)).map(n, n.plugins)"
            ".map(list, list.filter(p, type(p) == map && has(p.type))) + "
            "[variables.networks.filter(n, !has(n.plugins) && has(n.type))]"
        ),
        "interfaces": (
            f"variables.ours.filter(p, {DRANETS} && has(p.interface)).map(p, p.interface)"
        ),
        "nothing": "[dyn(null), dyn(false), dyn(''), dyn(0), dyn([]), dyn({})]",
        "places": cel(list(range(_PLACES))),
        "parameters": cel([key.name for key in KEYS if key.set_by is not SetBy.CLASS]),
        "plainParameters": cel([key.plain for key in KEYS if key.plain]),
        "dranetParameters": cel([INTERFACE, *BESIDE]),
        "interfaceKeys": cel(list(KNOWN)),
        "settingNames": cel(list(_SETTINGS)),
        "settingKeys": cel({n: [key.name for key in keys] for n, keys in _SETTINGS.items()}),
        "addressKeys": cel({n: _addresses(keys) for n, keys in _SETTINGS.items()}),
        # Each object of a setting, with the name of the setting.
        "settings": (
            "(variables.ours + variables.interfaces).map(p, variables.settingNames.filter(s, "
            "s in p).map(s, type(p[s]) == list ? dyn(p[s].filter(o, type(o) == map).map(o, "
            "[dyn(s), dyn(o)])) : type(p[s]) == map ? dyn([[dyn(s), dyn(p[s])]]) : dyn([])))"
        ),
        "networkKeys": cel(list(NETWORK_KEYS)),
        "types": cel([name for name, rule in TYPES.items() if rule.level <= Level.BASELINE]),
        "names": cel({name: _names(rule, COMMON) for name, rule in TYPES.items()}),
        "higher": cel({name: _higher(rule, COMMON) for name, rule in TYPES.items()}),
        "ipamNames": cel({name: _names(rule, ["type"]) for name, rule in IPAM_TYPES.items()}),
        "ipamHigher": cel({name: _higher(rule, []) for name, rule in IPAM_TYPES.items()}),
        "modes": cel({name: _modes(rule) for name, rule in TYPES.items() if _modes(rule)}),
        "sysctls": f"'{_sysctl_pattern()}'",
        "unknownParameters": (
            f"variables.ours.filter(p, {TYPED}).map(p, p.filter(k, !(k in "
            "variables.parameters))).filter(l, size(l) > 0).map(l, l[0])"
        ),
        "unknownPlainParameters": (
            f"variables.ours.filter(p, !{TYPED} && !{DRANETS}).map(p, p.filter(k, !(k in "
            "variables.plainParameters))).filter(l, size(l) > 0).map(l, l[0])"
        ),
        "unknownDranetParameters": (
            f"variables.ours.filter(p, {DRANETS}).map(p, p.filter(k, !(k in "
            "variables.dranetParameters))).filter(l, size(l) > 0).map(l, l[0])"
        ),
        "unknownInterfaceKeys": (
            "variables.interfaces.map(p, p.filter(k, !(k in variables.interfaceKeys)))"
            ".filter(l, size(l) > 0).map(l, l[0])"
        ),
        "unknownSettingKeys": _each_setting(
            f"{unknown.format(names='variables.settingKeys[o[0]]')} && o[1][k] != null"
        ),
        "wrongSettingAddresses": _each_setting(
            "k in variables.addressKeys[o[0]] && !(o[1][k] in variables.nothing) && "
            "(type(o[1][k]) != string || !(isIP(o[1][k]) || isCIDR(o[1][k])))"
        ),
        "ifNames": (
            "variables.ours.filter(p, has(p.ifName)).map(p, dyn(p.ifName)) + variables.ours"
            f".filter(p, !has(p.apiVersion) && has(p.interface) && !{DRANETS})"
            ".map(p, dyn(p.interface)) + variables.interfaces.filter(p, has(p.name) && "
            "!(p.name in variables.nothing)).map(p, dyn(p.name))"
        ),
        "wrongIfNames": (
            f"variables.ifNames.filter(n, type(n) != string || n in {cel(_RESERVED)} || "
            f"!(n.matches('{_IFNAME}') || (size(n) < 16 && n.matches('{_PATTERN}'))))"
        ),
        "wrongIps": (
            "(variables.ours.filter(p, has(p.ips) && type(p.ips) == list).map(p, p.ips) + "
            "variables.interfaces.filter(p, has(p.addresses) && type(p.addresses) == list).map(p, "
            "p.addresses)).map(ips, ips.filter(ip, type(ip) != string || !(isIP(ip) || "
            "isCIDR(ip)))).filter(l, size(l) > 0).map(l, l[0])"
        ),
        "wrongAddresses": _each_plugin(
            f"{_IPAM} && ((has(p.ipam.subnet) && !(p.ipam.subnet in variables.nothing) && "
            f"({bad_address.format('p.ipam.subnet')})) || "
            f"(has(p.ipam.ranges) && p.ipam.ranges.exists(r, r.exists(s, {subnets}))) || "
            f"(has(p.ipam.addresses) && p.ipam.addresses.exists(a, {listed})))",
            "p.type",
        ),
        "unknownNetworkKeys": (
            "variables.networks.filter(n, !has(n.type)).map(n, n.filter(k, !k.contains('/') && "
            "!variables.networkKeys.exists(c, c.lowerAscii() == k.lowerAscii())))"
            ".filter(l, size(l) > 0).map(l, l[0])"
        ),
        "wrongTypes": _each_plugin(
            "!(p.type in variables.types) && !(p.type in variables.claimPlugins)", "p.type"
        ),
        "unknownKeys": _each_plugin(
            f"p.type in variables.names && p.exists(k, {unknown_key})",
            f"[p.type, p.filter(k, {unknown_key})[0]]",
        ),
        "wrongKeys": _each_plugin(
            f"p.type in variables.higher && p.exists(k, {high_key})",
            f"p.type + '.' + p.filter(k, {high_key})[0]",
        ),
        "unknownIpamKeys": _each_plugin(
            f"{_OWN_IPAM} && p.ipam.exists(k, {unknown_ipam})",
            f"[p.ipam.type, p.ipam.filter(k, {unknown_ipam})[0]]",
        ),
        "wrongIpam": _each_plugin(
            f"{_OWN_IPAM} && p.ipam.exists(k, {high_ipam})",
            f"'ipam.' + p.ipam.filter(k, {high_ipam})[0]",
        ),
        "wrongIpamTypes": _each_plugin(
            f"{_IPAM} && has(p.ipam.type) && !(p.ipam.type in variables.ipamNames) && "
            "!(p.ipam.type in variables.claimPlugins)",
            "p.ipam.type",
        ),
        "wrongModes": _each_plugin(
            "p.type in variables.modes && has(p.mode) && !(p.mode in variables.modes[p.type]) && "
            "!(p.mode in variables.nothing)",
            "[p.type, p.mode]",
        ),
        "wrongSysctls": _each_plugin(
            "p.type == 'tuning' && has(p.sysctl) && type(p.sysctl) == map && "
            "p.sysctl.exists(k, !k.matches(variables.sysctls))",
            "'sysctl ' + p.sysctl.filter(k, !k.matches(variables.sysctls))[0]",
        ),
    }
    lines = as_variables(variables)
    lines.append("  validations:")
    levels = cel([str(level) for level in Level])
    lines += as_validation(
        f"variables.level in {levels} || size(variables.ours) == 0",
        f"'the label {LABEL} of the namespace is ' + variables.level + ', which is not a policy "
        f"level; ask a cluster admin to choose one of {', '.join(map(str, Level))}'",
    )
    lines += as_validation(
        f"variables.level != '{Level.RESTRICTED}' || size(variables.unseen) == 0",
        "(type(variables.unseen[0].config) == string ? 'config in the parameters is text, which' : "
        "'config in the parameters has a form or a spelling that') + ' nobody can check before a "
        f"pod starts; at the policy level {Level.RESTRICTED} write it as an object, for example "
        "config: {type: macvlan, ...}'",
    )
    for name, message in mistakes().items():
        lines += as_validation(f"size(variables.{name}) == 0", message)
    for name, message in refusals().items():
        lines += as_validation(
            f"variables.level == '{Level.PRIVILEGED}' || size(variables.{name}) == 0", message
        )
    return "\n".join(lines) + "\n"


def _settings() -> Iterator[tuple[str, Sequence[DeclaredKey]]]:
    """Yield the parameters that are objects, or lists of them, and the keys inside."""
    for wish in WISHES:
        keys = {
            key.name: key for key in declared(READERS.get(wish.adds or HOST_DEVICE, Conf)).values()
        }
        inside = keys_within(keys[wish.name])[1] if wish.name in keys else {}
        if inside:
            yield wish.name, tuple(inside.values())


_ADDRESSES = {read_cidr, read_ip, read_network, read_range}


def _addresses(keys: Iterable[DeclaredKey]) -> list[str]:
    return [key.name for key in keys if key.rule.check in _ADDRESSES]


def _each_setting(wrong: str) -> str:
    """Return a CEL list of the wrong keys of settings, each with the setting's name before it.

    `o` is the name and the object, `k` the key.
    """
    return (
        "variables.settings.map(p, p.map(s, s.filter(o, o[1].exists(k, "
        f"{wrong})).map(o, [o[0], o[1].filter(k, {wrong})[0]])).filter(s, size(s) > 0))"
        ".filter(p, size(p) > 0).map(p, p[0][0])"
    )


_SETTINGS = dict(_settings())
COMMON = [each.name for each in declared(CommonConf).values()]
_RESERVED = [*TAKEN_IFNAMES, *COLLECTIVE_IFNAMES, ".", ".."]
_LETTER = "[^/:%[:space:][:cntrl:]]"
_IFNAME = f"^{_LETTER}{{1,15}}$"
_PATTERN = f"^{_LETTER}*%d{_LETTER}*$"


def _names(rule: TypePolicy, common: Iterable[str]) -> list[str]:
    """Return all keys of a plugin, including those that only an admin may set."""
    return [*common, *(key for key in rule.keys if key not in common)]


def _higher(rule: TypePolicy, common: Iterable[str]) -> list[str]:
    """Return the keys of a plugin that claims below `privileged` may not set, in lower case."""
    keys: dict[str, KeyPolicy | None] = {name: COMMON_KEYS.get(name) for name in common}
    keys |= rule.keys
    return [
        name.lower() for name, each in keys.items() if each is None or each.level > Level.BASELINE
    ]


def _each_plugin(condition: str, shown: str) -> str:
    """Return a CEL list of what is wrong with the plugins of a claim."""
    return (
        f"variables.plugins.filter(list, list.exists(p, {condition}))"
        f".map(list, list.filter(p, {condition}).map(p, {shown})[0])"
    )


def _sysctl_pattern() -> str:
    """Return a regular expression of the sysctls in the list, whatever the interface is called."""
    named = "|".join(name.replace("IFNAME", "[^./]+").replace(".", "[./]") for name in SYSCTLS)
    return f"^({named})$".replace("[^[./]/]", "[^./]")


def _modes(rule: TypePolicy) -> list[str]:
    mode = rule.keys.get("mode")
    return [*mode.values, *mode.own_values] if mode is not None else []

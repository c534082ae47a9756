"""What the API server says of claims when they are applied: the policy as CEL, in the chart's form.

Promise: made from the tables of what a claim may say, so that driver and API server agree. Each
variable lists what is wrong; a claim passes if all lists are empty. An alternative of a request
counts as if it were chosen. Limit: what only the driver can know passes, such as the link that a
claim gets, and above `restricted` what a configuration written as a string says. `policy_files`
writes it.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from netclaim.network.devices.shares import ATTACHMENTS, WHOLE_LINK
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
from netclaim.network.request.keys import ALLOWABLE, KEYS, PARAMETERS, SetBy
from netclaim.network.request.layers import MISPLACED
from netclaim.plugins.engine.conf import Conf, read_cidr, read_ip
from netclaim.plugins.engine.key_rules import DeclaredKey, declared, keys_within
from netclaim.plugins.link_settings.conf import read_network, read_range
from netclaim.plugins.registry import PLUGIN_CLASSES
from netclaim.plugins.strict import CommonConf


def manifest() -> str:
    """Return the admission policy and its binding, as YAML."""
    return HEAD + _policy() + CLASSES_HEAD + _class_policy() + BINDING


# Helm fills in what is between double braces; CEL has none.
NAME = '{{ include "netclaim.fullname" . }}'
LABELS = """\
  labels:
    {{- include "netclaim.labels" . | nindent 4 }}
"""
SETTINGS = ".Values.settings"
DEFAULTS = f"""\
  - name: drivers
    expression: "['{{{{ .Values.driverName }}}}']"
  - name: defaultLevel
    expression: "'{{{{ default "{Level.BASELINE}" {SETTINGS}.policy }}}}'"
"""
HEAD = f"""\
{{{{- if .Values.admission.claims }}}}
# Reports at `kubectl apply` what a claim may not set (docs/security.md). Made from the driver's
# own tables by scripts/policy_files.py. The drivers check every claim themselves and do not rely on
# this: only they know which link a claim gets, and what a configuration written as a string
# contains, which namespaces at `restricted` therefore may not write.
#
# The first three variables are the drivers' names, their default level (--policy) and the further
# programs for claims (--claim-plugins).
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {NAME}-claims
{LABELS}spec:
  failurePolicy: Ignore # what cannot be evaluated is left to the driver
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: [v1, v1beta2, v1beta1]
      operations: [CREATE] # their specs cannot change
      resources: [resourceclaims, resourceclaimtemplates]
  variables:
{DEFAULTS}  - name: claimPlugins
    expression: {{{{ toJson (default list {SETTINGS}.claimPlugins) | quote }}}}
"""

CLASSES_HEAD = f"""\
---
# Compares a claim with each of its DeviceClasses: what they let claims set, and which of them take
# links as a whole. Evaluated once for each class of the cluster.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {NAME}-classes
{LABELS}spec:
  failurePolicy: Ignore
  paramKind:
    apiVersion: {{{{ include "netclaim.resourceApi" . }}}}
    kind: DeviceClass
  matchConstraints:
    resourceRules:
    - apiGroups: [resource.k8s.io]
      apiVersions: [v1, v1beta2, v1beta1]
      operations: [CREATE]
      resources: [resourceclaims, resourceclaimtemplates]
  variables:
{DEFAULTS}"""

BINDING = f"""\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {NAME}-classes
{LABELS}spec:
  policyName: {NAME}-classes
  validationActions: [Deny]
  paramRef:
    selector: {{}}
    parameterNotFoundAction: Allow
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {NAME}-claims
{LABELS}spec:
  policyName: {NAME}-claims
  validationActions: [Deny]
---
# A label with an invalid level would stop all claims of its namespace: report it where it is set.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: {NAME}-namespaces
{LABELS}spec:
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE, UPDATE]
      resources: [namespaces]
  variables:
  - name: level
    expression: >-
      object.metadata.?labels[?'{LABEL}'].orValue('{Level.BASELINE}')
  validations:
  - expression: variables.level in {[str(level) for level in Level]}
    messageExpression: >-
      'the label {LABEL} must be one of {", ".join(map(str, Level))}, not ' + variables.level
    reason: Invalid
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {NAME}-namespaces
{LABELS}spec:
  policyName: {NAME}-namespaces
  validationActions: [Deny]
{{{{- end }}}}
"""


def _cel(value: object) -> str:
    """Return a literal; CEL writes these as JSON does, and as well with the other quotes."""
    text = json.dumps(value)
    return text if "'" in text else text.replace('"', "'")


GRANT = (
    "leave it out, or ask a cluster admin to set it in the DeviceClass or to label the "
    f"namespace {LABEL}={Level.PRIVILEGED}"
)


LEVEL = f"namespaceObject.metadata.?labels[?'{LABEL}'].orValue(variables.defaultLevel)"
SPEC = "object.kind == 'ResourceClaim' ? object.spec : object.spec.spec"
_TYPED = "(has(p.apiVersion) || has(p.kind))"  # the dialect with names of keys of its own
# The dialect of dranet, whose `interface` is an object.
_DRANETS = (
    f"(!{_TYPED} && !has(p.config) && (has(p.interface) ? type(p.interface) == map : "
    f"{list(BESIDE)}.exists(k, k in p)))"
)
# What is empty or off means the same as leaving it out, to the driver too.
_SET = "!(p[k] in variables.nothing)"
_IPAM_SET = "!(p.ipam[k] in variables.nothing)"
_IPAM = "has(p.ipam) && type(p.ipam) == map"
_OWN_IPAM = f"{_IPAM} && has(p.ipam.type) && p.ipam.type in variables.ipamNames"
# Whether the namespace has the labels that a class's `namespaces` selects.
_SELECTED = (
    "p.namespaces.?matchLabels.orValue({}).all(k, k in variables.labels && "
    "variables.labels[k] == p.namespaces.matchLabels[k]) && "
    "p.namespaces.?matchExpressions.orValue([]).all(e, [e.key in variables.labels].all(there, "
    "e.operator == 'Exists' ? there : e.operator == 'DoesNotExist' ? !there : "
    "[there && variables.labels[e.key] in e.values].all(among, "
    "e.operator == 'In' ? among : !among)))"
)
# A network that the rules below can look into: an object, with the keys they look for spelt so.
_LOOKED_AT = _cel(["plugins", "type", "ipam", "mode", "sysctl"])
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


def _policy() -> str:
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
            f"variables.ours.filter(p, {_DRANETS} && has(p.interface)).map(p, p.interface)"
        ),
        "nothing": "[dyn(null), dyn(false), dyn(''), dyn(0), dyn([]), dyn({})]",
        "places": _cel(list(range(_PLACES))),
        "parameters": _cel([key.name for key in KEYS if key.set_by is not SetBy.CLASS]),
        "plainParameters": _cel([key.plain for key in KEYS if key.plain]),
        "dranetParameters": _cel([INTERFACE, *BESIDE]),
        "interfaceKeys": _cel(list(KNOWN)),
        "settingNames": _cel(list(_SETTINGS)),
        "settingKeys": _cel({n: [key.name for key in keys] for n, keys in _SETTINGS.items()}),
        "addressKeys": _cel({n: _addresses(keys) for n, keys in _SETTINGS.items()}),
        # Each object of a setting, with the name of the setting.
        "settings": (
            "(variables.ours + variables.interfaces).map(p, variables.settingNames.filter(s, "
            "s in p).map(s, type(p[s]) == list ? dyn(p[s].filter(o, type(o) == map).map(o, "
            "[dyn(s), dyn(o)])) : type(p[s]) == map ? dyn([[dyn(s), dyn(p[s])]]) : dyn([])))"
        ),
        "networkKeys": _cel(list(NETWORK_KEYS)),
        "types": _cel([name for name, rule in TYPES.items() if rule.level <= Level.BASELINE]),
        "names": _cel({name: _names(rule, COMMON) for name, rule in TYPES.items()}),
        "higher": _cel({name: _higher(rule, COMMON) for name, rule in TYPES.items()}),
        "ipamNames": _cel({name: _names(rule, ["type"]) for name, rule in IPAM_TYPES.items()}),
        "ipamHigher": _cel({name: _higher(rule, []) for name, rule in IPAM_TYPES.items()}),
        "modes": _cel({name: _modes(rule) for name, rule in TYPES.items() if _modes(rule)}),
        "sysctls": f"'{_sysctl_pattern()}'",
        "unknownParameters": (
            f"variables.ours.filter(p, {_TYPED}).map(p, p.filter(k, !(k in "
            "variables.parameters))).filter(l, size(l) > 0).map(l, l[0])"
        ),
        "unknownPlainParameters": (
            f"variables.ours.filter(p, !{_TYPED} && !{_DRANETS}).map(p, p.filter(k, !(k in "
            "variables.plainParameters))).filter(l, size(l) > 0).map(l, l[0])"
        ),
        "unknownDranetParameters": (
            f"variables.ours.filter(p, {_DRANETS}).map(p, p.filter(k, !(k in "
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
            f".filter(p, !has(p.apiVersion) && has(p.interface) && !{_DRANETS})"
            ".map(p, dyn(p.interface)) + variables.interfaces.filter(p, has(p.name) && "
            "!(p.name in variables.nothing)).map(p, dyn(p.name))"
        ),
        "wrongIfNames": (
            f"variables.ifNames.filter(n, type(n) != string || n in {_cel(_RESERVED)} || "
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
    lines = _listed(variables)
    lines.append("  validations:")
    levels = _cel([str(level) for level in Level])
    lines += _validation(
        f"variables.level in {levels} || size(variables.ours) == 0",
        f"'the label {LABEL} of the namespace is ' + variables.level + ', which is not a policy "
        f"level; ask a cluster admin to choose one of {', '.join(map(str, Level))}'",
    )
    lines += _validation(
        f"variables.level != '{Level.RESTRICTED}' || size(variables.unseen) == 0",
        "(type(variables.unseen[0].config) == string ? 'config in the parameters is text, which' : "
        "'config in the parameters has a form or a spelling that') + ' nobody can check before a "
        f"pod starts; at the policy level {Level.RESTRICTED} write it as an object, for example "
        "config: {type: macvlan, ...}'",
    )
    for name, message in _mistakes().items():
        lines += _validation(f"size(variables.{name}) == 0", message)
    for name, message in _refusals().items():
        lines += _validation(
            f"variables.level == '{Level.PRIVILEGED}' || size(variables.{name}) == 0", message
        )
    return "\n".join(lines) + "\n"


def _mistakes() -> dict[str, str]:
    """Return what is wrong at every level, with the message of each."""
    name = "variables.wrongIfNames[0]"
    return {
        "unknownParameters": _unknown_parameter("unknownParameters", "parameters"),
        "unknownPlainParameters": _unknown_parameter("unknownPlainParameters", "plainParameters"),
        "unknownDranetParameters": (
            _unknown("variables.unknownDranetParameters[0]", "the parameters")
            + " + "
            + _meant("variables.unknownDranetParameters[0]", "variables.dranetParameters")
        ),
        "unknownInterfaceKeys": (
            _unknown("variables.unknownInterfaceKeys[0]", "interface in the parameters")
            + " + "
            + _meant("variables.unknownInterfaceKeys[0]", "variables.interfaceKeys")
        ),
        "unknownSettingKeys": (
            _unknown("variables.unknownSettingKeys[0][1]", "variables.unknownSettingKeys[0][0]")
            + " + ' in the parameters' + "
            + _meant(
                "variables.unknownSettingKeys[0][1]",
                "variables.settingKeys[variables.unknownSettingKeys[0][0]]",
            )
        ),
        "wrongSettingAddresses": (
            "variables.wrongSettingAddresses[0][1] + ' of ' + variables.wrongSettingAddresses[0][0]"
            " + ' in the parameters is neither an IP address nor a network; write for example "
            "10.10.1.7 or 10.10.1.0/24'"
        ),
        "wrongIfNames": (
            f"type({name}) != string ? 'the name of the interface in the parameters must be a "
            f"string; for example net1' : {name} in {_cel(list(TAKEN_IFNAMES))} ? 'the pod already "
            f"has an interface named ' + {name} + '; choose another name, for example net1' : 'the "
            f"name \"' + {name} + '\" in the parameters cannot be the name of an interface: 1 to "
            "15 characters, without slashes, colons and spaces, and with a % only as %d; for "
            "example net1'"
        ),
        "wrongIps": (
            "(type(variables.wrongIps[0]) == string ? '\"' + variables.wrongIps[0] + '\"' : "
            "'one of the addresses') + ' in the parameters is not an IP address; write for example "
            "10.10.1.7/24'"
        ),
        "unknownNetworkKeys": (
            _unknown("variables.unknownNetworkKeys[0]", "the network in the parameters")
            + " + "
            + _meant("variables.unknownNetworkKeys[0]", "variables.networkKeys")
        ),
        "wrongAddresses": (
            "'an address or subnet in the ipam of ' + variables.wrongAddresses[0] + ' in the "
            "parameters is not in CIDR notation; write for example 10.10.1.0/24'"
        ),
    }


def _refusals() -> dict[str, str]:
    """Return what is wrong below `privileged`, with the message of each."""
    needs = (
        f"' in the parameters needs the policy level {Level.PRIVILEGED}, but the namespace has ' "
        f"+ variables.level + '; {GRANT}'"
    )
    higher = _cel([name for name, rule in TYPES.items() if rule.level > Level.BASELINE])
    wrong_type, wrong_ipam = "variables.wrongTypes[0]", "variables.wrongIpamTypes[0]"
    return {
        "wrongTypes": (
            f"{wrong_type} in {higher} ? 'the CNI plugin ' + {wrong_type} + {needs} : "
            f"{_unknown_type(wrong_type, 'variables.types')}"
        ),
        "unknownKeys": _unknown("variables.unknownKeys[0][1]", "variables.unknownKeys[0][0]")
        + " + "
        + _meant("variables.unknownKeys[0][1]", "variables.names[variables.unknownKeys[0][0]]"),
        "wrongKeys": f"'the key ' + variables.wrongKeys[0] + {needs}",
        "unknownIpamKeys": _unknown("variables.unknownIpamKeys[0][1]", "ipam")
        + " + "
        + _meant(
            "variables.unknownIpamKeys[0][1]",
            "variables.ipamNames[variables.unknownIpamKeys[0][0]]",
        ),
        "wrongIpam": f"'the key ' + variables.wrongIpam[0] + {needs}",
        "wrongIpamTypes": _unknown_type(wrong_ipam, _cel(sorted(IPAM_TYPES))),
        "wrongModes": (
            "'the mode ' + variables.wrongModes[0][1] + ' of ' + variables.wrongModes[0][0] + ' in "
            "the parameters is not one of those for claims: ' + "
            "variables.modes[variables.wrongModes[0][0]].join(', ')"
        ),
        "wrongSysctls": f"'the ' + variables.wrongSysctls[0] + {needs}",
    }


def _class_policy() -> str:
    """Return what is asked of a claim and one DeviceClass, `params`.

    A claim that would be refused with one of its alternatives is refused: nobody knows yet which of
    them is chosen, and what it was allocated is kept from others until its pod is evicted.
    """
    takes = _cel([name for name, kind in PLUGIN_CLASSES.items() if kind.moves_link])
    # Whatever is asked of `wholeLink` is rounded up to all of it, and so is the second attachment.
    alone = " || ".join(
        f"((k == '{name}' || k.endsWith('/{name}')) && "
        f"quantity(string(r.capacity.requests[k])).isGreaterThan(quantity('{most}')))"
        for name, most in ((WHOLE_LINK, 0), (ATTACHMENTS, 1))
    )
    variables = {
        "level": LEVEL,
        "spec": SPEC,
        # What may be of this class: for each request a list, of one or of its alternatives; each
        # with the names by which a configuration is for it.
        "requests": (
            "variables.spec.?devices.?requests.orValue([]).map(r, has(r.firstAvailable) ? "
            "r.firstAvailable.map(s, [dyn([dyn(r.name), dyn(r.name + '/' + s.name)]), dyn(s)]) : "
            "[[dyn([r.name]), dyn(has(r.exactly) ? r.exactly : r)]]).map(l, l.filter(x, "
            "x[1].?deviceClassName.orValue('') == params.metadata.name)).filter(l, size(l) > 0)"
        ),
        "ours": (
            "variables.spec.?devices.?config.orValue([]).filter(c, has(c.opaque) && "
            "c.opaque.driver in variables.drivers && size(variables.requests) > 0 && "
            "(size(c.?requests.orValue([])) == 0 || c.requests.exists(name, "
            "variables.requests.exists(l, l.exists(x, name in x[0]))))).map(c, "
            "c.opaque.parameters)"
        ),
        "ofClass": (
            "params.?spec.?config.orValue([]).filter(c, has(c.opaque) && c.opaque.driver in "
            "variables.drivers).map(c, c.opaque.parameters)"
        ),
        "labels": "namespaceObject.metadata.?labels.orValue({})",
        "notFor": (
            "variables.ofClass.filter(p, size(variables.requests) > 0 && has(p.namespaces) && "
            f"!({_SELECTED}))"
        ),
        "hasNetwork": "variables.ofClass.exists(p, has(p.config) || has(p.allow))",
        "refused": (
            f"{_cel(list(ALLOWABLE))}.filter(k, variables.ours.exists(p, k in p || "
            f"(k == 'config' && {_DRANETS})) && "
            "!variables.ofClass.exists(p, has(p.allow) && k in p.allow) && (variables.hasNetwork "
            f"|| (variables.level == '{Level.RESTRICTED}' && k in "
            f"{_cel(_parameters_above(Level.RESTRICTED))}) || "
            f"k in {_cel(_parameters_above(Level.BASELINE))}))"
        ),
        "alone": (
            f"variables.requests.filter(l, l.map(x, x[1]).exists(r, has(r.capacity) && has("
            f"r.capacity.requests) && r.capacity.requests.exists(k, {alone})))"
        ),
        "takesLinks": (
            "variables.ofClass.exists(p, has(p.config) && (type(p.config) == string || "
            "(has(p.config.plugins) ? p.config.plugins : [p.config]).exists(one, one.type in "
            f"{takes} || one.?mode.orValue('') == 'passthru')))"
        ),
    }
    lines = [*_listed(variables), "  validations:"]
    lines += _validation(
        "size(variables.notFor) == 0",
        "'the namespace ' + namespaceObject.metadata.name + ' may not use ' + "
        "(has(variables.notFor[0].podNetwork) ? 'the network ' + variables.notFor[0].podNetwork + "
        "'; ask a cluster admin to give it the labels that spec.namespaces of the PodNetwork ' + "
        "variables.notFor[0].podNetwork : 'the DeviceClass ' + params.metadata.name + '; ask a "
        "cluster admin to give it the labels that `namespaces` of the class') + ' selects'",
    )
    lines += _validation(
        f"variables.level == '{Level.PRIVILEGED}' || size(variables.refused) == 0",
        "variables.hasNetwork ? 'the DeviceClass ' + params.metadata.name + ' does not let claims "
        "set ' + variables.refused[0] + '; leave it out, or ask a cluster admin to add ' + "
        "variables.refused[0] + ' to the allow of the class' : variables.refused[0] + ' in the "
        f"parameters needs the policy level {Level.BASELINE}, but the namespace has ' + "
        "variables.level + '; leave it out, or ask a cluster admin to set it in the DeviceClass or "
        f"to label the namespace {LABEL}={Level.BASELINE}'",
    )
    lines += _validation(
        f"variables.level != '{Level.RESTRICTED}' || variables.takesLinks || "
        "size(variables.alone) == 0",
        "'a request asks for a link alone, but the namespace has the policy level "
        f"{Level.RESTRICTED}, at which only the DeviceClass decides that; leave out wholeLink and "
        "attachments in the capacity of the request, or ask a cluster admin for a class whose "
        "network takes the link, such as host-device, or to label the namespace "
        f"{LABEL}={Level.BASELINE}'",
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


def _unknown(key: str, where: str) -> str:
    """Return the beginning of a message about a key, in CEL."""
    place = where if where.startswith("variables.") else f"'{where}'"
    return f"'unknown key \"' + {key} + '\" in ' + {place}"


def _meant(key: str, known: str, *, otherwise: str = "; known keys are ", end: str = "") -> str:
    """Return the end of that message: a guess at what was meant, or all that there is.

    A guess differs in one letter, in two that change places, or in case.
    """
    skipped = "(size(w) > size(n) ? 1 : size(w) < size(n) ? 0 : size(w) > 4 ? 2 : 1)"
    alike = (
        f"w == n || (size(w) - size(n) in [-1, 0, 1] && variables.places.exists(i, i + {skipped} "
        f"<= size(w) && n.startsWith(w.substring(0, i)) && n.endsWith(w.substring(i + {skipped}))))"
    )
    compared = f"[{key}.lowerAscii()].exists(w, [c.lowerAscii()].exists(n, {alike}))"
    guesses = f"{known}.filter(c, {compared})"
    return (
        f"[{guesses}].map(g, size(g) > 0 ? '; did you mean \"' + g[0] + '\"?' : '{otherwise}' + "
        f"{known}.join(', ') + '{end}')[0]"
    )


def _unknown_parameter(name: str, known: str) -> str:
    """Return the message for a key beside the network that nobody knows, or not there."""
    key = f"variables.{name}[0]"
    misplaced = _cel({key: f"; {text}" for key, text in MISPLACED.items()})
    return (
        f"{_unknown(key, 'the parameters')} + ({key} in {misplaced} ? {misplaced}[{key}] : "
        f"{_meant(key, f'variables.{known}')})"
    )


def _unknown_type(name: str, known: str) -> str:
    """Return the message for a type that is not in the table: an admin's program, or a mistake."""
    meant = _meant(name, known, otherwise="; claims may use ", end=".")
    return (
        f"'netclaim has no CNI plugin ' + {name} + {meant} + ' If it is a program on the nodes, "
        "ask a cluster admin to set it in the DeviceClass, to allow it by --claim-plugins, or to "
        f"label the namespace {LABEL}={Level.PRIVILEGED}'"
    )


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


def _parameters_above(level: Level) -> list[str]:
    """Return the parameters that a claim at a level may set only if its class allows them."""
    return [name for name in ALLOWABLE if PARAMETERS[name].level > level]


def _listed(variables: Mapping[str, str]) -> list[str]:
    lines = []
    for name, expression in variables.items():
        lines += [f"  - name: {name}", *_folded("    expression", expression)]
    return lines


def _validation(expression: str, message: str) -> list[str]:
    return [
        *_folded("  - expression", expression),
        *_folded("    messageExpression", message),
        "    reason: Forbidden",
    ]


def _folded(key: str, text: str) -> list[str]:
    """Return a long line as YAML folds it; the spaces that it is broken at stay spaces."""
    lines = textwrap.wrap(text, width=94, break_long_words=False, break_on_hyphens=False)
    return [f"{key}: >-", *(f"      {line}" for line in lines)]


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

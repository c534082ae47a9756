#!/usr/bin/env python3
"""Write what is made from the tables of what a claim may say, or check it.

    python scripts/policy_files.py           writes all
    python scripts/policy_files.py --check   writes nothing; names what is stale and exits 1

`docs/security.md` shows the policy's table (`netclaim.network.policy`) between two marks, and
`docs/parameters.md` that of the parameters (`netclaim.network.parameter_keys`);
`docs/plugin-keys.md` lists the keys of the plugins' configuration classes;
the chart's `claim-admission.yaml` says the policy to the API server, so that tenants hear it when
they apply a claim; `scripts/chart_files.py` makes deploy/claim-admission.yaml of it.
Promise: the tables are the one source. Limit: of the admission policy's expressions see `_policy`:
they let pass what only the driver can know.
"""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from netclaim.network.parameter_keys import KEYS, PARAMETERS
from netclaim.network.policy import (
    COMMON_KEYS,
    IPAM_TYPES,
    LABEL,
    SYSCTLS,
    TYPES,
    Key,
    Level,
    Type,
)
from netclaim.plugins.key_rules import Declared, declared, keys_within
from netclaim.plugins.registry import IPAM_CLASSES, PLUGIN_CLASSES
from netclaim.plugins.strict import CommonConf, ipam_keys, own_keys

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "security.md"
PARAMETERS_PAGE = ROOT / "docs" / "parameters.md"
PLUGIN_KEYS_PAGE = ROOT / "docs" / "plugin-keys.md"
SMALL = 1 << 16  # bounds beyond are those of the type, and no news
KEY_HEAD = ("Key", "Type", "What it is")
MANIFEST = ROOT / "charts" / "netclaim" / "templates" / "claim-admission.yaml"
BEGIN, END = "<!-- the policy's table: begin -->\n", "<!-- the policy's table: end -->\n"
BEGIN_KEYS, END_KEYS = "<!-- the keys: begin -->\n", "<!-- the keys: end -->\n"


def stale() -> list[str]:
    """The files that are not what the table says."""
    return [path.name for path, text in wanted().items() if path.read_text() != text]


def wanted() -> dict[Path, str]:
    """The files as the tables say today."""
    return {
        PAGE: _between(PAGE.read_text(), BEGIN, END, table()),
        PARAMETERS_PAGE: _between(PARAMETERS_PAGE.read_text(), BEGIN_KEYS, END_KEYS, keys()),
        PLUGIN_KEYS_PAGE: _between(
            PLUGIN_KEYS_PAGE.read_text(), BEGIN_KEYS, END_KEYS, plugin_keys()
        ),
        MANIFEST: manifest(),
    }


def _between(text: str, begin: str, end: str, table: str) -> str:
    """A page with the table that is current."""
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{table}\n{end}{after}"


def keys() -> str:
    """The parameters in Markdown."""
    rows = ((f"`{key.name}`", key.type, key.set_by.value, key.about) for key in KEYS)
    return _rows(("Key", "Type", "Set by", "What it is"), rows) + "\n"


def table() -> str:
    """The whole policy in Markdown."""
    parts = [
        "Parameters of a claim:",
        _rows(("Key", "A claim needs", "About"), _keys(PARAMETERS)),
        "Keys of every plugin in `config`:",
        _rows(("Key", "A claim needs", "About"), _keys(COMMON_KEYS)),
        "Plugins, and their own keys:",
        _rows(("Plugin", "Key", "A claim needs", "About"), _types(TYPES)),
        "Address management (`ipam`), and its keys:",
        _rows(("Type", "Key", "A claim needs", "About"), _types(IPAM_TYPES)),
        "Sysctls that a claim at baseline may set with `tuning`; `IFNAME` is its own interface:",
        "\n".join(f"- `{name}`" for name in SYSCTLS),
    ]
    return "\n\n".join(parts) + "\n"


def plugin_keys() -> str:
    """The keys of each plugin's configuration in Markdown."""
    parts = ["Known to every plugin, also where it makes nothing of them:"]
    parts.append(_rows(KEY_HEAD, _declared(declared(CommonConf))))
    for name, kind in sorted(PLUGIN_CLASSES.items()):
        if keys := own_keys(kind):
            parts += [f"`{name}`:", _rows(KEY_HEAD, _declared(keys))]
    for name, kind in sorted(IPAM_CLASSES.items()):
        parts += [f"`ipam` of the type `{name}`:", _rows(KEY_HEAD, _declared(ipam_keys(kind)))]
    return "\n\n".join(parts) + "\n"


def _declared(keys: Mapping[str, Declared], within: str = "") -> Iterator[tuple[str, ...]]:
    for key in keys.values():
        about = key.rule.about
        if key.rule.choices:
            about += f": {', '.join(f'`{choice}`' for choice in key.rule.choices)}"
        if key.required:
            about += "; required" if about else "required"
        yield f"`{within}{key.name}`", _type(key), about
        brackets, inner = keys_within(key)
        yield from _declared(inner, f"{within}{key.name}{brackets}.")


def _type(key: Declared) -> str:
    low, high = key.rule.low, key.rule.high
    if low is None or low < 0 or high is None or high > SMALL:
        return key.shown_type
    return f"{key.shown_type} from {low} to {high}"


def _rows(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _types(types: Mapping[str, Type]) -> Iterator[tuple[str, ...]]:
    for name, rule in types.items():
        needs = _needs(Key("", rule.level, own=rule.own))
        yield f"`{name}`", "", needs, rule.about
        if rule.level is Level.BASELINE:
            yield from (("", *row) for row in _keys(rule.keys))


def _keys(keys: Mapping[str, Key]) -> Iterator[tuple[str, ...]]:
    for name, key in keys.items():
        yield f"`{name}`", _needs(key), key.about


def _needs(key: Key) -> str:
    needs = str(key.level)
    if key.own:
        needs += ", a link of its own"
    if key.values:
        needs += f": {', '.join(key.values)}"
    if key.own_values:
        needs += f"; on a link of its own also {', '.join(key.own_values)}"
    return needs


def manifest() -> str:
    """The admission policy and its binding, as YAML."""
    return HEAD + _policy() + BINDING


# Helm fills in what is between double braces; CEL has none.
NAME = '{{ include "netclaim.fullname" . }}'
LABELS = """\
  labels:
    {{- include "netclaim.labels" . | nindent 4 }}
"""
SETTINGS = ".Values.settings"
HEAD = f"""\
{{{{- if .Values.admission.claims }}}}
# Reports at `kubectl apply` what a claim may not set (docs/security.md). Made from the driver's
# own table by scripts/policy_files.py. The drivers check every claim themselves and do not rely on
# this: only they know which link a claim gets, what its class allows, and what a configuration
# written as a string contains.
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
  - name: drivers
    expression: "['{{{{ .Values.driverName }}}}']"
  - name: defaultLevel
    expression: "'{{{{ default "{Level.BASELINE}" {SETTINGS}.policy }}}}'"
  - name: claimPlugins
    expression: {{{{ toJson (default list {SETTINGS}.claimPlugins) | quote }}}}
"""

BINDING = f"""\
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

GRANT = (
    "leave it out, or ask a cluster admin to set it in the DeviceClass or to label the "
    f"namespace {LABEL}={Level.PRIVILEGED}"
)


# What is empty or off means the same as leaving it out, to the driver too.
_WRONG_KEY = "!(k.lowerAscii() in variables.keys[p.type]) && !(p[k] in variables.nothing)"
_WRONG_IPAM_KEY = (
    "!(k.lowerAscii() in variables.ipamKeys[p.ipam.type]) && !(p.ipam[k] in variables.nothing)"
)


def _policy() -> str:
    """The variables that take a claim apart, and what is asked of its parts.

    Each variable lists what is wrong, in words; the claim passes if all lists are empty.
    """
    variables = {
        "level": f"namespaceObject.metadata.?labels[?'{LABEL}'].orValue(variables.defaultLevel)",
        "spec": "object.kind == 'ResourceClaim' ? object.spec : object.spec.spec",
        "ours": (
            "variables.spec.?devices.?config.orValue([]).filter(c, has(c.opaque) && "
            "c.opaque.driver in variables.drivers).map(c, c.opaque.parameters)"
        ),
        "networks": (
            "variables.ours.filter(p, has(p.config) && type(p.config) == map).map(p, p.config)"
        ),
        "plugins": (
            "variables.networks.filter(n, has(n.plugins)).map(n, n.plugins)"
            ".map(list, list.filter(p, type(p) == map && has(p.type))) + "
            "[variables.networks.filter(n, !has(n.plugins) && has(n.type))]"
        ),
        "nothing": "[dyn(null), dyn(false), dyn(''), dyn(0), dyn([]), dyn({})]",
        "keys": _cel(_allowed(TYPES, COMMON_KEYS)),
        "ipamKeys": _cel(_allowed(IPAM_TYPES, {"type": Key("")})),
        "modes": _cel({name: _modes(rule) for name, rule in TYPES.items() if _modes(rule)}),
        "sysctls": f"'{_sysctl_pattern()}'",
        "wrongTypes": _each_plugin(
            "!(p.type in variables.keys) && !(p.type in variables.claimPlugins)", "p.type"
        ),
        "wrongKeys": _each_plugin(
            f"p.type in variables.keys && p.exists(k, {_WRONG_KEY})",
            f"p.type + '.' + p.filter(k, {_WRONG_KEY})[0]",
        ),
        "wrongIpam": _each_plugin(
            "has(p.ipam) && type(p.ipam) == map && has(p.ipam.type) && (p.ipam.type in "
            f"variables.ipamKeys ? p.ipam.exists(k, {_WRONG_IPAM_KEY}) : "
            "!(p.ipam.type in variables.claimPlugins))",
            f"p.ipam.type in variables.ipamKeys ? 'ipam.' + p.ipam.filter(k, {_WRONG_IPAM_KEY})[0]"
            " : 'ipam.type ' + p.ipam.type",
        ),
        "wrongModes": _each_plugin(
            "p.type in variables.modes && has(p.mode) && !(p.mode in variables.modes[p.type]) && "
            "!(p.mode in variables.nothing)",
            "p.type + ' mode ' + string(p.mode)",
        ),
        "wrongSysctls": _each_plugin(
            "p.type == 'tuning' && has(p.sysctl) && type(p.sysctl) == map && "
            "p.sysctl.exists(k, !k.matches(variables.sysctls))",
            "'sysctl ' + p.sysctl.filter(k, !k.matches(variables.sysctls))[0]",
        ),
    }
    refusals = {
        "wrongTypes": "the CNI plugin",
        "wrongKeys": "the key",
        "wrongIpam": "the key",
        "wrongModes": "the plugin",
        "wrongSysctls": "the",
    }
    lines = []
    for name, expression in variables.items():
        lines += [f"  - name: {name}", *_folded("    expression", expression)]
    lines.append("  validations:")
    levels = _cel([str(level) for level in Level])
    lines += _validation(
        f"variables.level in {levels} || size(variables.ours) == 0",
        f"'the label {LABEL} of the namespace is ' + variables.level + ', which is not a policy "
        f"level; ask a cluster admin to choose one of {', '.join(map(str, Level))}'",
    )
    for name, what in refusals.items():
        message = (
            f"'{what} ' + variables.{name}[0] + ' in the parameters needs the policy level "
            f"{Level.PRIVILEGED}, but the namespace has ' + variables.level + '; {GRANT}'"
        )
        if name == "wrongTypes":
            message = (
                f"variables.{name}[0] in {_cel(sorted(TYPES))} ? {message} : {_unknown_type()}"
            )
        lines += _validation(
            f"variables.level == '{Level.PRIVILEGED}' || size(variables.{name}) == 0", message
        )
    return "\n".join(lines) + "\n"


def _unknown_type() -> str:
    """What is said of a type that is not in the table: a program of the admin's, or a mistake."""
    names = ", ".join(sorted(_allowed(TYPES, {})))
    return (
        f"'netclaim has no CNI plugin ' + variables.wrongTypes[0] + '; claims may use {names}' + "
        "variables.claimPlugins.map(name, ', ' + name).join() + '. Check the spelling; if it is a "
        "program on the nodes, ask a cluster admin to set it in the DeviceClass, to allow it by "
        f"--claim-plugins, or to label the namespace {LABEL}={Level.PRIVILEGED}'"
    )


def _validation(expression: str, message: str) -> list[str]:
    return [
        *_folded("  - expression", expression),
        *_folded("    messageExpression", message),
        "    reason: Forbidden",
    ]


def _folded(key: str, text: str) -> list[str]:
    """A long line as YAML folds it; the spaces that it is broken at stay spaces."""
    lines = textwrap.wrap(text, width=94, break_long_words=False, break_on_hyphens=False)
    return [f"{key}: >-", *(f"      {line}" for line in lines)]


def _each_plugin(condition: str, shown: str) -> str:
    """A CEL list of what is wrong with the plugins of a claim."""
    return (
        f"variables.plugins.filter(list, list.exists(p, {condition}))"
        f".map(list, list.filter(p, {condition}).map(p, {shown})[0])"
    )


def _allowed(types: Mapping[str, Type], common: Mapping[str, Key]) -> dict[str, list[str]]:
    """The keys that a claim may set, in lower case, of each type that it may name."""
    return {
        name: [key.lower() for key, rule in {**common, **known.keys}.items() if _is_baseline(rule)]
        for name, known in types.items()
        if known.level is Level.BASELINE
    }


def _sysctl_pattern() -> str:
    """A regular expression of the sysctls in the list, whatever the interface is called."""
    named = "|".join(name.replace("IFNAME", "[^./]+").replace(".", "[./]") for name in SYSCTLS)
    return f"^({named})$".replace("[^[./]/]", "[^./]")


def _is_baseline(rule: Key) -> bool:
    return rule.level <= Level.BASELINE


def _modes(rule: Type) -> list[str]:
    mode = rule.keys.get("mode")
    return [*mode.values, *mode.own_values] if mode is not None else []


def _cel(value: object) -> str:
    """A literal; CEL writes these as JSON does, but for the quotes."""
    return json.dumps(value).replace('"', "'")


def main() -> int:
    """Write, or say what is stale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    if parser.parse_args().check:
        found = stale()
        print("\n".join(found), file=sys.stderr)
        return 1 if found else 0
    for path, text in wanted().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

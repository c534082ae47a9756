"""What the tables of cases share: how a case is written, and the addresses most of them have."""

from dataclasses import fields
from typing import Any

from tests.reference.site.plugin_site import Case

MAC = "02:00:00:00:00:42"
OTHER_MAC = "02:00:00:00:00:43"

POOL = {"type": "host-local", "ranges": [[{"subnet": "10.9.0.0/24"}]], "dataDir": "DIR"}
POOL_OF_NONE = POOL | {
    "ranges": [[{"subnet": "10.9.0.0/24", "rangeStart": "10.9.0.1", "rangeEnd": "10.9.0.1"}]]
}
DUAL_POOL = POOL | {"ranges": [[{"subnet": "10.9.0.0/24"}], [{"subnet": "2001:db8:9::/64"}]]}
STATIC = {
    "type": "static",
    "addresses": [
        {"address": "192.0.2.5/24", "gateway": "192.0.2.1"},
        {"address": "2001:db8::5/64"},
    ],
    "routes": [
        {"dst": "0.0.0.0/0"},
        {"dst": "198.51.100.0/24", "gw": "192.0.2.9", "priority": 7},
        {"dst": "203.0.113.0/24", "gw": "192.0.2.9", "scope": 0},
        {"dst": "2001:db8:1::/48", "gw": "2001:db8::9"},
        {"dst": "2001:db8:2::/48"},
    ],
}
DNS = {
    "nameservers": ["192.0.2.53"],
    "domain": "example",
    "search": ["a.example", "b.example"],
    "options": ["ndots:2"],
}
OF_CASE = {field.name for field in fields(Case)} - {"name", "config"}


def case(kind: str, name: str, /, **keys: Any) -> Case:
    """Describe a case; keys that a Case has are the case's, all others the plugin's."""
    of_case = {key: keys.pop(key) for key in OF_CASE & keys.keys()}
    return Case(f"{kind}: {name}", {"type": kind} | keys, **of_case)


def link(ifname: str, kind: str, number: int = 1) -> str:
    """Write the command that makes a link with a MAC that is the same for everybody."""
    return f"link add {ifname} address 02:00:00:00:02:0{number} type {kind}"

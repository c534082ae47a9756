"""The attacks that are refused, chapter by chapter, each with the words of its refusal.

A refusal names the key, what it needs, and who can grant it. What the machine's links and devices
are called, `policy_machine` says.
"""

import json
from typing import Any, Final

from netclaim.network.policy.levels import LABEL
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.tuning.sysctls import sysctl_path
from tests.embedded.policy.policy_attack import Attack, network_of
from tests.embedded.policy.policy_settings import SETTINGS

__all__ = [
    "ATTACKS",
    "HOME",
    "HOST_DEVICE",
    "MACVLAN",
    "NOT_OWN",
    "PASSTHRU",
    "RANGE",
    "SHARED",
]

PRIVILEGED: Final = f"label the namespace {LABEL}=privileged"
NEEDS: Final = (
    "needs the policy level privileged, but namespace 'tenant' has baseline",
    PRIVILEGED,
)
NOT_GIVEN_AWAY: Final = (
    "and cannot be given to a pod; select another link. Only a DeviceClass can give it away",
    f"in a namespace that an admin has labelled {LABEL}=privileged",
)
NOT_OWN: Final = ("needs a link that the claim has to itself", PRIVILEGED)
CARRIES: Final = {
    "uplink": "carries the node (the node's default route uses it)",
    "addr1": "carries the node (it has the node's address 198.51.100.10)",
    "api1": "carries the node (the route to the API server uses it)",
}
HOST_DEVICE: Final = {"type": "host-device"}
PASSTHRU: Final = {"type": "macvlan", "mode": "passthru"}
MACVLAN: Final = {"type": "macvlan"}
RANGE: Final = {"type": "host-local", "ranges": [[{"subnet": "10.10.1.0/24"}]]}
SHARED: Final[dict[str, Any]] = {"device": "shared1", "share_id": "a1b2"}
HOME: Final = "/var/lib/cni"  # on the machine; what is in there is the primary network's


def written_as_json(config: object, times: int) -> str:
    """JSON text inside JSON text, so many times."""
    for _ in range(times):
        config = json.dumps(config)
    return str(config)


UPLINKS: Final = {
    **{
        f"{plugin['type']} takes {link}": Attack(
            plugins=(plugin,), device=link, says=(words, *NOT_GIVEN_AWAY)
        )
        for link, words in CARRIES.items()
        for plugin in (HOST_DEVICE, PASSTHRU)
    },
    **{
        f"{plugin['type']} takes the uplink, at {level}": Attack(
            plugins=(plugin,), device="uplink", level=level, says=NOT_GIVEN_AWAY
        )
        for level in ("restricted", "baseline", "privileged")
        for plugin in (HOST_DEVICE, PASSTHRU)
    },
    **{
        f"a class at {level} takes the uplink": Attack(
            of_class={"config": network_of(HOST_DEVICE)},
            device="uplink",
            level=level,
            says=(
                "DeviceClass(net).spec.config.opaque.parameters.config.plugins[0]",
                *NOT_GIVEN_AWAY,
            ),
        )
        for level in (None, "restricted", "baseline")
    },
    "linkInContainer hides that it is the node's link": Attack(
        plugins=({**HOST_DEVICE, "linkInContainer": True},),
        device="uplink",
        says=('unknown key "linkInContainer"', *NOT_GIVEN_AWAY),
    ),
    "linkInContainer on a macvlan": Attack(
        plugins=({**PASSTHRU, "linkInContainer": True, "master": "uplink"},),
        device="uplink",
        says=("plugins[0].linkInContainer: ", *NEEDS),
    ),
    "linkInContainer through cni": Attack(
        plugins=({**HOST_DEVICE, "device": "uplink", "linkInContainer": True},),
        device="cni",
        says=("takes a link away from the node, so the link must be allocated",),
    ),
    "the second plugin takes the uplink": Attack(
        plugins=(MACVLAN, {**HOST_DEVICE, "device": "uplink"}),
        says=("names the link 'uplink', but 'own1' was allocated",),
    ),
    "the node's own address": Attack(
        plugins=(
            {**MACVLAN, "ipam": {"type": "static", "addresses": [{"address": "192.0.2.10/24"}]}},
        ),
        device="uplink",
        says=("plugins[0].ipam.addresses[0].address: 192.0.2.10 is the node's own address",),
    ),
    **{
        f"{whose}, of a class that lets claims choose": Attack(
            of_class={
                "config": network_of({**MACVLAN, "ipam": {"type": "static"}}),
                "allow": ["ips"],
            },
            beside={"ips": [f"{address}/24"]},
            device="uplink",
            says=(f"{address} is the address of a gateway or an API server on the link 'uplink'",),
        )
        for whose, address in {
            "the gateway's address": "192.0.2.1",
            "the API server's address": "203.0.113.5",
        }.items()
    },
    "a cloud's metadata service, of a class that lets claims choose": Attack(
        of_class={"config": network_of({**MACVLAN, "ipam": {"type": "static"}}), "allow": ["ips"]},
        beside={"ips": ["169.254.169.254/32"]},
        device="uplink",
        says=("169.254.169.254 is the address of a cloud's metadata service on the link 'uplink'",),
    ),
    **{
        f"a prefix that leads to a metadata service: {ip}": Attack(
            of_class={
                "config": network_of({**MACVLAN, "ipam": {"type": "static"}}),
                "allow": ["ips"],
            },
            beside={"ips": [ip]},
            device="uplink",
            says=(f"parameters.ips: {ip} leads to {server}, a cloud's metadata service, over",),
        )
        for ip, server in {
            "169.254.169.253/30": "169.254.169.254",
            "169.254.1.1/16": "169.254.169.254",
            "168.63.129.17/28": "168.63.129.16",
            "fd00:ec2::255/127": "fd00:ec2::254",
            "2001:db8:9::1/0": "fd00:ec2::254",
        }.items()
    },
    **{
        f"a route to a metadata service that a class lets claims write: {route}": Attack(
            of_class={
                "config": network_of({**MACVLAN, "ipam": {"type": "static"}}),
                "allow": ["ips", "routes"],
            },
            beside={"ips": ["10.77.0.9/24"], "routes": [route]},
            device="uplink",
            says=(f"routes[0].destination: {route['destination']} leads to", "metadata service"),
        )
        for route in (
            {"destination": "169.254.169.254/32"},
            {"destination": "0.0.0.0/0"},
            {"destination": "100.100.100.200/32", "gateway": "10.77.0.1"},
        )
    },
    **{
        f"the address of another cloud's metadata service: {ip}": Attack(
            plugins=({**MACVLAN, "ipam": {"type": "static", "addresses": [{"address": ip}]}},),
            device="uplink",
            says=(f"{ip.partition('/')[0]} is the address of a cloud's metadata service on",),
        )
        for ip in ("168.63.129.16/32", "100.100.100.200/32", "192.0.0.192/32", "fe80::a9fe:a9fe/64")
    },
    **{
        f"a route to another cloud's metadata service: {dst}": Attack(
            plugins=(
                {
                    **MACVLAN,
                    "ipam": {
                        "type": "static",
                        "addresses": [{"address": "10.77.0.9/24"}],
                        "routes": [{"dst": dst}],
                    },
                },
            ),
            device="uplink",
            says=(f"routes[0].dst: {dst} leads to {server}, a cloud's metadata service",),
        )
        for dst, server in {
            "168.63.129.16/32": "168.63.129.16",
            "168.0.0.0/8": "168.63.129.16",
            "100.64.0.0/10": "100.100.100.200",
        }.items()
    },
    "the address by which machines ask who they are": Attack(
        plugins=(
            {
                **MACVLAN,
                "ipam": {"type": "static", "addresses": [{"address": "169.254.169.254/32"}]},
            },
        ),
        device="uplink",
        says=("169.254.169.254 is the address of a cloud's metadata service on the link 'uplink'",),
    ),
    **{
        f"a route to {dst}, which has the node's network": Attack(
            plugins=(
                {
                    **MACVLAN,
                    "ipam": {
                        "type": "static",
                        "addresses": [{"address": "10.77.0.9/24"}],
                        "routes": [{"dst": dst}],
                    },
                },
            ),
            device="uplink",
            says=(f"routes[0].dst: {dst} overlaps {own}, the node's own network",),
        )
        for dst, own in {
            "192.0.2.0/23": "192.0.2.0/24",
            "169.254.0.0/15": "169.254.0.0/16",
            "128.0.0.0/1": "192.0.2.0/24",
            "2001:db8:1::/63": "2001:db8:1::/64",
        }.items()
    },
    "a route to the address by which machines ask who they are": Attack(
        plugins=(
            {
                **MACVLAN,
                "ipam": {
                    "type": "static",
                    "addresses": [{"address": "10.77.0.9/24"}],
                    "routes": [{"dst": "169.254.169.254/32"}],
                },
            },
        ),
        device="uplink",
        says=("routes[0].dst: 169.254.169.254/32 overlaps 169.254.0.0/16",),
    ),
    "the gateway's address, in the clothes of IPv6": Attack(
        plugins=(
            {
                **MACVLAN,
                "ipam": {"type": "static", "addresses": [{"address": "::ffff:c000:201/128"}]},
            },
        ),
        device="uplink",
        says=("192.0.2.1 is the address of a gateway or an API server on the link 'uplink'",),
    ),
    "a range that holds the node's address": Attack(
        plugins=({**MACVLAN, "ipam": {"type": "host-local", "subnet": "192.0.0.0/16"}},),
        device="uplink",
        says=("plugins[0].ipam.subnet: 192.0.0.0/16 overlaps 192.0.2.0/24",),
    ),
    "a wish for the node's address": Attack(
        plugins=({**MACVLAN, "ipam": {"type": "static"}},),
        beside={"ips": ["2001:db8:1:0::10/128"]},
        device="uplink",
        says=("parameters.ips: 2001:db8:1::10 is the node's own address on the link 'uplink'",),
    ),
    "a wish for an address of the node's network": Attack(
        plugins=({**MACVLAN, "ipam": {"type": "static"}},),
        beside={"ips": ["2001:db8:1::11/128"]},
        device="uplink",
        says=("parameters.ips: 2001:db8:1::11/128 overlaps 2001:db8:1::/64",),
    ),
    "a wish for the node's address that a class lets pass": Attack(
        of_class={
            "config": network_of({**MACVLAN, "ipam": {"type": "static"}}),
            "allow": ["ips"],
        },
        beside={"ips": ["192.0.2.10/24"]},
        device="uplink",
        says=("parameters.ips: 192.0.2.10 is the node's own address on the link 'uplink'",),
    ),
    "a MAC on the uplink": Attack(
        plugins=({**MACVLAN, "mac": "02:42:0a:0a:01:07"},),
        device="uplink",
        says=("plugins[0].mac: ", *NOT_OWN, "the link 'uplink' carries the node"),
    ),
}

HIDDEN: Final[dict[str, dict[str, Any]]] = {
    "the node's address": {
        **MACVLAN,
        "ipam": {"type": "static", "addresses": [{"ADDRESS": "192.0.2.10/24"}]},
    },
    "the node's link": HOST_DEVICE,
}

SPELLINGS: Final = {
    "two spellings of master": Attack(
        plugins=({**MACVLAN, "master": "own1", "MASTER": "shared1"},),
        says=("'MASTER' and 'master' are the same key to a CNI plugin; remove one",),
    ),
    "two spellings, one of them null": Attack(
        plugins=({**MACVLAN, "master": None, "MASTER": "shared1"},),
        says=("are the same key to a CNI plugin",),
    ),
    "master with a long s": Attack(
        plugins=({**MACVLAN, "ma\u017fter": "shared1"},),
        says=("plugins[0].master: names the link 'shared1', but 'own1' was allocated",),
    ),
    "master and one with a long s": Attack(
        plugins=({**MACVLAN, "master": "own1", "ma\u017fter": "shared1"},),
        says=("are the same key to a CNI plugin",),
    ),
    "linkInContainer with a Kelvin sign": Attack(
        plugins=({**PASSTHRU, "lin\u212aInContainer": True, "master": "uplink"},),
        says=("plugins[0].linkInContainer: ", *NEEDS),
    ),
    "Mode: passthru on a shared link": Attack(
        plugins=({**MACVLAN, "Mode": "passthru"},),
        says=("macvlan in mode passthru would take the shared link 'shared1' away",),
        **SHARED,
    ),
    "Device": Attack(
        plugins=({**HOST_DEVICE, "Device": "shared1"},),
        says=("plugins[0].device: names the link 'shared1', but 'own1' was allocated",),
    ),
    "HWADDR": Attack(
        plugins=({**HOST_DEVICE, "HWADDR": "02:00:00:00:00:01"},),
        says=("plugins[0].hwaddr: leave it out; the allocated link 'own1' is used",),
    ),
    "IPAM with dataDir": Attack(
        plugins=({**MACVLAN, "IPAM": {**RANGE, "dataDir": HOME}},),
        says=("plugins[0].ipam.dataDir: ", *NEEDS),
    ),
    "DATADIR": Attack(
        plugins=({**MACVLAN, "ipam": {**RANGE, "DATADIR": HOME}},),
        says=("plugins[0].ipam.dataDir: ", *NEEDS),
    ),
    "Type": Attack(
        plugins=({"Type": "evil"},),
        says=("plugins[0].type: 'evil' is a program of the node",),
    ),
    "Plugins": Attack(
        config={
            "cniVersion": "1.0.0",
            "name": "n",
            "type": "macvlan",
            "Plugins": [{"type": "evil"}],
        },
        says=("config.plugins[0].type: 'evil' is a program of the node",),
    ),
    "a key twice in a string of JSON": Attack(
        config='{"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "master": "own1", '
        '"master": "shared1"}',
        says=("the key 'master' appears twice; remove one",),
    ),
    "plugins twice in a string of JSON": Attack(
        config='{"cniVersion": "1.0.0", "name": "n", "plugins": [{"type": "macvlan"}], '
        '"plugins": [{"type": "evil"}]}',
        says=("the key 'plugins' appears twice; remove one",),
    ),
    "an escaped key twice": Attack(
        config='{"cniVersion": "1.0.0", "name": "n", "type": "macvlan", "mode": "bridge", '
        '"m\\u006fde": "passthru"}',
        says=("the key 'mode' appears twice; remove one",),
    ),
    "two spellings deep inside": Attack(
        plugins=(
            {
                **MACVLAN,
                "ipam": {
                    "type": "static",
                    "addresses": [{"address": "10.10.1.7/24", "Address": "192.0.2.10/24"}],
                },
            },
        ),
        says=("plugins[0].ipam.addresses[0]: 'Address' and 'address' are the same key",),
    ),
    "an address in another spelling": Attack(
        plugins=(
            {**MACVLAN, "ipam": {"type": "static", "addresses": [{"ADDRESS": "192.0.2.10/24"}]}},
        ),
        device="uplink",
        says=("192.0.2.10 is the node's own address on the link 'uplink'",),
    ),
    **{
        f"{kind} written as JSON {depth} times": Attack(
            config=written_as_json(network_of(plugin), depth),
            device="uplink",
            says=("parameters.config: must be an object, a CNI conf or conflist",),
        )
        for depth in (2, 3)
        for kind, plugin in HIDDEN.items()
    },
}

FILES: Final = {
    **{
        f"{key} is {path}": Attack(
            plugins=({**MACVLAN, "ipam": {**RANGE, key: path}},),
            says=(f"plugins[0].ipam.{key}: ", *NEEDS),
        )
        for key, paths in {
            "dataDir": (HOME, "/etc", "../../../../etc", "/home/directory"),
            "resolvConf": ("/etc/passwd", "/home/fifo", "/home/link", "/dev/zero"),
        }.items()
        for path in paths
    },
    "tuning.dataDir": Attack(
        plugins=(MACVLAN, {"type": "tuning", "mtu": 1400, "dataDir": "/etc/cni"}),
        says=("plugins[1].dataDir: ", *NEEDS),
    ),
    "a network that is called as a way out": Attack(
        config={**network_of({**MACVLAN, "ipam": RANGE}), "name": "../../../etc"},
        says=("config.name: '../../../etc' must start with a letter or digit",),
    ),
    **{
        f"a pool that is called {name!r}": Attack(
            plugins=({**MACVLAN, "ipam": {"type": "netclaim", "pool": name}},),
            says=(f"plugins[0].ipam.pool: {name!r} cannot be the name of an AddressPool",),
        )
        for name in ("..", ".", "../../nodes/node", "media/status", "media%2fstatus", "media?x=1")
    },
    "a plugin that is called as a way out": Attack(
        plugins=({"type": "../sprung/evil"},),
        says=("plugins[0].type: '../sprung/evil' must start with a letter or digit",),
    ),
}

OF_THE_NODE: Final = {
    "ptp with static addresses": Attack(
        plugins=(
            {
                "type": "ptp",
                "ipam": {"type": "static", "addresses": [{"address": "192.0.2.99/32"}]},
            },
        ),
        says=("plugins[0].type: the plugin ptp (creates a link on the node", *NEEDS),
    ),
    "ptp with ipMasq": Attack(
        plugins=({"type": "ptp", "ipMasq": True, "ipam": RANGE},),
        says=("plugins[0].type: the plugin ptp", *NEEDS),
    ),
    **{
        f"bridge with {key}": Attack(
            plugins=({"type": "bridge", "bridge": "br1", key: True, "ipam": RANGE},),
            says=("plugins[0].type: the plugin bridge (creates bridges on the node", *NEEDS),
        )
        for key in ("isGateway", "isDefaultGateway", "forceAddress", "ipMasq", "promiscMode")
    },
    "bridge of a new name": Attack(
        plugins=({"type": "bridge", "bridge": "br9"},),
        says=("plugins[0].type: the plugin bridge", *NEEDS),
        device="cni",
    ),
    "bandwidth": Attack(
        plugins=(MACVLAN, {"type": "bandwidth", "ingressRate": 8, "ingressBurst": 8}),
        says=(
            "plugins[1].type: the plugin bandwidth (creates links and queues on the node)",
            *NEEDS,
        ),
    ),
    "two plugins that make an interface": Attack(
        plugins=(HOST_DEVICE, {"type": "tap"}),
        says=("plugins[1].type: tap creates an interface, but host-device already creates one",),
    ),
    "nine plugins": Attack(
        plugins=(MACVLAN, *[{"type": "tuning"}] * 8),
        says=("has 9 plugins; a claim's network may have at most 8",),
    ),
}

RUNTIME: Final = {
    **{
        f"{key} on {plugin['type']}": Attack(
            plugins=(*before, {**plugin, key: value}),
            says=(f"plugins[{len(before)}].{key}: ", *NEEDS),
        )
        for key, value in {
            "prevResult": {"cniVersion": "1.0.0", "interfaces": [{"name": "uplink"}]},
            "runtimeConfig": {"ips": ["192.0.2.10/24"], "mac": "02:00:00:00:00:01"},
            "args": {"cni": {"sysctl": {"net.ipv4.ip_forward": "1"}}},
            "capabilities": {"ips": True},
        }.items()
        for before, plugin in (((), MACVLAN), ((MACVLAN,), {"type": "tuning"}))
    },
    "a SELinux label, for which a program is run": Attack(
        plugins=({"type": "tap", "selinuxContext": "system_u:system_r:container_t:s0"},),
        says=("plugins[0].selinuxContext: ", *NEEDS),
    ),
    **{
        f"the program {name}": Attack(
            plugins=({"type": name},),
            says=(
                f"plugins[0].type: {name!r} is a program of the node",
                "a claim needs the policy level privileged, but namespace 'tenant' has baseline",
                "put the network into a DeviceClass",
                "or to list the type in the drivers' --claim-plugins",
            ),
        )
        for name in ("evil", "host-local", "loopback", "sriov")
    },
    "a program as address management": Attack(
        plugins=({**MACVLAN, "ipam": {"type": "evil"}},),
        says=("plugins[0].ipam.type: 'evil' is a program of the node",),
    ),
    "a plugin of ours as address management": Attack(
        plugins=({**MACVLAN, "ipam": {"type": "bridge", "bridge": "br1"}},),
        says=("plugins[0].ipam.type: 'bridge' is a program of the node",),
    ),
    "a program behind a plugin of ours": Attack(
        plugins=(MACVLAN, {"type": "evil"}),
        says=("plugins[1].type: 'evil' is a program of the node",),
    ),
}

NAMED_GATEWAYS: Final[dict[str, dict[str, Any]]] = {
    "of an address": {
        "config": network_of(
            {
                **MACVLAN,
                "ipam": {
                    "type": "static",
                    "addresses": [{"address": "10.10.1.9/24", "gateway": "10.10.1.254"}],
                },
            }
        )
    },
    "of a route": {
        "config": network_of(
            {
                **MACVLAN,
                "ipam": {
                    "type": "static",
                    "routes": [{"dst": "198.18.0.0/15", "gw": "10.10.1.254"}],
                },
            }
        )
    },
    "of its settings": {
        "config": network_of({**MACVLAN, "ipam": {"type": "static"}}),
        "routes": [{"destination": "198.18.0.0/15", "gateway": "10.10.1.254"}],
    },
}

GENERIC: Final = {
    **{
        f"the address of the network's gateway, {why}, at {level}": Attack(
            of_class={**of_class, "allow": ["ips"]},
            beside={"ips": ["10.10.1.254/24"]},
            says=("parameters.ips: 10.10.1.254 is a gateway of the network; choose another",),
            level=level,
            **SHARED,
        )
        for level in ("restricted", "baseline")
        for why, of_class in NAMED_GATEWAYS.items()
    },
    "a withheld link as master": Attack(
        plugins=({**MACVLAN, "master": "cni0"},),
        device="cni",
        says=("plugins[0].master: the link 'cni0' cannot be named here",),
    ),
    "the link into the pod as master": Attack(
        plugins=({**MACVLAN, "master": "to-pod"},),
        device="cni",
        says=("plugins[0].master: the link 'to-pod' cannot be named here: it leads into a pod",),
    ),
    "the loopback as master": Attack(
        plugins=({**MACVLAN, "master": "lo"},),
        device="cni",
        says=(
            "plugins[0].master: the link 'lo' cannot be named here: it is the loopback interface",
        ),
    ),
    "another tenant's link as master": Attack(
        plugins=({**MACVLAN, "master": "other1"},),
        device="cni",
        says=(
            "plugins[0].master: the link 'other1' cannot be named here",
            "claims share it by allocation, so select it in the request",
        ),
    ),
    "passthru": Attack(
        plugins=({**PASSTHRU, "master": "shared1"},),
        device="cni",
        says=("macvlan in mode passthru takes a link away from the node",),
    ),
    "host-device": Attack(
        plugins=({**HOST_DEVICE, "device": "other1"},),
        device="cni",
        says=("host-device takes a link away from the node, so the link must be allocated",),
    ),
    **{
        f"{name} through cni": Attack(
            plugins=({"type": name, "master": "uplink", **keys},),
            device="cni",
            says=(
                f"plugins[0].type: the plugin {name}",
                NOT_OWN[0],
                "the link 'uplink' carries the node",
                PRIVILEGED,
            ),
        )
        for name, keys in {"vlan": {"vlanId": 100}, "ipvlan": {}}.items()
    },
    "a MAC through cni": Attack(
        plugins=({**MACVLAN, "master": "uplink", "mac": "02:42:0a:0a:01:07"},),
        device="cni",
        says=("plugins[0].mac: ", *NOT_OWN),
    ),
    "host-device with adminAccess": Attack(
        plugins=(HOST_DEVICE,),
        device="admin1",
        admin_access=True,
        says=("host-device would take the shared link 'admin1' away from other claims",),
    ),
    "passthru with adminAccess": Attack(
        plugins=(PASSTHRU,),
        device="admin1",
        admin_access=True,
        says=("macvlan in mode passthru would take the shared link 'admin1' away",),
    ),
    **{
        f"{key} on a shared link": Attack(
            plugins=(MACVLAN, {"type": "tuning", key: value}),
            says=(f"plugins[1].{key}: ", *NOT_OWN, "other claims may use the link 'shared1' too"),
            **SHARED,
        )
        for key, value in {
            "mac": "02:42:0a:0a:01:07",
            "promisc": True,
            "allmulti": True,
            "txQLen": 1,
        }.items()
    },
    "a wish for a MAC on a shared link": Attack(
        plugins=(MACVLAN,),
        beside={"mac": "02:42:0a:0a:01:07"},
        says=("parameters.mac: ", *NOT_OWN),
        **SHARED,
    ),
    "vlan on a slot of a link": Attack(
        plugins=({"type": "vlan", "vlanId": 100},),
        device="shared1-slot-1",
        says=("plugins[0].type: the plugin vlan (reaches every VLAN of the link)", *NOT_OWN),
    ),
}


def _said_of_sysctl(name: str, ifname: str) -> tuple[str, ...]:
    """What is said of a sysctl: one that no plugin would set is a mistake, no matter who asks."""
    try:
        sysctl_path(name, ifname)
    except ConfError as error:
        return (str(error),)
    return (f"the sysctl {name} ", *NEEDS)


SYSCTLS: Final = {
    f"the sysctl {name}": Attack(
        plugins=(MACVLAN, {"type": "tuning", "sysctl": {name: "1"}}),
        ifname=ifname,
        says=(f"plugins[1].sysctl[{name}]: ", *_said_of_sysctl(name, ifname)),
    )
    for name, ifname in (
        ("net.ipv4.ip_forward", "net1"),
        ("net/ipv4/ip_forward", "net1"),
        ("net.core.somaxconn", "net1"),
        ("net.core.rmem_max", "net1"),
        ("net.netfilter.nf_conntrack_max", "net1"),
        ("kernel.core_pattern", "net1"),
        ("net/../kernel/core_pattern", "net1"),
        ("net.ipv4.conf.all.rp_filter", "net1"),
        ("net.ipv4.conf.default.rp_filter", "net1"),
        ("net.ipv4.conf.eth0.rp_filter", "net1"),
        ("net.ipv4.conf.IFNAME.forwarding", "net1"),
        ("net.ipv4.conf.IFNAME.proxy_arp", "net1"),
        ("net.ipv4.conf.IFNAME.route_localnet", "net1"),
        ("net.ipv6.conf.IFNAME.forwarding", "net1"),
        ("net/ipv4/conf/IFNAME/../all/rp_filter", "net1"),
        ("net.ipv4.conf.IFNAME.rp_filter/../../all/rp_filter", "net1"),
        ("net.ipv4.conf.net1.rp_filter", "net2"),
        ("net.ipv4.conf.net1.5.rp_filter", "net1.5"),
        ("net/ipv4/conf/net1.5/rp_filter", "net1.5"),
        ("net.ipv4.conf.ipv4.rp_filter", "ipv4"),
        ("NET.IPV4.TCP_RMEM", "net1"),
        ("net.ipv4.tcp_rmem ", "net1"),
        ("", "net1"),
    )
}

IFNAMES: Final = {
    f"the interface's name {ifname!r}": Attack(plugins=(MACVLAN,), ifname=ifname, says=(words,))
    for ifname, words in {
        "all": "all means every interface to the kernel",
        "default": "default means every interface to the kernel",
        "lo": "the pod already has an interface named lo",
        "eth0": "the pod already has an interface named eth0",
        "..": "'..' cannot be the name of an interface",
        "net%s": "may have a % only as %d, and only once",
        "../../x": "must not hold '/'",
        "n" * 16: "must have 1 to 15 bytes",
    }.items()
}

LEVELS: Final = {
    "a network at restricted": Attack(
        plugins=(MACVLAN,),
        level="restricted",
        says=(
            "parameters.config: needs the policy level baseline",
            "but namespace 'tenant' has restricted",
            f"label the namespace {LABEL}=baseline",
        ),
    ),
    **{
        f"{key} at restricted": Attack(
            of_class={"config": network_of({**MACVLAN, "ipam": RANGE})},
            beside={key: value},
            level="restricted",
            says=(
                f"parameters.{key}: the DeviceClass does not let claims set it",
                f"ask a cluster admin to add {key} to the class's `allow`",
            ),
        )
        for key, value in {
            "ips": ["10.10.1.7"],
            "mac": "02:42:0a:0a:01:07",
            "mtu": 1400,
            "config": network_of(MACVLAN),
        }.items()
    },
    "a network in place of the class's": Attack(
        of_class={"config": network_of(MACVLAN)},
        plugins=(HOST_DEVICE,),
        says=(
            "parameters.config: the DeviceClass does not let claims set it; leave it out",
            "or ask a cluster admin to add config to the class's `allow`",
        ),
    ),
    "a claim that allows itself": Attack(
        plugins=(MACVLAN,),
        beside={"allow": ["config"]},
        says=(
            'parameters.allow: unknown key "allow"; only a DeviceClass can say what claims may set',
        ),
    ),
    "what a class allows is still judged": Attack(
        of_class={"allow": ["config"]},
        plugins=({"type": "bridge"},),
        says=("plugins[0].type: the plugin bridge", *NEEDS),
    ),
    **{
        f"the label {label!r}": Attack(
            plugins=(MACVLAN,),
            level=label,
            says=(
                f"Namespace(tenant).metadata.labels[{LABEL}]: {label!r} is not a policy level",
                "choose one of restricted, baseline, privileged",
            ),
        )
        for label in ("none", "", "root", "2")
    },
}

ATTACKS: Final = {
    f"{chapter}: {name}": attack
    for chapter, attacks in {
        "uplink": UPLINKS,
        "spelling": SPELLINGS,
        "files": FILES,
        "of the node": OF_THE_NODE,
        "runtime": RUNTIME,
        "not its own": GENERIC,
        "sysctls": SYSCTLS,
        "names": IFNAMES,
        "levels": LEVELS,
        "settings": SETTINGS,
    }.items()
    for name, attack in attacks.items()
}

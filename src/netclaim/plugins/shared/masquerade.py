"""What a host does as its containers' gateway: pass packets on, and hide addresses behind its own.

Promise: the rules of the reference plugins' nftables backend, which know each other's by a comment;
removing needs neither the addresses nor the namespace.
Limit: nftables only. Where iptables is asked for, or is there and nothing is asked for, the
reference program does the whole call: its rules cost more processes than its own.
"""

import hashlib
import shutil
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final

from netclaim.cni import AttachmentKey
from netclaim.kernel.host import nftables
from netclaim.kernel.host.sysctls.sysctl import read_sysctl, write_sysctl
from netclaim.kernel.host.threads import to_the_end
from netclaim.kernel.requests.ip import Interface
from netclaim.plugins.engine.conf import NetConf
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.key_rules import KeyRule

FAMILY: Final = "inet"
TABLE: Final = "cni_plugins_masquerade"
CHAIN: Final = "masq_checks"
COMMENT_MAX: Final = 128  # bytes, the kernel's limit
HASH_DIGITS: Final = 16
MULTICAST: Final = ("ip daddr 224.0.0.0/4", "ip6 daddr ff00::/8")  # stays on the link
FORWARDING: Final = {4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding"}


class MasqueradeConf(NetConf, frozen=True):
    """The keys of plugins that masquerade."""

    ip_masq: Annotated[bool, KeyRule("hide the addresses behind the node's")] = False
    ip_masq_backend: Annotated[
        str | None, KeyRule("what writes the rules for that", choices=("iptables", "nftables"))
    ] = None


def enable_forwarding(families: Iterable[int]) -> None:
    """Switch forwarding on for each of the families 4 and 6, where it is not."""
    for family in sorted(set(families)):
        if read_sysctl(FORWARDING[family]) != "1":
            write_sysctl(FORWARDING[family], "1")


def needs_iptables(conf: MasqueradeConf) -> bool:
    """Whether the reference program has to be called: iptables is preferred where it is."""
    if not conf.ip_masq:
        return False
    if conf.ip_masq_backend is None:
        return shutil.which("iptables") is not None
    return conf.ip_masq_backend == "iptables"


async def masquerade(
    conf: MasqueradeConf, key: AttachmentKey, addresses: Sequence[Interface]
) -> None:
    """Write the rules of an attachment, in place of those that it has."""
    if not conf.ip_masq:
        return
    if conf.ip_masq_backend not in {None, "nftables"}:
        raise PluginError(
            f"ipMasqBackend {conf.ip_masq_backend!r} is neither iptables nor nftables"
        )
    await to_the_end(_write, conf.name, key, addresses)


async def unmasquerade(conf: MasqueradeConf, key: AttachmentKey) -> None:
    """Remove the rules of an attachment, if it has any."""
    if conf.ip_masq:
        await to_the_end(_remove, _hash(conf.name, key), frozenset())


async def collect(conf: MasqueradeConf, valid: frozenset[AttachmentKey]) -> None:
    """Remove the rules of the network's attachments that are not valid."""
    if conf.ip_masq:
        kept = frozenset(_comment(conf.name, key) for key in valid)
        await to_the_end(_remove, _network_hash(conf.name), kept)


def _write(network: str, key: AttachmentKey, addresses: Sequence[Interface]) -> None:
    stale = [_delete(rule) for rule in _rules(_hash(network, key))]
    comment = _comment(network, key)
    commands = [
        f"add table {FAMILY} {TABLE}",
        f"add chain {FAMILY} {TABLE} {CHAIN}",
        f"add chain {FAMILY} {TABLE} postrouting {{ type nat hook postrouting priority srcnat; }}",
        f"flush chain {FAMILY} {TABLE} postrouting",
        *(f"add rule {FAMILY} {TABLE} postrouting {match} return" for match in MULTICAST),
        f"add rule {FAMILY} {TABLE} postrouting goto {CHAIN}",
        *stale,
    ]
    for address in addresses:
        ip = "ip" if address.version == 4 else "ip6"
        commands.append(
            f"add rule {FAMILY} {TABLE} {CHAIN} {ip} saddr {address.ip} "
            f'{ip} daddr != {address.network} masquerade comment "{comment}"'
        )
    nftables.run("\n".join(commands))


def _remove(prefix: str, kept: frozenset[str]) -> None:
    """Remove the rules whose comment starts like this, apart from those with a comment to keep."""
    doomed = [_delete(rule) for rule in _rules(prefix) if rule["comment"] not in kept]
    if doomed:
        nftables.run("\n".join(doomed))


def _rules(prefix: str) -> list[dict[str, Any]]:
    listed = nftables.list_rules(FAMILY, TABLE, CHAIN)
    return [rule for rule in listed if rule.get("comment", "").startswith(prefix)]


def _delete(rule: dict[str, Any]) -> str:
    return f"delete rule {FAMILY} {TABLE} {CHAIN} handle {rule['handle']}"


def _comment(network: str, key: AttachmentKey) -> str:
    said = f"{_hash(network, key)}, net: {network}, if: {key.ifname}, id: {key.container_id}"
    return said.replace('"', "")[:COMMENT_MAX]


def _hash(network: str, key: AttachmentKey) -> str:
    return f"{_network_hash(network)}-{_digits(f'{key.ifname}:{key.container_id}')}"


def _network_hash(network: str) -> str:
    return _digits(network)


def _digits(text: str) -> str:
    return hashlib.sha512(text.encode()).hexdigest()[:HASH_DIGITS]

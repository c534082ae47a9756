"""Drop frames of a container that do not come from its own MAC.

Promise: the chains and rules of the reference plugin, found again by the attachment's name alone.
Limit: the rules do not say of which network they are, so garbage collection leaves them alone.
"""

from typing import Final

from netclaim.cni import AttachmentKey
from netclaim.kernel.host import nftables
from netclaim.kernel.host.threads import to_the_end

FAMILY: Final = "bridge"
NAME: Final = "nat"
TABLE: Final = f"{FAMILY} {NAME}"
BASE: Final = "PREROUTING"
HOOK: Final = "type filter hook prerouting priority -300; policy accept;"  # before all else


async def allow_only_mac(key: AttachmentKey, host_name: str, mac: str) -> None:
    """Write the rules for the bridge port `host_name`, in place of those that it has."""
    await to_the_end(_write, key, host_name, mac)


async def allow_any_mac(key: AttachmentKey) -> None:
    """Remove the rules of an attachment, if it has any."""
    await to_the_end(_remove, key)


def _write(key: AttachmentKey, host_name: str, mac: str) -> None:
    chain, mac_chain = _chains(key)
    comment = f'comment "{_comment(key)}"'
    commands = [
        f"add table {TABLE}",
        f"add chain {TABLE} {BASE} {{ {HOOK} }}",
        f"add chain {TABLE} {chain}",
        f"add chain {TABLE} {mac_chain}",
        f"flush chain {TABLE} {chain}",
        f"flush chain {TABLE} {mac_chain}",
        *_delete_jumps(key),
        f'add rule {TABLE} {BASE} iifname "{host_name}" jump {chain} {comment}',
        f"add rule {TABLE} {chain} jump {mac_chain} {comment}",
        f"add rule {TABLE} {mac_chain} ether saddr {mac} return {comment}",
        f"add rule {TABLE} {mac_chain} drop {comment}",
    ]
    nftables.run("\n".join(commands))


def _remove(key: AttachmentKey) -> None:
    there = nftables.list_chains(FAMILY, NAME)
    chains = [name for name in _chains(key) if name in there]
    commands = [
        *_delete_jumps(key),
        *(f"flush chain {TABLE} {name}" for name in chains),
        *(f"delete chain {TABLE} {name}" for name in chains),
    ]
    if commands:
        nftables.run("\n".join(commands))


def _delete_jumps(key: AttachmentKey) -> list[str]:
    return [
        f"delete rule {TABLE} {BASE} handle {rule['handle']}"
        for rule in nftables.list_rules(FAMILY, NAME, BASE)
        if rule.get("comment") == _comment(key)
    ]


def _chains(key: AttachmentKey) -> tuple[str, str]:
    chain = f"cni-br-iface-{key.container_id}-{key.ifname}"
    return chain, f"{chain}-mac"


def _comment(key: AttachmentKey) -> str:
    return f"macspoofchk-{key.container_id}-{key.ifname}"

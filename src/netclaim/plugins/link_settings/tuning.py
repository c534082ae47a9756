"""Offloads, sizes of packets and BPF programs of a container's interface.

Promise: what was changed before something was refused is as it was.
Limit: a program that was detached is not attached again; its owner has to load it again.
"""

from typing import Final

import msgspec

from netclaim.errors import HostError
from netclaim.kernel import KernelError, Link, Rtnl
from netclaim.kernel.host.bpf import detach_tcx, detach_xdp_links
from netclaim.kernel.netlink import uapi
from netclaim.kernel.netlink.codec import number, u32
from netclaim.kernel.requests.links import set_link_parts
from netclaim.kernel.state.card.card_settings import CardSettings, read_card, write_card
from netclaim.kernel.state.card.card_switches import switch_features, switch_flags
from netclaim.kernel.state.copies.link_copies import (
    TakenSettings,
    give_settings_back,
    take_settings,
)
from netclaim.kernel.state.xdp import read_programs, remove_programs
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.engine.pod import Pod
from netclaim.plugins.link_settings.conf import SettingsConf

SIZES: Final = {  # in this order: the first one sets that for IPv4 as well
    "gsoMaxSize": ("gso_max_size", uapi.IFLA_GSO_MAX_SIZE),
    "groMaxSize": ("gro_max_size", uapi.IFLA_GRO_MAX_SIZE),
    "gsoIPv4MaxSize": ("gso_ipv4_max_size", uapi.IFLA_GSO_IPV4_MAX_SIZE),
    "groIPv4MaxSize": ("gro_ipv4_max_size", uapi.IFLA_GRO_IPV4_MAX_SIZE),
}


class Before(msgspec.Struct, frozen=True):
    """How a link was."""

    card: CardSettings
    settings: TakenSettings


async def as_it_is(rtnl: Rtnl, link: Link) -> Before:
    """Read what `tune` may change."""
    return Before(read_card(rtnl, link.name), await take_settings(rtnl, link.index))


async def tune(pod: Pod, link: Link, conf: SettingsConf) -> None:
    """Detach programs, switch features and flags, and set sizes."""
    if conf.disable_ebpf_programs:
        await _detach_programs(pod, link)
    if conf.ethtool.private_flags:
        switch_flags(pod.rtnl, link.name, conf.ethtool.private_flags)
    if conf.ethtool.features:
        switch_features(pod.rtnl, link.name, conf.ethtool.features)
    for key, (field, part) in SIZES.items():
        size = getattr(conf, field)
        if size:
            try:
                await pod.rtnl.call(set_link_parts(link.index, u32(part, size)))
            except KernelError as error:
                raise PluginError(f"{key} {size}: {error}") from error


async def put_back(rtnl: Rtnl, link: Link, before: Before) -> None:
    """Set everything as it was, as far as the link takes it."""
    write_card(rtnl, link.name, before.card)
    now = await take_settings(rtnl, link.index)
    for request in give_settings_back(link.index, now, before.settings):
        await rtnl.call(request)


async def other_size(rtnl: Rtnl, link: Link, conf: SettingsConf) -> str:
    """Name the first size that is not as it was set, with what it is; empty where all are."""
    now = dict((await take_settings(rtnl, link.index)).parts)
    for key, (field, part) in SIZES.items():
        size, there = getattr(conf, field), number(now.get(part, b""))
        if size and there != size:
            return f"{key} is {there}, not {size}"
    return ""


async def _detach_programs(pod: Pod, link: Link) -> None:
    """Detach what sees the link's packets; filters of its queues end when it changes namespace."""
    try:
        programs = await read_programs(pod.rtnl, link.index)
        if programs and await remove_programs(pod.rtnl, link.index, {}):
            held = set((await read_programs(pod.rtnl, link.index)).values())
            pod.inside(lambda: detach_xdp_links(held))
        pod.inside(lambda: detach_tcx(link.index))
    except OSError as error:
        raise HostError(f"the BPF programs of {link.name} cannot be detached: {error}") from error

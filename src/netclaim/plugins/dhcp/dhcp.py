"""dhcp: an address of the DHCP server in the interface's network.

Configuration: `ipam.request` (options to ask for, `skipDefault`), `ipam.provide` (options to send),
`ipam.priority` (the metric of the routes that the server gives). An address that a pod had before
comes in CNI_ARGS (IP), and is asked for first.
Promise: no address is taken that the terms of the attachment refuse; a lease is recorded before its
interface has the address, and given back while the interface is still there.
Limit: IPv4. Somebody has to renew what is recorded; the network driver does.
"""

import asyncio
from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any, Final

import structlog

from netclaim.cni import DNS, IPConfig, Result, Route
from netclaim.cni.call import AttachmentKey
from netclaim.dhcp.client import Bound, Client, Identity, Send
from netclaim.dhcp.granted import Granted
from netclaim.errors import NetclaimError
from netclaim.kernel import Link, open_netns
from netclaim.kernel.requests.links import set_link
from netclaim.kernel.state.changes.waiting import wait_link
from netclaim.plugins.dhcp.conf import (
    WANTED_IP,
    DhcpConf,
    IpamKeys,
    client_id,
    provided,
    wanted,
)
from netclaim.plugins.dhcp.exchange import CHANCE, boot_clock_s, run_exchange
from netclaim.plugins.dhcp.lease_records import LeaseRecord, LeaseRecords
from netclaim.plugins.dhcp.terms import LeaseTerms
from netclaim.plugins.dhcp.wire import Wire
from netclaim.plugins.engine.conf import read_conf
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.plugin import Asked, Invocation, Plugin
from netclaim.plugins.engine.pod import Pod, open_pod

ACQUIRE_S: Final = 10.0  # the reference program's patience; after that the pod is tried again
CARRIER_S: Final = 2.0  # a link that takes longer may have one all the same, by the next question
IPVLAN: Final = "ipvlan"
LAYER_2: Final = "l2"
NO_NETWORK: Final = frozenset({"dummy", "ptp"})  # links on which no server can be

log = structlog.get_logger(__name__)


class Dhcp(Plugin):
    ipam_conf = IpamKeys
    needs_interface = True

    def __init__(self, records: LeaseRecords, terms: LeaseTerms) -> None:
        self._records = records
        self._terms = terms

    @classmethod
    def refuse(cls, raw: Mapping[str, Any], asked: Asked) -> None:  # noqa: ARG003 -- for some
        """Raise where no server could be asked."""
        conf = read_conf(raw, DhcpConf)
        if conf.type == IPVLAN and conf.mode not in {"", LAYER_2}:
            message = f"an ipvlan of the mode {conf.mode} cannot ask a DHCP server; choose l2"
            raise ConfError(message, path=("mode",))
        if conf.type in NO_NETWORK:
            message = f"there is no DHCP server behind a {conf.type}; choose static or host-local"
            raise ConfError(message, path=("ipam", "type"))
        conf.ipam.refuse()

    async def add(self, invocation: Invocation) -> Result:
        """Ask for an address until there is one."""
        conf, endpoint = invocation.conf(DhcpConf), invocation.endpoint
        refusal = self._terms.of(endpoint.key)
        if refusal is None:
            raise PluginError(
                "nobody here would renew a lease: dhcp works in netclaim's driver only; elsewhere "
                "use the program dhcp with its daemon"
            )
        given = provided(conf.ipam.provide, endpoint.args)
        with open_pod(endpoint.netns) as pod:
            link = await _switched_on(pod, endpoint.ifname)
            identity = Identity(
                mac=bytes.fromhex(link.mac.replace(":", "")),
                client_id=client_id(endpoint),
                broadcast=link.kind == IPVLAN,  # its MAC leads to its master, and so to nobody
                wanted=wanted(conf.ipam.request),
                provided=given,
            )
            client = Client(identity, CHANCE, refusal)
            client.start(boot_clock_s(), had=_wanted_ip(dict(endpoint.args).get(WANTED_IP, "")))
            granted, server_mac = await _acquire(client, pod, link)
            self._records.keep(
                LeaseRecord(
                    network=conf.name,
                    container_id=endpoint.container_id,
                    netns=endpoint.netns,
                    ifname=endpoint.ifname,
                    mac=link.mac,
                    client_id=identity.client_id,
                    broadcast=identity.broadcast,
                    wanted=identity.wanted,
                    provided=given,
                    granted=granted,
                    bound_s=client.bound_s,
                    server_mac=server_mac,
                )
            )
        return result_of(granted, conf.ipam.priority)

    async def delete(self, invocation: Invocation) -> None:
        """Give the lease back, as far as there is still a way to the server."""
        self.give_back(invocation.endpoint.key)

    async def check(self, invocation: Invocation) -> None:
        """See that the attachment has a lease that has not ended."""
        record = self._records.find(invocation.endpoint.key)
        if record is None:
            raise PluginError(f"{invocation.endpoint.ifname} has no DHCP lease")
        client = Client(record.identity, CHANCE)
        client.resume(record.granted, record.bound_s)
        if record.ended or client.ends_s <= boot_clock_s():
            raise PluginError(f"the DHCP lease of {record.ifname} has ended")

    async def gc(self, invocation: Invocation) -> None:
        """Give back what belongs to no valid attachment of the network."""
        valid = invocation.valid_attachments()
        network = invocation.conf(DhcpConf).name
        for record in self._records.all():
            if record.network == network and record.key not in valid:
                self.give_back(record.key)

    def give_back(self, key: AttachmentKey) -> None:
        """Tell the server, without waiting for anything, and forget the lease."""
        record = self._records.find(key)
        if record is None or record.ended:
            self._records.drop(key)  # one of an earlier boot, say
            return
        client = Client(record.identity, CHANCE)
        client.resume(record.granted, record.bound_s)
        try:
            with open_netns(record.netns) as netns, Wire(netns, record.ifname) as wire:
                for event in client.release():
                    if isinstance(event, Send):
                        wire.send(event.content, event.source, event.to, record.server_mac)
        except NetclaimError as error:  # the server's end of it runs out by itself
            log.info("dhcp.not_released", interface=record.ifname, error=str(error))
        self._records.drop(key)


def result_of(granted: Granted, priority: int = 0) -> Result:
    """Return what a server gives as plugins have it."""
    router = next(iter(granted.routers), "")
    routes = [(each.destination, each.gateway) for each in granted.routes]
    if router and not granted.routes:
        routes = [("0.0.0.0/0", router)]
    if not all(by for _, by in routes):  # these lead to the link itself, and not by the router
        router = ""
    return Result(
        ips=(IPConfig(granted.address, router),),
        routes=tuple(Route(to, gw=by, priority=priority) for to, by in routes),
        dns=DNS(granted.name_servers, granted.domain, granted.search),
    )


async def _acquire(client: Client, pod: Pod, link: Link) -> tuple[Granted, str]:
    with Wire(pod.netns, link.name) as wire:
        try:
            async with asyncio.timeout(ACQUIRE_S):
                outcome = await run_exchange(client, wire)
        except TimeoutError as error:
            raise PluginError(_no_answer(client, link.name)) from error
        assert isinstance(outcome.event, Bound), "a client that has nothing loses nothing"
        granted = outcome.event.granted
        wire.announce(link.mac, granted.interface.ip)
    return granted, outcome.mac


def _no_answer(client: Client, ifname: str) -> str:
    """Say what kept a client from getting an address."""
    if client.refused:
        return f"no address for {ifname} by DHCP: {'; '.join(client.refused)}"
    if client.answered:
        return f"the DHCP server has begun to answer {ifname}, and confirmed no address"
    return f"no DHCP server has answered {ifname} within {ACQUIRE_S:g} s"


async def _switched_on(pod: Pod, ifname: str) -> Link:
    """Switch the interface on, and give it time to find its carrier."""
    link = await pod.link(ifname)
    await pod.rtnl.call(set_link(link.index, up=True))
    try:
        async with asyncio.timeout(CARRIER_S):
            await wait_link(pod.netns, pod.rtnl, link.index, lambda now: now.oper_state == "up")
    except TimeoutError:
        log.info("dhcp.no_carrier", interface=ifname)
    return link


def _wanted_ip(written: str) -> IPv4Address | None:
    """Return the address that the interface had, if it was one of IPv4."""
    try:
        return IPv4Address(written.split(",", 1)[0].partition("/")[0])
    except ValueError:
        return None

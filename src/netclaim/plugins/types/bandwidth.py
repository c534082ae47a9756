"""bandwidth: limits on what goes through a container's pair of links.

Configuration, or else the capability `bandwidth`: `ingressRate`, `ingressBurst`, `egressRate`,
`egressBurst`, in bits and as the container sees it; a rate and its burst come together. What the
container receives is limited where it leaves the host's end. What it sends is redirected from
there to a link of kind ifb and limited on leaving that.
"""

import hashlib
from contextlib import AsyncExitStack
from typing import Annotated, Final

import msgspec

from netclaim.cni import Interface, Result
from netclaim.cni.call import IFNAME_MAX
from netclaim.cni.version import CHAINING
from netclaim.errors import NetclaimError
from netclaim.kernel import Link, Request, Rtnl, find_link, find_link_at
from netclaim.kernel.host.netns import OWN_NETNS
from netclaim.kernel.requests.links import create_link, ifb
from netclaim.kernel.requests.traffic import (
    TokenBucket,
    add_token_bucket,
    delete_ingress,
    delete_root,
    dump_qdiscs,
    read_token_bucket,
    token_bucket,
)
from netclaim.kernel.state.link_limit import LATENCY_US, redirect_through
from netclaim.plugins.engine.conf import Conf, NetConf
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation, Plugin
from netclaim.plugins.engine.pod import delete_link, open_pod

BURST_BYTES_MAX: Final = (1 << 32) - 1  # the reference plugin's limit, of 4 GB
RATES: Final = 1 << 64  # both the reference plugin and the kernel have 64 bits for a rate

U64 = Annotated[int, msgspec.Meta(ge=0)]


class Rates(Conf, frozen=True):
    """Limits in bits and bits a second; 0: none."""

    ingress_rate: Annotated[U64 | None, KeyRule("the rate of receiving, in bit/s")] = None
    ingress_burst: Annotated[U64 | None, KeyRule("the largest burst, in bits")] = None
    egress_rate: Annotated[U64 | None, KeyRule("the rate of sending, in bit/s")] = None
    egress_burst: Annotated[U64 | None, KeyRule("the largest burst, in bits")] = None


class Offer(Conf, frozen=True):
    """What the runtime offers by capability."""

    bandwidth: Rates = Rates()


class BandwidthConf(Rates, frozen=True):
    runtime_config: Offer = Offer()

    def refuse(self) -> None:
        """Raise where a rate and its burst do not make a limit."""
        try:
            _limits(self)
        except PluginError as error:
            raise ConfError(str(error)) from error


class Limits(msgspec.Struct, frozen=True):
    """What is limited, and how."""

    ingress: TokenBucket | None
    egress: TokenBucket | None


class Bandwidth(Plugin):
    oldest = CHAINING
    confs = (BandwidthConf,)
    needs_previous = True

    async def add(self, invocation: Invocation) -> Result:
        """Limit both directions, each if it is asked for."""
        limits = _limits(invocation.conf(BandwidthConf))
        result = invocation.required_previous()
        if limits == Limits(None, None):
            return result
        with Rtnl.open() as host:
            outside = await _host_end(invocation, host, result)
            async with AsyncExitStack() as undoing:
                if limits.ingress:
                    await host.call(add_token_bucket(outside.index, limits.ingress))
                    undoing.push_async_callback(_undo, host, delete_root(outside.index))
                if limits.egress:
                    name = _ifb_name(invocation)
                    limited = await _limit_egress(host, outside, name, limits.egress, undoing)
                    added = Interface(name=limited.name, mac=limited.mac)
                    interfaces = (*result.interfaces, added)
                    result = msgspec.structs.replace(result, interfaces=interfaces)
                undoing.pop_all()
        return result

    async def delete(self, invocation: Invocation) -> None:
        """Remove the ifb; the limit on the pair ends with the pair."""
        await delete_link(OWN_NETNS, _ifb_name(invocation))

    async def check(self, invocation: Invocation) -> None:
        """See that both limits are there."""
        limits = _limits(invocation.conf(BandwidthConf))
        result = invocation.required_previous()
        with Rtnl.open() as host:
            outside = await _host_end(invocation, host, result)
            if limits.ingress:
                await _check_limit(host, outside, limits.ingress)
            if limits.egress:
                limited = await find_link(host, _ifb_name(invocation))
                if limited is None:
                    raise PluginError(f"the link {_ifb_name(invocation)} is gone")
                await _check_limit(host, limited, limits.egress)


def _limits(conf: BandwidthConf) -> Limits:
    """Read the limits: the plugin's own keys if there are any, else what the runtime offers."""
    own = Rates(conf.ingress_rate, conf.ingress_burst, conf.egress_rate, conf.egress_burst)
    rates = conf.runtime_config.bandwidth if own == Rates() else own
    return Limits(
        ingress=_bucket(rates.ingress_rate or 0, rates.ingress_burst or 0),
        egress=_bucket(rates.egress_rate or 0, rates.egress_burst or 0),
    )


def _bucket(rate_bits: int, burst_bits: int) -> TokenBucket | None:
    if rate_bits == burst_bits == 0:
        return None
    if not burst_bits:
        raise PluginError("if rate is set, burst must also be set")
    if not rate_bits:
        raise PluginError("if burst is set, rate must also be set")
    if rate_bits >= RATES:
        raise PluginError(f"a rate of {rate_bits} bit/s does not fit in 64 bits")
    rate, burst = rate_bits // 8, burst_bits // 8
    if burst >= BURST_BYTES_MAX:
        raise PluginError("burst cannot be more than 4GB")
    if not rate:
        raise PluginError(f"a rate of {rate_bits} bit/s is less than a byte per second")
    return token_bucket(rate=rate, burst=burst, latency_us=LATENCY_US)


def _ifb_name(invocation: Invocation) -> str:
    """Name the ifb as the reference plugin does, so that either finds the other's."""
    network = invocation.conf(NetConf).name
    known_by = network + invocation.endpoint.container_id
    return f"bwp{hashlib.sha512(known_by.encode()).hexdigest()}"[:IFNAME_MAX]


async def _host_end(invocation: Invocation, host: Rtnl, result: Result) -> Link:
    """Find the other end of the container's link: on the host, and made by a plugin before us."""
    ifname = invocation.endpoint.ifname
    with open_pod(invocation.endpoint.netns) as pod:
        inside = await pod.link(ifname)
    if inside.kind != "veth" or not inside.parent_index:
        raise PluginError(f"container interface {ifname} has no veth peer")
    outside = await find_link_at(host, inside.parent_index)
    made = {link.name for link in result.interfaces if not link.sandbox}
    if outside is None or outside.name not in made:
        raise PluginError(f"the veth peer of container interface {ifname} is not on the host")
    return outside


async def _limit_egress(
    host: Rtnl, outside: Link, name: str, bucket: TokenBucket, undoing: AsyncExitStack
) -> Link:
    """Send what comes in over a link through a new one, which limits it."""
    await host.call(create_link(name, ifb(), mtu=outside.mtu, txqlen=0, up=True))
    undoing.push_async_callback(delete_link, OWN_NETNS, name)
    limited = await find_link(host, name)
    if limited is None:
        raise PluginError(f"the link {name} is gone")
    queue, watch, redirect = redirect_through(outside.index, limited.index, bucket)
    await host.call(queue)
    await host.call(watch)
    undoing.push_async_callback(_undo, host, delete_ingress(outside.index))
    await host.call(redirect)
    return limited


async def _undo(host: Rtnl, request: Request) -> None:
    try:
        await host.call(request)
    except NetclaimError:
        return  # what stopped us matters more, and the pair will not live long


async def _check_limit(host: Rtnl, link: Link, expected: TokenBucket) -> None:
    read = (read_token_bucket(message) for message in await host.dump(dump_qdiscs()))
    found = next((bucket for index, bucket in filter(None, read) if index == link.index), None)
    if found != expected:
        raise PluginError(f"link {link.name} is not limited as configured: {found or 'no limit'}")

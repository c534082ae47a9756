"""Which addresses a bridge has as the gateway of its containers, and which routes they have to it.

Promise: as the reference plugin reckons. Limit: pure.
"""

import ipaddress

from netclaim.cni import DNS, IPConfig, Result, Route
from netclaim.kernel.requests.ip import Interface
from netclaim.plugins.bridge.conf import BridgeConf
from netclaim.plugins.engine.errors import PluginError

POD_END = 2  # in the list of interfaces, after the bridge and the host's end
ANYWHERE = {4: "0.0.0.0/0", 6: "::/0"}


def with_gateways(lease: Result, conf: BridgeConf, *, dns: DNS) -> Result:
    """Return the lease with these name servers, gateways, and default routes where wanted."""
    ips = tuple(IPConfig(ip.address, _gateway(ip, conf), POD_END) for ip in lease.ips)
    routes = list(lease.routes)
    if conf.is_default_gateway:
        for ip in ips:
            anywhere = ANYWHERE[ipaddress.ip_interface(ip.address).version]
            # One without a gateway does not count: it would lead to the link only.
            if not any(route.gw and route.dst == anywhere for route in routes):
                routes.append(Route(anywhere, ip.gateway))
    return Result(ips=ips, routes=tuple(routes), dns=dns)


def gateway_addresses(planned: Result) -> dict[int, list[Interface]]:
    """Return the bridge's addresses by family, each in the network of one of the container's."""
    found: dict[int, list[Interface]] = {}
    for ip in planned.ips:
        prefix = ip.address.partition("/")[2]
        address = ipaddress.ip_interface(f"{ip.gateway}/{prefix}")
        found.setdefault(address.version, []).append(address)
    return dict(sorted(found.items()))


def _gateway(ip: IPConfig, conf: BridgeConf) -> str:
    if ip.gateway or not conf.gateway:
        return ip.gateway
    try:
        return str(ipaddress.ip_interface(ip.address).network.network_address + 1)
    except ValueError as error:
        raise PluginError(f"no address is left for the gateway of {ip.address}") from error

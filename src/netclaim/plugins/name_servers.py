"""Which name servers a container is told of: its network's own, or those of the address management.

Promise: as the reference plugins choose. Limit: pure.
"""

from netclaim.cni import DNS
from netclaim.plugins.conf import Conf, NetConf
from netclaim.plugins.plugin import Invocation

__all__ = ["chosen_dns"]


class DnsKeys(Conf, frozen=True):
    """What stands under `dns`; an empty list is said too, and means that there are none."""

    nameservers: tuple[str, ...] | None = None
    domain: str = ""
    search: tuple[str, ...] | None = None
    options: tuple[str, ...] | None = None


class DnsConf(Conf, frozen=True):
    """The part of a configuration that is about name servers."""

    dns: DnsKeys = DnsKeys()


def chosen_dns(invocation: Invocation, leased: DNS) -> DNS:
    """Return what the configuration says, or `leased` where it says nothing."""
    says_nothing = invocation.conf(DnsConf).dns == DnsKeys()
    return leased if says_nothing else invocation.conf(NetConf).dns

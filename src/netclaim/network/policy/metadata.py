"""Where clouds answer what a machine asks about itself, with its credentials among the answers.

AWS, Google, OpenStack and most others use 169.254.169.254, some of them IPv6 addresses as well;
Azure hands out a machine's settings at 168.63.129.16, Alibaba answers at 100.100.100.200, and
Oracle once did at 192.0.0.192. Promise: nobody else has one of these on a link that the node uses,
and no pod is led to one over a link that carries the node. Values only.
"""

import ipaddress
from typing import Final

LINK_LOCAL: Final = "169.254.0.0/16"  # where further services of clouds are
OPENSTACK_V6: Final = "fe80::a9fe:a9fe"  # of the network that every IPv6 interface is in
ROUTED: Final = (
    "169.254.169.254",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
)
METADATA_SERVERS: Final = frozenset({*ROUTED, OPENSTACK_V6})
SERVER_NETWORKS: Final = frozenset(map(ipaddress.ip_network, ROUTED))
METADATA_NETWORKS: Final = (LINK_LOCAL, *(str(ipaddress.ip_network(each)) for each in ROUTED))

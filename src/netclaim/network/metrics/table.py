"""What the network driver counts beyond what every driver does.

`METRICS` declares it, each once, as the framework does its own.
"""

from typing import Final

from netclaim.cni import Command
from netclaim.framework.telemetry import OUTCOMES, Metric
from netclaim.plugins import PLUGIN_TYPES

PROGRAM: Final = "program"

PLUGIN_SECONDS: Final = Metric(
    "netclaim_plugin_seconds",
    "histogram",
    "Time of one call of a CNI plugin.",
    {
        "plugin": (*sorted(PLUGIN_TYPES), PROGRAM),
        "command": tuple(map(str, Command)),
        **OUTCOMES,
    },
)
ADDRESSES: Final = Metric(
    "netclaim_network_addresses",
    "gauge",
    "Addresses of a network that `host-local` has leased on this node, or could still lease.",
    {
        "network": "`NAMESPACE/NETWORK` for a claim's network, `NETWORK` for a class's; "
        "`(other)` for all beyond 16 of a namespace, or 64",
        "family": ("ipv4", "ipv6"),
        "state": ("used", "free"),
    },
)
CARRIER_LOSSES: Final = Metric(
    "netclaim_carrier_losses_total",
    "counter",
    "Times that a link which is offered lost its carrier.",
)
LINK: Final = {"link": "the link's name on the node"}
LINK_ATTACHMENTS: Final = Metric(
    "netclaim_link_attachments",
    "gauge",
    "Interfaces that pods have of a link.",
    LINK,
)
LINK_BANDWIDTH: Final = Metric(
    "netclaim_link_limits_bits_per_second",
    "gauge",
    "The sum of the bandwidths that the interfaces of a link are limited to.",
    LINK,
)
LINK_CLAIMS_MAX: Final = Metric(
    "netclaim_link_claims_max",
    "gauge",
    "How many claims may have a link at a time.",
    LINK,
)
LINK_BANDWIDTH_MAX: Final = Metric(
    "netclaim_link_bandwidth_bits_per_second",
    "gauge",
    "The bandwidth of a link that claims share; absent for a link whose bandwidth is not shared "
    "out.",
    LINK,
)
LIMITS_RESTORED: Final = Metric(
    "netclaim_limits_restored_total",
    "counter",
    "Limits of interfaces that somebody in the pod had removed, and that were put back.",
)
LEASES_RESTORED: Final = Metric(
    "netclaim_leases_restored_total",
    "counter",
    "Addresses of running pods whose lease was gone: `restored` is leased again, `taken` is leased "
    "to another claim by now.",
    {"result": ("restored", "taken")},
)
DHCP_LEASES: Final = Metric(
    "netclaim_dhcp_leases",
    "gauge",
    "Addresses by DHCP that pods of this node have, and that are renewed.",
)
DHCP_RENEWALS: Final = Metric(
    "netclaim_dhcp_renewals_total",
    "counter",
    "Attempts to renew an address: `renewed`, `unanswered` (no server answered, and it is tried "
    "again), `lost` (the address may not be used any more).",
    {"result": ("renewed", "unanswered", "lost")},
)
SLOT_DEVICES: Final = Metric(
    "netclaim_slot_devices",
    "gauge",
    "Devices that are slots of links. More than 0 where the API server drops what makes a link "
    "shareable: the cluster lacks DRAConsumableCapacity.",
)
METRICS: Final = (
    PLUGIN_SECONDS,
    ADDRESSES,
    CARRIER_LOSSES,
    SLOT_DEVICES,
    LINK_ATTACHMENTS,
    LINK_BANDWIDTH,
    LINK_CLAIMS_MAX,
    LINK_BANDWIDTH_MAX,
    LIMITS_RESTORED,
    LEASES_RESTORED,
    DHCP_LEASES,
    DHCP_RENEWALS,
)

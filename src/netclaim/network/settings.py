"""What can be set about the network driver, with the reason for each default.

A field with metadata is a setting, as `framework/setting.py` explains; the others follow from
settings, or nobody has had to change them yet. Promise: a value that cannot be is refused by the
reader beside it. Those that are `live` can change under a running driver.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netclaim.errors import RequestError
from netclaim.framework.setting import Removed, Setting, about, declared_in, fill
from netclaim.framework.setting_sources import Resolved
from netclaim.framework.settings import declared as declared_of_every_driver
from netclaim.framework.settings import seconds
from netclaim.network.node import Network
from netclaim.network.per_link import PerLink, read_bandwidths, read_counts
from netclaim.network.pod_namespaces import POD_NETNS
from netclaim.network.policy import LABEL, LEVELS, Level
from netclaim.network.setting_readers import (
    ALL,
    read_claim_plugins,
    read_driver_name,
    read_link_expression,
    read_link_patterns,
    read_networks,
    read_plugin_types,
    seconds_or_0,
)
from netclaim.plugins import PLUGIN_TYPES

if TYPE_CHECKING:
    from netclaim.network.link_filter import LinkExpression

__all__ = [
    "ATTACHMENTS_DEFAULT",
    "DRIVER_NAME",
    "REMOVED",
    "SLOTS_DEFAULT",
    "LinkSettings",
    "LiveSettings",
    "check_together",
    "declared",
    "link_settings",
]

DRIVER_NAME: Final = "cni.dra.networking.x-k8s.io"  # what manifests in the wild say
ATTACHMENTS_DEFAULT: Final = 32
ATTACHMENTS_MAX: Final = 4096  # as many VLANs as a link can carry; no node has room for more pods
SLOTS_DEFAULT: Final = 8
SLOTS_MAX: Final = 128
REMOVED: Final = (
    Removed(
        "--shared-link",
        "NETCLAIM_SHARED_LINK",
        "links are shared by default; to say how many claims may have one, use --attachments, for "
        "example --attachments eth1=32, and 1 for links that one claim at a time may have",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """Everything the driver needs beside the framework's own settings."""

    state_dir: Path
    """A directory of the driver's own that survives restarts: CNI results, devices lent to pods."""

    name: str = field(
        default=DRIVER_NAME,
        metadata=about(
            "NETCLAIM_DRIVER_NAME",
            "The driver's name, by which classes, claims and slices refer to it.",
            option="--driver-name",
            read=read_driver_name,
        ),
    )
    # Apart from where the primary network keeps its own leases, too.
    lease_dir: Path = field(
        default=Path("/var/lib/cni/netclaim"),
        metadata=about(
            "NETCLAIM_LEASE_DIR",
            "Where plugins record the addresses leased to claims, in a subdirectory named after "
            "the driver. It must survive restarts and reboots. Keep it outside the state "
            "directory, so that losing the state does not free addresses in use.",
        ),
    )
    runtime_results: Path = Path("/var/lib/cni/results")
    """Where runtimes keep the CNI results of their own networks. Plugins of a network whose name
    is among them are not told to collect garbage: they would take the runtime's for ours."""

    cni_path: tuple[str, ...] = field(
        default=("/opt/cni/bin",),
        metadata=about(
            "NETCLAIM_CNI_BIN_DIR",
            "A directory of CNI plugins. May be given several times: the first that has a plugin "
            "serves it.",
            option="--cni-bin-dir",
            form="repeated",
            example="[/opt/cni/bin]",
            read=tuple,
            said=list,
        ),
    )
    exec_plugins: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "NETCLAIM_EXEC_PLUGINS",
            "CNI plugin types to execute as programs although the driver has them in process: "
            f"{', '.join(sorted(PLUGIN_TYPES))}; or `{ALL}`.",
            form="commas",
            metavar="TYPE,…",
            example="[macvlan]",
            read=read_plugin_types,
            said=list,
        ),
    )
    # The framework gives an attach 30 s; being stopped before that lets the error name the plugin.
    # A DHCP server is asked for ten seconds at most.
    add_s: float = field(
        default=25.0,
        metadata=about(
            "NETCLAIM_CNI_TIMEOUT",
            "How many seconds a CNI ADD may take. Keep it below --attach-timeout, so that the "
            "error names the plugin.",
            option="--cni-timeout",
            live=True,
            read=seconds,
        ),
    )
    pod_networks: tuple[Network, ...] = field(
        default=(),
        metadata=about(
            "NETCLAIM_POD_NETWORK",
            "A range of the node's pod addresses: links that have one are not offered. May be "
            "given several times.",
            option="--pod-network",
            form="repeated",
            metavar="CIDR",
            example="[10.244.0.0/16]",
            live=True,
            read=read_networks,
            said=lambda networks: list(map(str, networks)),
        ),
    )
    # As many macvlans, each with its MAC in the card's filter, as common cards take before they
    # have to listen to everything; a claim for 1/32 of a 10G link still has more than 300M.
    attachments: PerLink = field(
        default=PerLink((("", ATTACHMENTS_DEFAULT),)),
        metadata=about(
            "NETCLAIM_ATTACHMENTS",
            "How many claims may have a link at a time, each with an interface of its own on it: a "
            "number, or `PATTERN=NUMBER` for links by their kernel names, such as `ens*=64`. 1: "
            "one claim at a time has the link. May be given several times; the first that fits a "
            "link counts.",
            form="repeated",
            metavar="[PATTERN=]NUMBER",
            example='["32", "eth1=10"]',
            live=True,
            read=read_counts(ATTACHMENTS_MAX, "eth1=10"),
            said=PerLink.said,
        ),
    )
    link_bandwidth: PerLink = field(
        default=PerLink(),
        metadata=about(
            "NETCLAIM_LINK_BANDWIDTH",
            "The bandwidth of a link that claims share, in bits per second, if not its speed: a "
            "quantity such as `10G`, or `PATTERN=QUANTITY`. 0: bandwidth is neither shared out "
            "nor limited. May be given several times; the first that fits a link counts.",
            form="repeated",
            metavar="[PATTERN=]QUANTITY",
            example='["eth1=10G"]',
            live=True,
            read=read_bandwidths,
            said=PerLink.said,
        ),
    )
    # Each is a device in the slices, and a slice has room for 128.
    slots: PerLink = field(
        default=PerLink((("", SLOTS_DEFAULT),)),
        metadata=about(
            "NETCLAIM_SLOTS",
            "How many devices to offer for a link that claims share, on clusters without the "
            "feature DRAConsumableCapacity (Kubernetes before 1.36): a number, or "
            "`PATTERN=NUMBER`. 1: one claim at a time has the link. May be given several times; "
            "the first that fits a link counts.",
            form="repeated",
            metavar="[PATTERN=]NUMBER",
            example='["8", "eth1=4"]',
            live=True,
            read=read_counts(SLOTS_MAX, "eth1=4"),
            said=PerLink.said,
        ),
    )
    link_filter: "LinkExpression | None" = field(
        default=None,
        metadata=about(
            "NETCLAIM_LINK_FILTER",
            "Offer only the links of which this CEL expression is true. It sees `device` as "
            "selectors do, and `node.name` and `node.labels`. Empty: no filter.",
            form="text",
            metavar="EXPR",
            live=True,
            read=read_link_expression,
            said=lambda _: "",
        ),
    )
    show_links: "LinkExpression | None" = field(
        default=None,
        metadata=about(
            "NETCLAIM_SHOW_LINKS",
            "Also offer links of which this CEL expression is true, although their names are such "
            "as pod networks use. Links that are withheld for other reasons stay withheld.",
            form="text",
            metavar="EXPR",
            live=True,
            read=read_link_expression,
            said=lambda _: "",
        ),
    )
    generic_device: bool = field(
        default=True,
        metadata=about(
            "NETCLAIM_GENERIC_DEVICE",
            "Offer a device `cni` that is no particular link, for claims that ask for none.",
            live=True,
        ),
    )
    device_metadata: bool = field(
        default=True,
        metadata=about(
            "NETCLAIM_DEVICE_METADATA",
            "Let containers that name a claim read about its interfaces in a file, which the "
            "runtime mounts by CDI.",
        ),
    )
    policy: Level = field(
        default=Level.BASELINE,
        metadata=about(
            "NETCLAIM_POLICY",
            f"The policy level of namespaces without the label {LABEL}. It decides what a claim "
            "may set by itself.",
            form="choice",
            choices=tuple(LEVELS),
            live=True,
            read=LEVELS.__getitem__,
            said=str,
        ),
    )
    policy_ceiling: Level = field(
        default=Level.PRIVILEGED,
        metadata=about(
            "NETCLAIM_POLICY_CEILING",
            "The highest policy level on this node, whatever a namespace's label says.",
            form="choice",
            choices=tuple(LEVELS),
            live=True,
            read=LEVELS.__getitem__,
            said=str,
        ),
    )
    claim_plugins: frozenset[str] = field(
        default=frozenset(),
        metadata=about(
            "NETCLAIM_CLAIM_PLUGINS",
            "CNI plugin types, beyond the driver's own, that claims may use below the policy "
            "level `privileged`. They are programs on the node and run as root with the claim's "
            "configuration.",
            form="commas",
            metavar="TYPE,…",
            example="[sriov]",
            live=True,
            read=read_claim_plugins,
            said=sorted,
        ),
    )
    ignore_carrier: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "NETCLAIM_IGNORE_CARRIER",
            "A link by its kernel name, or a pattern such as `ens*`, that is offered whether or "
            "not it has a carrier. May be given several times; `*` is all links. The others are "
            "tainted while they are up and have no carrier.",
            option="--ignore-carrier",
            form="repeated",
            metavar="NAME",
            example="[eth1]",
            live=True,
            read=read_link_patterns,
            said=list,
        ),
    )
    # Off: whether a pod is better off elsewhere is for whoever runs it to say, and where all nodes
    # lose a switch, evicting helps nobody.
    evict_after_s: float = field(
        default=0.0,
        metadata=about(
            "NETCLAIM_EVICT_AFTER",
            "After how many seconds without carrier the pods that use a link are evicted, by a "
            "taint with the effect NoExecute. 0: never.",
            option="--evict-after",
            live=True,
            read=seconds_or_0,
        ),
    )
    # Longer than a link takes to negotiate (1 to 3 s), and than a switch's port to forward again.
    flap_hold_s: float = field(
        default=10.0,
        metadata=about(
            "NETCLAIM_FLAP_HOLD",
            "For how many seconds a link that lost its carrier twice within ten minutes must have "
            "it again before pods may use the link; doubled with each further loss, up to five "
            "minutes. 0: at once.",
            option="--flap-hold",
            live=True,
            read=seconds_or_0,
        ),
    )
    preflight: tuple[str, ...] = field(
        default=(),
        metadata=about(
            "NETCLAIM_PREFLIGHT",
            "A link by its kernel name, or a pattern such as `ens*`, whose claims the driver "
            "checks before the scheduler binds the pod to the node; `cni` is the generic device. "
            "May be given several times. Needs the right to list and watch ResourceClaims, and "
            "adds up to five seconds to the start of a pod.",
            option="--preflight",
            form="repeated",
            metavar="NAME",
            example="[eth1]",
            live=True,
            read=read_link_patterns,
            said=list,
        ),
    )
    pod_netns: tuple[str, ...] = POD_NETNS
    """Patterns of the paths of pods' namespaces: links that lead into one are not offered."""

    undo_s: float = 3.0
    """How long the DEL after a failed ADD may take at once: what is left of an attach's time. One
    that takes longer is repeated in the background."""

    plugin_s: float = 30.0
    """How long one plugin may run where no hook waits for it: a DEL that is repeated."""


class LiveSettings:
    """The settings in force. Replaced as a whole, by another thread too."""

    def __init__(self, settings: LinkSettings) -> None:
        self.now = settings


def declared() -> tuple[Setting, ...]:
    """All settings of the network driver, the framework's first."""
    return (*declared_of_every_driver(), *declared_in(LinkSettings))


def link_settings(resolved: Resolved, **others: Any) -> LinkSettings:
    """The network driver's own among them; `others` are no settings."""
    name = resolved["name"]
    made: LinkSettings = fill(
        LinkSettings, resolved.values, state_dir=resolved["state_dir"] / name, **others
    )
    return made


def check_together(resolved: Resolved) -> None:
    """Refuse settings that contradict each other."""
    policy, ceiling = resolved["policy"], resolved["policy_ceiling"]
    if policy > ceiling:
        raise resolved.fault("policy", f"{policy} is higher than --policy-ceiling, {ceiling}")
    for name in ("link_filter", "show_links"):
        expression: LinkExpression | None = resolved[name]
        if expression is not None:
            try:
                expression.check_attributes(resolved["name"])
            except RequestError as error:
                raise resolved.fault(name, str(error)) from error

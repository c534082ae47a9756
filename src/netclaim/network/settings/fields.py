"""What can be set about the network driver, with the reason for each default.

A field made by `setting` is one, as `framework/settings/declare.py` explains; the others follow
from settings, or nobody has had to change them yet. Promise: a value that cannot be is refused by
the reader beside it. Those that are `live` can change under a running driver.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from netclaim.cni.conflist import PLAIN_NAME
from netclaim.errors import RequestError
from netclaim.framework import Settings
from netclaim.framework.settings import (
    Removed,
    Resolved,
    Setting,
    declared_in,
    fill,
    seconds,
    setting,
)
from netclaim.kernel.requests.ip import Network
from netclaim.model.api.limits import DOMAIN_MAX
from netclaim.network import DRIVER_NAME
from netclaim.network.policy.levels import LABEL, LEVELS, Level
from netclaim.network.settings.per_link import (
    BANDWIDTH,
    COUNT,
    DEFAULT_BANDWIDTH,
    FUNCTIONS,
    LINK,
    PerLink,
    read_bandwidths,
    read_counts,
    read_default_bandwidths,
    read_functions,
)
from netclaim.network.settings.readers import (
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
    from netclaim.network.devices.expression import LinkExpression

ATTACHMENTS_DEFAULT: Final = 32
ATTACHMENTS_MAX: Final = 4096  # as many VLANs as a link can carry; no node runs more pods
SLOTS_DEFAULT: Final = 8
SLOTS_MAX: Final = 128
POD_NETNS: Final = (
    "/run/netns/cni-*",  # containerd
    "/run/netns/????????-????-????-????-????????????",  # CRI-O
)
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

    name: str = setting(
        DRIVER_NAME,
        "The driver's name, by which classes, claims and slices refer to it.",
        option="--driver-name",
        limits={"maxLength": DOMAIN_MAX},
        read=read_driver_name,
    )
    # Apart from where the primary network keeps its own leases, too.
    lease_dir: Path = setting(
        Path("/var/lib/cni/netclaim"),
        "Where plugins record the addresses leased to claims, in a subdirectory named after "
        "the driver. It must survive restarts and reboots. Keep it outside the state "
        "directory, so that losing the state does not free addresses in use.",
    )
    runtime_results: Path = Path("/var/lib/cni/results")
    """Where runtimes keep the CNI results of their own networks. Plugins of a network whose name
    is among them are not asked to collect garbage: they would take the runtime's for ours."""

    cni_path: tuple[str, ...] = setting(
        ("/opt/cni/bin",),
        "A directory of CNI plugins. May be given several times: the first that has a plugin "
        "serves it.",
        option="--cni-bin-dir",
        form="repeated",
        example="[/opt/cni/bin]",
        read=tuple,
        said=list,
    )
    exec_plugins: tuple[str, ...] = setting(
        (),
        "CNI plugin types to execute as programs although the driver has them in process: "
        f"{', '.join(sorted(PLUGIN_TYPES))}; or `{ALL}`.",
        form="commas",
        metavar="TYPE,…",
        example="[macvlan]",
        limits={"enum": [*sorted(PLUGIN_TYPES), ALL]},
        read=read_plugin_types,
        said=list,
    )
    # The framework gives an attach 30 s; being stopped before that lets the error name the plugin.
    # A DHCP server is asked for ten seconds at most.
    add_s: float = setting(
        25.0,
        "How many seconds a CNI ADD may take. Keep it below --attach-timeout, so that the "
        "error names the plugin.",
        option="--cni-timeout",
        live=True,
        limits={"exclusiveMinimum": 0},
        read=seconds,
    )
    pod_networks: tuple[Network, ...] = setting(
        (),
        "A range of the node's pod addresses: links that have one are not offered. May be "
        "given several times.",
        option="--pod-network",
        form="repeated",
        metavar="CIDR",
        example="[10.244.0.0/16]",
        live=True,
        limits={"pattern": "^[0-9a-fA-F]*[.:][0-9a-fA-F.:]*(%[^/]+)?(/[0-9.]+)?$"},
        read=read_networks,
        said=lambda networks: list(map(str, networks)),
    )
    # As many macvlans, each with its MAC in the card's filter, as common cards take before they
    # have to listen to everything.
    attachments: PerLink = setting(
        PerLink((("", ATTACHMENTS_DEFAULT),)),
        "How many claims may have a link at a time, each with an interface of its own on it: a "
        "number, or `PATTERN=NUMBER` for links by their kernel names, such as `ens*=64`. 1: "
        "one claim at a time has the link. May be given several times; the first that fits a "
        "link counts.",
        page="sharing.md",
        form="repeated",
        metavar="[PATTERN=]NUMBER",
        example='["32", "eth1=10"]',
        live=True,
        limits=COUNT,
        read=read_counts(ATTACHMENTS_MAX, "eth1=10"),
        said=PerLink.said,
    )
    link_bandwidth: PerLink = setting(
        PerLink(),
        "The bandwidth of a link that claims share, in bits per second, if not its speed: a "
        "quantity such as `10G`, or `PATTERN=QUANTITY`. 0: bandwidth is neither shared out "
        "nor limited. May be given several times; the first that fits a link counts.",
        page="bandwidth.md",
        form="repeated",
        metavar="[PATTERN=]QUANTITY",
        example='["eth1=10G"]',
        live=True,
        limits=BANDWIDTH,
        read=read_bandwidths,
        said=PerLink.said,
    )
    # Nobody who comes from another network plugin expects a limit that they have not asked for.
    default_bandwidth: PerLink = setting(
        PerLink(),
        "The bandwidth of a claim that asks for none: a quantity such as `100M`, which the "
        "scheduler reserves and the driver enforces as if the claim had asked for it; `equal`, an "
        "equal part of the link for as many claims as it is for; or `PATTERN=` and one of these. "
        "0: such claims are not limited. May be given several times; the first that fits a link "
        "counts.",
        page="bandwidth.md#claims-that-ask-for-nothing",
        form="repeated",
        metavar="[PATTERN=]QUANTITY",
        example='["eth1=100M"]',
        live=True,
        limits=DEFAULT_BANDWIDTH,
        read=read_default_bandwidths,
        said=PerLink.said,
    )
    protect_bandwidth: bool = setting(
        True,
        "Let what claims have asked bandwidth for leave a link before everything else, by a queue "
        "on the link. Links that have a queue of somebody else are left alone in any case.",
        page="bandwidth.md#protected-from-the-others",
        live=True,
    )
    # Each is a device in the slices, and a slice holds 64.
    slots: PerLink = setting(
        PerLink((("", SLOTS_DEFAULT),)),
        "How many devices to offer for a link that claims share, on clusters without the "
        "feature DRAConsumableCapacity (Kubernetes before 1.36): a number, or "
        "`PATTERN=NUMBER`. 1: one claim at a time has the link. May be given several times; "
        "the first that fits a link counts.",
        page="sharing.md#older-clusters",
        form="repeated",
        metavar="[PATTERN=]NUMBER",
        example='["8", "eth1=4"]',
        live=True,
        limits=COUNT,
        read=read_counts(SLOTS_MAX, "eth1=4"),
        said=PerLink.said,
    )
    link_filter: "LinkExpression | None" = setting(
        None,
        "Offer only the links of which this CEL expression is true. It sees `device` as "
        "selectors do, and `node.name` and `node.labels`. Empty: no filter.",
        page="discover.md#hiding-and-showing-links",
        form="text",
        metavar="EXPR",
        live=True,
        read=read_link_expression,
        said=lambda _: "",
    )
    show_links: "LinkExpression | None" = setting(
        None,
        "Also offer links of which this CEL expression is true, although their names are such "
        "as pod networks use. Links that are withheld for other reasons stay withheld.",
        page="discover.md#hiding-and-showing-links",
        form="text",
        metavar="EXPR",
        live=True,
        read=read_link_expression,
        said=lambda _: "",
    )
    generic_device: bool = setting(
        True,
        "Offer a device `cni` that is no particular link, for claims that ask for none.",
        page="devices.md#the-device-cni",
        live=True,
    )
    network_devices: bool = setting(
        False,
        "Offer the cluster's PodNetworks as devices, which claims can select by the network's name "
        "alone. Needs the right to list and watch DeviceClasses.",
        page="pod-networks.md#claims-that-name-only-the-network",
    )
    device_metadata: bool = setting(
        True,
        "Let containers that name a claim read about its interfaces in a file, which the "
        "runtime mounts by CDI.",
        page="device-metadata.md",
    )
    policy: Level = setting(
        Level.BASELINE,
        f"The policy level of namespaces without the label {LABEL}. It decides what a claim "
        "may set by itself.",
        page="security.md",
        form="choice",
        choices=tuple(LEVELS),
        live=True,
        read=LEVELS.__getitem__,
        said=str,
    )
    policy_ceiling: Level = setting(
        Level.PRIVILEGED,
        "The highest policy level on this node, whatever a namespace's label says.",
        form="choice",
        choices=tuple(LEVELS),
        live=True,
        read=LEVELS.__getitem__,
        said=str,
    )
    claim_plugins: frozenset[str] = setting(
        frozenset(),
        "CNI plugin types, beyond the driver's own, that claims may use below the policy "
        "level `privileged`. They are programs on the node and run as root with the claim's "
        "configuration.",
        form="commas",
        metavar="TYPE,…",
        example="[sriov]",
        live=True,
        limits={"pattern": f"^{PLAIN_NAME.pattern}$", "not": {"enum": sorted(PLUGIN_TYPES)}},
        read=read_claim_plugins,
        said=sorted,
    )
    whole_uplinks: tuple[str, ...] = setting(
        (),
        "A link that the node depends on, by its kernel name or a pattern such as `ens*`, that "
        "claims can have alone all the same. May be given several times. Others are offered by "
        "parts only: a claim with such a link alone is refused, unless a DeviceClass gives it away "
        "in a namespace with the policy level `privileged`.",
        page="sharing.md#a-link-alone",
        form="repeated",
        metavar="NAME",
        example="[eth0]",
        live=True,
        limits=LINK,
        read=read_link_patterns,
        said=list,
    )
    # A number for every card would also be one for those that nobody thought of.
    vfs: PerLink = setting(
        PerLink(),
        "How many virtual functions a card is to have, as `PATTERN=NUMBER` for cards by their "
        "kernel names, such as `ens1f0=8`. Changed only while none of the card's functions is in "
        "use. May be given several times; the first that fits a card counts, and cards that none "
        "fits stay as they are.",
        page="howto-rdma-sriov.md#making-virtual-functions",
        form="repeated",
        metavar="PATTERN=NUMBER",
        example='["ens1f0=8"]',
        live=True,
        limits=FUNCTIONS,
        read=read_functions,
        said=PerLink.said,
    )
    vfio: bool = setting(
        False,
        "Give the hardware of links to programs, such as virtual machines, where a DeviceClass or "
        "a claim with the policy level `privileged` asks for it.",
        page="howto-rdma-sriov.md#a-function-for-a-virtual-machine",
        live=True,
    )
    ignore_carrier: tuple[str, ...] = setting(
        (),
        "A link by its kernel name, or a pattern such as `ens*`, that is offered whether or "
        "not it has a carrier. May be given several times; `*` is all links. The others are "
        "tainted while they are up and have no carrier.",
        page="health.md",
        form="repeated",
        metavar="NAME",
        example="[eth1]",
        live=True,
        limits=LINK,
        read=read_link_patterns,
        said=list,
    )
    # Off: whether a pod is better off elsewhere is for its owner to say, and where all nodes
    # lose a switch, evicting helps nobody.
    evict_after_s: float = setting(
        0.0,
        "After how many seconds without carrier the pods that use a link are evicted, by a "
        "taint with the effect NoExecute. 0: never.",
        live=True,
        limits={"minimum": 0},
        read=seconds_or_0,
    )
    # Longer than a link takes to negotiate (1 to 3 s), and than a switch's port to forward again.
    flap_hold_s: float = setting(
        10.0,
        "For how many seconds a link that lost its carrier twice within ten minutes must have "
        "it again before pods may use the link; doubled with each further loss, up to five "
        "minutes. 0: at once.",
        live=True,
        limits={"minimum": 0},
        read=seconds_or_0,
    )
    preflight: tuple[str, ...] = setting(
        (),
        "A link by its kernel name, or a pattern such as `ens*`, whose claims the driver "
        "checks before the scheduler binds the pod to the node; `cni` is the generic device. "
        "May be given several times. Needs the right to list and watch ResourceClaims, and "
        "adds up to five seconds to the start of a pod.",
        page="health.md#checking-before-a-pod-is-bound",
        form="repeated",
        metavar="NAME",
        example="[eth1]",
        live=True,
        limits=LINK,
        read=read_link_patterns,
        said=list,
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
    return (*declared_in(Settings), *declared_in(LinkSettings))


def link_settings(resolved: Resolved, **others: Any) -> LinkSettings:
    """The network driver's own among them; `others` are no settings."""
    name = resolved["name"]
    return fill(LinkSettings, resolved.values, state_dir=resolved["state_dir"] / name, **others)


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

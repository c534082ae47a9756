"""What a pod chooses of a network, as keys of a claim: its interface's name, addresses, a MAC.

Promise: a key is written only if some plugin of the network can do it; what a claim cannot say is
named with the reason. No I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from netclaim.cni import parse_network
from netclaim.convert.multus.workloads import Wanted
from netclaim.convert.remarks import Remark, within
from netclaim.convert.written.network import Network
from netclaim.errors import RequestError
from netclaim.manifests.reading import FAULTS_MAX
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.named_pools import pools_named
from netclaim.network.request.ifnames import read_ifname
from netclaim.network.request.into_config.wishes import WISHES, Wish, Wishes, with_wishes
from netclaim.paths import Path

MEGABIT: Final = 1_000_000  # the step in which a claim asks for bandwidth
RATES: Final = ("ingressRate", "egressRate")
# What a claim cannot say, and why.
NOT_CLAIMED: Final[Mapping[str, str]] = {
    "default-route": (
        "a claim does not replace the pod's default route; write routes for what the network"
        " reaches into its ipam"
    ),
    "portMappings": "a claim has no port mappings; use a Service, or the network's address itself",
    "cni-args": "a claim has no arguments for plugins; write them into the network's configuration",
    "infiniband-guid": "a claim cannot choose the GUID of an InfiniBand link",
    "deviceID": "the scheduler allocates the device; select it in the network's parent",
}
IPAM_CLAIM: Final = "ipam-claim-reference"
NOT_KEPT: Final = (
    "only the addresses of an AddressPool are kept for an IPAMClaim; write them as ips"
)
KEEP_NEEDED: Final = "the AddressPool {} needs `keep: {{kinds: [IPAMClaim]}}` for it"
NO_BANDWIDTH: Final = "a network that is on no link of the node has no bandwidth to share"
PASSED_OVER: Final = "left out: Multus has no such key, and passes over it"


@dataclass(frozen=True, slots=True)
class Choice:
    """What one pod chooses of one network."""

    parameters: JsonObject = field(default_factory=dict)
    bandwidth: str = ""  # a quantity, of each direction
    remarks: tuple[Remark, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the network's own template has it."""
        return not self.parameters and not self.bandwidth


def choose(wanted: Wanted, index: int, network: Network) -> Choice:
    """Return what a pod chooses of a network, beside what all its users have."""
    selection = wanted.selections[index]
    remarks = [
        within(wanted.text, (*selection.at, key), NOT_CLAIMED[key], lost=True)
        for key in NOT_CLAIMED
        if key in selection.choices
    ]
    parameters: JsonObject = {}
    if wanted.ifnames[index] != network.ifname:
        parameters["ifName"] = wanted.ifnames[index]
    if name := selection.choices.get(IPAM_CLAIM):
        pool = next(pools_named(network.definition.config), "")
        text = KEEP_NEEDED.format(pool) if pool else NOT_KEPT
        if pool:
            parameters["ipamClaim"] = name
        remarks.append(within(wanted.text, (*selection.at, IPAM_CLAIM), text, lost=not pool))
    for wish in WISHES:
        if wish.name in selection.choices:
            try:
                parameters[wish.name] = _wished(wish, selection.choices[wish.name], network)
            except RequestError as error:
                at = (*selection.at, wish.name)
                remarks.append(within(wanted.text, at, error.message, lost=True))
    bandwidth, said = _bandwidth(selection.choices.get("bandwidth", {}), network)
    at = (*selection.at, "bandwidth")
    remarks += [within(wanted.text, (*at, *path), text, lost=lost) for path, text, lost in said]
    for key in selection.unknown[:FAULTS_MAX]:
        remarks.append(within(wanted.text, (*selection.at, key), PASSED_OVER))
    return Choice(parameters, bandwidth, tuple(remarks))


def _wished(wish: Wish, value: Any, network: Network) -> Any:
    """Return a wish as a claim writes it; RequestError if the network cannot fulfil it."""
    read = wish.read(value, ())
    with_wishes(parse_network(network.definition.config), Wishes.of({wish.name: read}), {})
    return list(read) if isinstance(read, tuple) else read


def ifname_fault(wanted: Wanted, index: int) -> str:
    """Return why an interface cannot have its name; empty if it can."""
    try:
        read_ifname(wanted.ifnames[index], ())
    except RequestError as error:
        return error.message
    return "" if wanted.ifnames.count(wanted.ifnames[index]) == 1 else "two networks have this name"


def _bandwidth(value: Any, network: Network) -> tuple[str, list[tuple[Path, str, bool]]]:
    """Return bits per second as a claim asks for them, and what is different, or lost, then."""
    rates = [rate for key in RATES if isinstance(rate := value.get(key), int) and rate > 0]
    if not rates:
        return "", []
    if not network.has_parent:
        return "", [((), NO_BANDWIDTH, True)]
    said: list[tuple[Path, str, bool]] = [
        ((key,), "left out: bursts follow from the rate", False)
        for key in list(value)[:FAULTS_MAX]
        if key not in RATES
    ]
    if len(rates) < len(RATES) or rates[0] != rates[1]:
        said.append(((), "the larger rate applies to both directions", False))
    return f"{max(1, -(-max(rates) // MEGABIT))}M", said

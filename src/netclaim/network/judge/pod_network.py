"""What the drivers would refuse of a PodNetwork, before any claim asks for it. No I/O.

The network is read as a claim of its class would be, and what is wrong gets the place in the
network that it comes from.
"""

from collections.abc import Iterable

from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.api.pod_network import PodNetwork
from netclaim.network.errors import ParametersError
from netclaim.network.judge.mistakes import config_faults
from netclaim.network.pod_network import parameters_of
from netclaim.network.request.parameters import read_claim
from netclaim.paths import Path

INSIDE = ("ipam", "dns", "mtu", "mode", "bridge", "vlan")  # keys that are the network's own


def network_faults(network: PodNetwork, driver: str) -> list[RequestError]:
    """List the mistakes in a network, with their paths in it."""
    claim = Claim(
        uid="",
        namespace="",
        name=network.name,
        devices=(AllocatedDevice(network.name, driver, "", ""),),
        configs=(OpaqueConfig("FromClass", driver, parameters_of(network)),),
    )
    found: Iterable[RequestError]
    try:
        found = [fault for request in read_claim(claim) for fault in config_faults(request)]
    except ParametersError as error:
        found = error.faults
    except RequestError as error:
        found = [error]
    return [RequestError(each.message, path=_path_in(network, each.path)) for each in found]


def _path_in(network: PodNetwork, path: Path) -> Path:
    """Where in a network something of its parameters comes from."""
    inner = path[3:]  # behind the entry, `opaque` and `parameters`
    if network.spec.type == "cni" or inner[:1] != ("config",):
        return ("spec", *inner)
    below = inner[3:]  # behind `config`, `plugins` and the only one's number
    return ("spec", *below) if below[:1] and below[0] in INSIDE else ("spec",)

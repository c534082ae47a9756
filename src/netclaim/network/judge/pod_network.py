"""What the drivers would refuse of a PodNetwork, before any claim asks for it. No I/O.

The network is read as a claim of its class would be, and what is wrong gets the place in the
network that it comes from.
"""

from collections.abc import Iterable, Iterator

from netclaim.errors import RequestError
from netclaim.manifests.near import did_you_mean
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.network.errors import ParametersError
from netclaim.network.judge.mistakes import config_faults
from netclaim.network.pod_network import SETTINGS_KEYS, parameters_of
from netclaim.network.request.parameters import read_claim
from netclaim.paths import Path
from netclaim.plugins.engine.unknown_keys import unknown_keys

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
    faults = [RequestError(each.message, path=_path_in(network, each.path)) for each in found]
    return [*_unknown_settings(network), *faults]


def _unknown_settings(network: PodNetwork) -> Iterator[RequestError]:
    settings = network.spec.settings or {}
    unknown = [key for key in settings if key not in SETTINGS_KEYS]

    def hint(key: str) -> str:
        return did_you_mean(key, SETTINGS_KEYS) or f"; known keys are {', '.join(SETTINGS_KEYS)}"

    for message, path in unknown_keys(unknown, ("spec", "settings"), hint):
        yield RequestError(message, path=path)


def _path_in(network: PodNetwork, path: Path) -> Path:
    """Where in a network something of its parameters comes from."""
    inner = path[3:]  # behind the entry, `opaque` and `parameters`
    if inner[:1] and inner[0] in SETTINGS_KEYS:
        return ("spec", "settings", *inner)
    if network.spec.type == "cni" or inner[:1] != ("config",):
        return ("spec", *inner)
    below = inner[3:]  # behind `config`, `plugins` and the only one's number
    return ("spec", *below) if below[:1] and below[0] in INSIDE else ("spec",)

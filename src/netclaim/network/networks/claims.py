"""What a PodNetwork adds to a claim that got its device: the network, as a class would say it.

A claim that selects a network by its attribute needs no configuration: what the network says takes
the place of the class's, which an admin wrote, too. Promise: what the claim itself says stays the
claim's; whose network a device is decides nobody but the network. A class that was made for the
network says it already, as it was when the device was allocated. No I/O.
"""

from collections.abc import Iterator
from typing import Final, Protocol

import msgspec

from netclaim.errors import PeerError, RequestError
from netclaim.model import AllocatedDevice, Claim, OpaqueConfig
from netclaim.model.api.own_kinds.pod_network import PodNetwork
from netclaim.model.devices.link_name import ON
from netclaim.network.devices.network_device import is_device_of
from netclaim.network.pod_network import parameters_of

SELECT_LINKS: Final = 'device.attributes["{}"].kind != "network"'


class Networks(Protocol):
    """The networks that are known, see `KnownNetworks`."""

    @property
    def listed(self) -> bool:
        """Whether these are all there are."""
        ...

    def of_device(self, device: str) -> PodNetwork | None:
        """The network whose device this is, or was."""
        ...


def with_networks(claim: Claim, known: Networks) -> Claim:
    """The claim, with the parameters of the networks whose devices it got.

    RequestError if a device's network is gone or is not meant; PeerError if it is not known yet.
    """
    added: dict[str, OpaqueConfig] = {}
    for device in claim.devices:
        for config in _parameters(claim, device, known):
            before = added.setdefault(device.request, config)
            if before.parameters["podNetwork"] != config.parameters["podNetwork"]:
                raise RequestError(
                    f"the request got devices of the networks {before.parameters['podNetwork']} "
                    f"and {config.parameters['podNetwork']}; select one of them by its name",
                    path=_request(device),
                )
    if not added:
        return claim
    return msgspec.structs.replace(claim, configs=(*added.values(), *claim.configs))


def _parameters(claim: Claim, device: AllocatedDevice, known: Networks) -> Iterator[OpaqueConfig]:
    """Yield the network of a device, unless the device is a link or its class is the network's."""
    if ON not in device.device:
        return
    of_class = [each for each in claim.configs_for(device.request) if each.source == "FromClass"]
    for each in of_class:
        if is_device_of(str(each.parameters.get("podNetwork", "")), device.device):
            return
    network = known.of_device(device.device)
    if network is None and not known.listed:
        raise PeerError("the cluster's PodNetworks are not known yet")
    if network is None:
        raise RequestError(
            f"the PodNetwork of the device {device.device} is gone; make the claim again",
            path=_request(device),
        )
    if of_class:
        raise RequestError(
            f"it got a device of the network {network.name}, but its class has a configuration of "
            f"its own, for a link; ask a cluster admin to add the selector "
            f"{SELECT_LINKS.format(device.driver)} to the class",
            path=_request(device),
        )
    yield OpaqueConfig("FromClass", device.driver, parameters_of(network), (device.request,))


def _request(device: AllocatedDevice) -> tuple[str]:
    return (f"spec.devices.requests[{device.base_request}]",)

"""What a program gets of the runtime that no claim wishes for: its device, and its bandwidth.

    "capabilities": {"deviceID": true}     the allocated link's PCI address
    "capabilities": {"bandwidth": true}    what the claim has reserved of its link, each way

Promise: only a program that declares the capability gets it. Plugins in process need neither: they
get the link itself, and the driver limits what they make. It limits what programs make as well, so
that a program which ignores its bandwidth changes nothing. No I/O.
"""

from typing import Final

from netclaim.cni import NetworkList, PluginConf
from netclaim.model.claims.claim import JsonObject
from netclaim.plugins.registry import PLUGIN_CLASSES

DEVICE_ID, BANDWIDTH = "deviceID", "bandwidth"
BURST_PARTS: Final = 100  # of a second's bits: 10 ms at the rate, as the driver's own limit has it


def asks_for_device(network: NetworkList) -> bool:
    """Whether a program of a network wants to know the link's PCI address."""
    return any(_is_asked(plugin, DEVICE_ID) for plugin in network.plugins)


def with_runtime(network: NetworkList, pci_address: str, bandwidth: int) -> NetworkList:
    """Return the network with what its programs ask for, as far as it is known.

    `bandwidth` is in bits per second; 0: nothing is reserved.
    """
    known: JsonObject = {}
    if pci_address:
        known[DEVICE_ID] = pci_address
    if bandwidth:
        burst = max(1, bandwidth // BURST_PARTS)
        ways = ("ingress", "egress")
        known[BANDWIDTH] = {f"{way}Rate": bandwidth for way in ways}
        known[BANDWIDTH] |= {f"{way}Burst": burst for way in ways}
    for index, plugin in enumerate(network.plugins):
        given = {name: known[name] for name in known if _is_asked(plugin, name)}
        if given:
            offered = plugin.config.get("runtimeConfig") or {}
            network = network.with_keys(index, {"runtimeConfig": {**offered, **given}})
    return network


def _is_asked(plugin: PluginConf, capability: str) -> bool:
    return plugin.type not in PLUGIN_CLASSES and capability in plugin.capabilities

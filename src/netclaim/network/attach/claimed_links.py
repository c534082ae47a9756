"""Which of the node's links claims have, by the driver's own records of them.

Promise: a link that a claim takes into its pod is among them from before it goes until the claim is
released; one that an interface stands on, from its ADD until its DEL. Limit: reads files, so it is
for a thread; the records are those of this driver.
"""

from collections.abc import Iterator
from typing import Final

from netclaim.cni import ResultCache, decode_network
from netclaim.errors import NetclaimError
from netclaim.network.links.remembered.lent import LentDevices
from netclaim.network.request.into_config.link_keys import linked_names

PCI_ADDRESS: Final = "pciAddress"


def claimed_links(lent: LentDevices, cache: ResultCache) -> frozenset[str]:
    """Name the links that claims have, and give the PCI addresses of those they have alone."""
    return frozenset((*_lent(lent), *_stood_on(cache)))


def _lent(lent: LentDevices) -> Iterator[str]:
    for device in lent.devices():
        yield str(device.attributes.get("name", device.name))
        if PCI_ADDRESS in device.attributes:
            yield str(device.attributes[PCI_ADDRESS])


def _stood_on(cache: ResultCache) -> Iterator[str]:
    for entry in cache.entries():
        try:
            network = decode_network(entry.config)
        except NetclaimError:
            continue  # damaged, which who undoes it says
        yield from linked_names(network)

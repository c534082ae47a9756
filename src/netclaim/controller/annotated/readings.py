"""The networks of NetworkAttachmentDefinitions, each version of one read once.

A Deployment has hundreds of pods with the same networks, and reading one takes milliseconds by its
length; the pods of a network that cannot be had ask for it again and again. Promise: the same
version gives the same network, or is refused with the same words. May be used by several threads.
What is kept is bounded by the length of the configurations. No I/O.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from netclaim.convert.multus.definition import SPELLINGS, NetworkKey, read_definition
from netclaim.convert.multus.plugins import cleaned
from netclaim.convert.objects import network_name
from netclaim.convert.written.network import Network
from netclaim.errors import RequestError
from netclaim.manifests.objects import Object, inside
from netclaim.model.api.own_kinds.pod_network import ALLOWABLE, PodNetwork
from netclaim.model.claims.claim import JsonObject
from netclaim.network.judge.pod_network import network_faults

# More than a claim's parameters may have, which is 10 KiB, with the layout that people give it.
TEXT_MAX: Final = 32 * 1024
PLUGINS_MAX: Final = 16  # of a network; those of other projects' examples have up to five
# Characters of the configurations that are remembered: a thousand networks of usual length.
ROOM: Final = 2 * 1024 * 1024
OVERHEAD: Final = 512  # characters that a network counts for beside its configuration


@dataclass(frozen=True, slots=True)
class ReadNetwork:
    """A network that pods can have."""

    network: Network
    pod_network: PodNetwork  # the same, as the controller reads it


@dataclass(frozen=True, slots=True)
class _Known:
    version: tuple[str, str]
    length: int
    found: ReadNetwork | None
    fault: RequestError | None


class Readings:
    """Remembers what was read of each network."""

    def __init__(
        self,
        room: int = ROOM,
        read: Callable[[NetworkKey, JsonObject, str], ReadNetwork] | None = None,
    ) -> None:
        self._room = room
        self._read = read or read_network
        self._known: OrderedDict[tuple[NetworkKey, str], _Known] = OrderedDict()
        self._length = 0
        self._lock = threading.Lock()

    def of(self, key: NetworkKey, definition: JsonObject | None, driver: str) -> ReadNetwork:
        """Return the network of a definition; RequestError if the drivers would refuse it."""
        if definition is None:
            raise RequestError("there is no NetworkAttachmentDefinition of this name")
        meta = definition["metadata"]
        version = (str(meta.get("uid", "")), str(meta.get("resourceVersion", "")))
        known = self._get((key, driver), version)
        if known is None:
            known = self._look(key, definition, driver, version)
            if version[1]:
                self._put((key, driver), known)
        if known.found is None:
            assert known.fault is not None
            raise RequestError(known.fault.message, path=known.fault.path)
        return known.found

    def _look(
        self, key: NetworkKey, definition: JsonObject, driver: str, version: tuple[str, str]
    ) -> _Known:
        length = min(length_of(definition), TEXT_MAX) + OVERHEAD
        try:
            return _Known(version, length, self._read(key, definition, driver), None)
        except RequestError as error:
            return _Known(version, length, None, error.with_traceback(None))

    def _get(self, key: tuple[NetworkKey, str], version: tuple[str, str]) -> _Known | None:
        with self._lock:
            known = self._known.get(key)
            if known is None or known.version != version:
                return None
            self._known.move_to_end(key)
            return known

    def _put(self, key: tuple[NetworkKey, str], known: _Known) -> None:
        with self._lock:
            if (old := self._known.pop(key, None)) is not None:
                self._length -= old.length
            self._known[key] = known
            self._length += known.length
            while self._length > self._room:
                _, oldest = self._known.popitem(last=False)
                self._length -= oldest.length


def read_network(key: NetworkKey, definition: JsonObject, driver: str) -> ReadNetwork:
    """Return the network of a definition; RequestError if the drivers would refuse it."""
    one = Object(definition, definition)
    if length_of(definition) > TEXT_MAX:
        raise RequestError(f"its configuration has more than {TEXT_MAX} characters")
    read = read_definition(one)
    if len(read.plugins) > PLUGINS_MAX:
        raise RequestError(f"its configuration has more than {PLUGINS_MAX} plugins")
    cleaned_up, _ = cleaned(read)
    offered = _allowable(cleaned_up.capabilities)
    network = Network(cleaned_up, network_name(key), allow=offered, namespaces=(key[0],))
    found = network.to_pod_network()
    for fault in network_faults(found, driver)[:1]:
        raise fault
    return ReadNetwork(network, found)


def length_of(definition: JsonObject) -> int:
    """How many characters a definition's configuration has."""
    spec = inside(definition, ("spec",))
    return max(len(str(spec.get(each, ""))) for each in SPELLINGS)


def _allowable(capabilities: frozenset[str]) -> tuple[str, ...]:
    """Return what a definition lets pods choose, as a PodNetwork says it."""
    return tuple(name for name in ALLOWABLE if name in capabilities | {"bandwidth"})

"""Remember the result of every ADD until its DEL, in files as libcni writes them.

Promise: a reader sees a whole entry or none; nobody but root can read one. Only saving can fail:
an entry that makes no sense is dropped with a log line and counts as absent, as does one that the
disk does not give, for DEL must work without.
Limit: not a journal. Entries are not synced to disk: that would cost each attachment two disk
flushes inside the runtime's hook, and what power loss takes from here (results, for which DEL has
no need) it has taken from the kernel too. What is owed a DEL, the driver's journal knows.

Use a directory of our own: another runtime's garbage collection would take our entries for its own.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import structlog

from netclaim.cni.call import AttachmentKey, CniArgs, Endpoint
from netclaim.cni.conflist import NetworkList
from netclaim.cni.errors import BadResultError
from netclaim.cni.result import Result, result_from
from netclaim.cni.version import LATEST
from netclaim.errors import HostError, RequestError

log = structlog.get_logger(__name__)


class CachedAttachment(
    msgspec.Struct,
    frozen=True,
    omit_defaults=True,
    rename={
        "container_id": "containerId",
        "ifname": "ifName",
        "network_name": "networkName",
        "args": "cniArgs",
        "capability_args": "capabilityArgs",
        "raw_result": "result",
    },
):
    """An entry of the cache, in the form that libcni calls cniCacheV1."""

    kind: Literal["cniCacheV1"]
    container_id: str
    config: bytes  # the network's JSON; base64 in the file
    ifname: str
    network_name: str
    netns: str = ""
    args: CniArgs = ()
    capability_args: dict[str, Any] = {}
    raw_result: dict[str, Any] = {}

    @property
    def endpoint(self) -> Endpoint:
        """Return where the network was attached."""
        return Endpoint(self.container_id, self.netns, self.ifname, self.args, self.capability_args)

    @property
    def result(self) -> Result:
        """Return the result of the ADD."""
        return result_from(self.raw_result, LATEST)


class ResultCache:
    """The cached results under `directory`/results, where libcni would look for them too."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "results"

    def save(self, network: NetworkList, endpoint: Endpoint, result: Result) -> None:
        """Keep the result of an ADD; again: replaces it."""
        entry = CachedAttachment(
            kind="cniCacheV1",
            container_id=endpoint.container_id,
            config=network.to_json(),
            ifname=endpoint.ifname,
            network_name=network.name,
            netns=endpoint.netns,
            args=endpoint.args,
            capability_args=dict(endpoint.capability_args),
            raw_result=result.to_dict(network.version),
        )
        path = self._path(network.name, endpoint.key)
        draft = path.with_name(f".{path.name}.draft")  # one name, so that a crash leaves one file
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.touch(mode=0o600)
            draft.write_bytes(msgspec.json.encode(entry))
            draft.replace(path)
        except OSError as error:
            raise HostError(f"cannot keep a CNI result: {error}") from error

    def load(self, network_name: str, key: AttachmentKey) -> CachedAttachment | None:
        """Return an attachment's entry; None where there is none, or none that can be read."""
        entry = self._read(self._path(network_name, key))
        if entry is None or (entry.network_name, entry.endpoint.key) != (network_name, key):
            return None  # a-b and c make the same file name as a and b-c
        return entry

    def drop(self, network_name: str, key: AttachmentKey) -> None:
        """Forget an attachment; again: does nothing."""
        _unlink(self._path(network_name, key))

    def entries(self) -> Iterator[CachedAttachment]:
        """Yield every attachment of every network, sorted by file name."""
        try:
            paths = sorted(self._directory.iterdir())
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("cni.cache_unreadable", path=str(self._directory), error=str(error))
            return
        for path in paths:
            if not path.name.startswith("."):
                entry = self._read(path)
                if entry is not None:
                    yield entry

    def _path(self, network_name: str, key: AttachmentKey) -> Path:
        return self._directory / f"{network_name}-{key.container_id}-{key.ifname}"

    def _read(self, path: Path) -> CachedAttachment | None:
        try:
            entry = msgspec.json.decode(path.read_bytes(), type=CachedAttachment)
            _ = entry.endpoint, entry.result  # both must be readable for the entry to be of use
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("cni.cache_unreadable", path=str(path), error=str(error))
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError, BadResultError, RequestError) as error:
            log.warning("cni.cache_dropped", path=str(path), error=str(error))
            _unlink(path)
            return None
        return entry


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("cni.cache_stuck", path=str(path), error=str(error))

"""Remember the result of every ADD until its DEL, in files as libcni writes them.

Promise: a reader sees a whole entry or none; nobody but root can read one. Only saving can fail:
an entry that makes no sense is dropped with a log line and counts as absent, as does one that the
disk does not give, for DEL must work without. What is no regular file is neither read nor written.
Limit: not a journal. Entries are not synced to disk: that would cost each attachment two disk
flushes inside the runtime's hook, and what power loss takes from here (results, for which DEL has
no need) it has taken from the kernel too. What is owed a DEL, the driver's journal knows.

Use a directory of our own: another runtime's garbage collection would take our entries for its own.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
import structlog

from netclaim.cni.call import AttachmentKey, CniArgs, Endpoint
from netclaim.cni.conflist import NetworkList
from netclaim.cni.errors import BadResultError
from netclaim.cni.plain_files import (
    made_directory,
    opened_directory,
    read_plain,
    remove_plain,
    replace_plain,
)
from netclaim.cni.result import Result, result_from
from netclaim.cni.version import LATEST
from netclaim.errors import HostError, RequestError

ENTRY_MAX = 1 << 20  # bytes; four times what a plugin may print, and a network's JSON beside it
ENTRIES_MAX = 1 << 16  # a node has 110 pods by default, with a few interfaces each

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
        return Endpoint(self.container_id, self.netns, self.ifname, self.args, self.capability_args)

    @property
    def result(self) -> Result:
        return result_from(self.raw_result, LATEST)


def read_entry(content: bytes) -> CachedAttachment:
    """Read an entry as it is in its file; BadResultError where it is of no use."""
    try:
        entry = msgspec.json.decode(content, type=CachedAttachment)
        _ = entry.endpoint, entry.result  # both must be readable
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, RequestError) as error:
        raise BadResultError(f"not a cache entry: {error}") from error
    return entry


class ResultCache:
    """The cached results under `directory`/results, where libcni would look for them too."""

    def __init__(self, directory: Path) -> None:
        self._directory = str(directory / "results")

    def save(self, network: NetworkList, endpoint: Endpoint, result: Result) -> None:
        """Keep the result of an ADD, in place of an earlier one."""
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
        try:
            with made_directory(self._directory, 0o700) as directory:
                name = _name(network.name, endpoint.key)
                replace_plain(name, msgspec.json.encode(entry), dir_fd=directory)
        except OSError as error:
            raise HostError(f"cannot save a CNI result: {error}") from error

    def load(self, network_name: str, key: AttachmentKey) -> CachedAttachment | None:
        """Return an attachment's entry; None where there is none, or none that can be read."""
        entry = self._read(_name(network_name, key))
        if entry is None or (entry.network_name, entry.endpoint.key) != (network_name, key):
            return None  # a-b and c make the same file name as a and b-c
        return entry

    def drop(self, network_name: str, key: AttachmentKey) -> None:
        """Forget an attachment, if it is known."""
        self._remove(_name(network_name, key))

    def entries(self) -> Iterator[CachedAttachment]:
        """Yield every attachment of every network, sorted by file name."""
        try:
            with opened_directory(self._directory) as directory, os.scandir(directory) as found:
                names = [entry.name for entry in islice(found, ENTRIES_MAX)]
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("cni.cache_unreadable", path=self._directory, error=str(error))
            return
        for name in sorted(names):
            if not name.startswith("."):
                entry = self._read(name)
                if entry is not None:
                    yield entry

    def written(self, network_name: str, key: AttachmentKey) -> float | None:
        """When an attachment's entry was written, in seconds since 1970; None without one."""
        try:
            with opened_directory(self._directory) as directory:
                return os.stat(
                    _name(network_name, key), dir_fd=directory, follow_symlinks=False
                ).st_mtime
        except OSError:
            return None

    def _read(self, name: str) -> CachedAttachment | None:
        try:
            with opened_directory(self._directory) as directory:
                content = read_plain(name, dir_fd=directory, size_max=ENTRY_MAX)
            return read_entry(content)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("cni.cache_unreadable", path=f"{self._directory}/{name}", error=str(error))
            return None
        except BadResultError as error:
            log.warning("cni.cache_dropped", path=f"{self._directory}/{name}", error=str(error))
            self._remove(name)
            return None

    def _remove(self, name: str) -> None:
        try:
            with opened_directory(self._directory) as directory:
                remove_plain(name, dir_fd=directory)
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("cni.cache_stuck", path=f"{self._directory}/{name}", error=str(error))


def _name(network_name: str, key: AttachmentKey) -> str:
    return f"{network_name}-{key.container_id}-{key.ifname}"

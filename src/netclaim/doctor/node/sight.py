"""What the checks of a node look at: its files, sockets and processes, by the driver's settings.

Promise: nothing is changed. The runtime's NRI socket is looked up in the kernel's list instead of
being connected to: the runtime takes one plugin after another, and waits five seconds for each that
does not introduce itself. Limit: the settings are those given to this command; the running driver
may have others.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp

from netclaim.cri import CriClient, RuntimeCallError
from netclaim.doctor.cluster.sight import ClusterSight
from netclaim.errors import HostError
from netclaim.framework.process.node_places import NodePlaces
from netclaim.framework.settings.fields import Settings
from netclaim.kubelet.sockets import is_answered

# Why a check is skipped.
NO_CNI: Final = "--runtime-hook=nri does not use it"
NO_NRI: Final = "--runtime-hook=cni does not use NRI"

HTTP_TIMEOUT: Final = aiohttp.ClientTimeout(total=5)  # the driver answers from memory
ANY_ADDRESS: Final = ("", "0.0.0.0", "[::]")  # noqa: S104 - recognised, not listened on
ACCEPTS: Final = 0x10000  # linux/net.h: __SO_ACCEPTCON, in /proc/net/unix
CONTAINERD_CONFIG: Final = Path("/etc/containerd/config.toml")
CRIO_CONFIG: Final = Path("/etc/crio/crio.conf")
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|us|ns|h|m|s)")
UNIT_S: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


class Answer(NamedTuple):
    status: int
    text: str


@dataclass(frozen=True, slots=True)
class RuntimeConfig:
    """What the runtime's configuration files say."""

    path: Path
    runtime: str
    settings: Mapping[str, Any]

    @property
    def nri(self) -> Mapping[str, Any]:
        """The settings of NRI."""
        if self.runtime == "cri-o":
            found: Mapping[str, Any] = self.settings.get("crio", {}).get("nri", {})
        else:
            found = self.settings.get("plugins", {}).get("io.containerd.nri.v1.nri", {})
        return found

    @property
    def nri_is_off(self) -> bool:
        """Whether it switches NRI off."""
        if self.runtime == "cri-o":
            return self.nri.get("enable_nri") is False
        return self.nri.get("disable") is True

    @property
    def nri_timeout(self) -> str:
        """How long the runtime waits for a plugin, as it is written; empty for the default."""
        crio = self.runtime == "cri-o"
        key = "nri_plugin_request_timeout" if crio else "plugin_request_timeout"
        return str(self.nri.get(key) or "")


@dataclass(frozen=True, slots=True)
class NodeSight:
    """One node, as the checks see it."""

    settings: Settings
    driver: str
    lease_dir: Path
    cni_path: tuple[Path, ...]
    cluster: ClusterSight | None = None  # if that is looked at, too
    in_pod: bool = False  # what symbolic links of the node lead to is not to be seen
    containerd_config: Path = CONTAINERD_CONFIG
    crio_config: Path = CRIO_CONFIG
    proc: Path = Path("/proc")

    @property
    def places(self) -> NodePlaces:
        """Where the driver keeps its files and sockets."""
        return NodePlaces.of(self.settings, self.driver)

    @property
    def journal(self) -> Path:
        return self.places.journal

    @property
    def uses_nri(self) -> bool:
        """Whether the runtime calls the driver by NRI."""
        return self.settings.runtime_hook in ("nri", "both")

    @property
    def uses_cni(self) -> bool:
        """Whether the runtime calls the driver by its own network configuration."""
        return self.settings.runtime_hook in ("cni", "both")

    @property
    def cri(self) -> CriClient:
        """The runtime's own interface."""
        return CriClient(self.settings.runtime_sockets)

    async def get(self, address: str, path: str) -> Answer | None:
        """Ask a server of this node; None if nothing answers at the address."""
        host, _, port = address.rpartition(":")
        url = f"http://{'127.0.0.1' if host in ANY_ADDRESS else host}:{port}{path}"
        try:
            async with (
                aiohttp.ClientSession(timeout=HTTP_TIMEOUT) as session,
                session.get(url) as response,
            ):
                return Answer(response.status, (await response.text()).strip())
        except (aiohttp.ClientConnectionError, TimeoutError):
            return None

    def answers(self, path: Path) -> bool:
        """Whether a process accepts connections at a socket, by making one and leaving."""
        try:
            return is_answered(path)
        except OSError:
            return False

    def listens(self, path: Path) -> bool:
        """Whether a process listens on a socket, by the kernel's list of this network namespace.

        Nothing is connected to. The list has the path that the server used, which may lead through
        a symbolic link; a socket that was renamed is not found.
        """
        wanted = {str(path), str(path.resolve())}
        for line in (self.proc / "net/unix").read_text().splitlines()[1:]:
            # slot: references, protocol, flags, type, state, inode, path
            fields = line.split(maxsplit=7)
            if len(fields) == 8 and int(fields[3], 16) & ACCEPTS:
                bound = Path(fields[7])
                if str(bound) in wanted or str(bound.resolve()) in wanted:
                    return True
        return False

    def runtime_config(self) -> RuntimeConfig | None:
        """Read the runtime's configuration file; None if there is none here."""
        for path, runtime in ((self.containerd_config, "containerd"), (self.crio_config, "cri-o")):
            if path.is_file():
                return RuntimeConfig(path, runtime, _read_toml(path))
        return None

    async def cri_config(self) -> Mapping[str, Any]:
        """Return the configuration that the runtime reports; empty if it reports none."""
        try:
            status = await self.cri.runtime_status()
        except RuntimeCallError:
            return {}
        try:
            found = json.loads(status.info.get("config", "{}"))
        except ValueError:  # CRI-O's is TOML
            return {}
        return found if isinstance(found, dict) else {}


def seconds_of(text: str) -> float | None:
    """Read a duration as Go writes it, such as `2s` or `1m30s`; None if it is not one."""
    parts = DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * UNIT_S[unit] for number, unit in parts)


def _read_toml(path: Path) -> Mapping[str, Any]:
    """Read a file and what it imports; later files win, as containerd has it."""
    try:
        settings = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HostError(f"{path} cannot be read: {error}") from error
    for pattern in settings.get("imports") or ():
        base = Path(pattern) if Path(pattern).is_absolute() else path.parent / pattern
        for further in sorted(base.parent.glob(base.name)):
            if further != path:
                settings = _merged(settings, _read_toml(further))
    return settings


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(one)
    for key, value in other.items():
        before = merged.get(key)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[key] = _merged(before or {}, value) if both else value
    return merged

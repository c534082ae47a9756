"""One call of a CNI plugin: which plugin, for what, with which configuration.

Promise: a `CniCall` holds everything that a plugin gets to know, as values. Our own code takes
them as they are; `environment` and `standard_input` write them for a program. An `Endpoint` that
exists is valid.
Limit: values only; nothing is run here.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from netclaim.cni.conflist import PLAIN_NAME, NetworkList, PluginConf
from netclaim.cni.frozen_json import FrozenObject
from netclaim.cni.result import Result
from netclaim.cni.version import NO_VERSION
from netclaim.errors import RequestError
from netclaim.paths import Path

IFNAME_MAX = 15  # bytes; the kernel's IFNAMSIZ is 16 with the NUL

CniArgs = tuple[tuple[str, str], ...]


class Command(enum.StrEnum):
    """What a plugin is asked to do."""

    ADD = "ADD"
    DEL = "DEL"
    CHECK = "CHECK"
    GC = "GC"
    STATUS = "STATUS"
    VERSION = "VERSION"


class AttachmentKey(NamedTuple):
    """What identifies an attachment among those of one network."""

    container_id: str
    ifname: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One interface of one container: where a network is attached.

    `capability_args` are what the runtime can offer by capability ("mac", "ips", "bandwidth", …);
    a plugin gets those that its configuration switches on.
    """

    container_id: str
    netns: str  # path; empty on DEL when it is gone
    ifname: str
    args: CniArgs = ()
    capability_args: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_container_id(self.container_id)
        check_ifname(self.ifname)
        if not self.netns.isprintable():  # no environment could hold some of what that excludes
            raise RequestError(f"{self.netns!r} is not the path of a namespace", path=("netns",))
        for key, value in self.args:
            both = key + value
            if not key or not both.isprintable() or ";" in both or "=" in both:
                raise RequestError(
                    f"{key!r} with {value!r} cannot be sent: a key is needed, and neither side "
                    f"may hold ';', '=' or control characters",
                    path=("args",),
                )

    @property
    def key(self) -> AttachmentKey:
        return AttachmentKey(self.container_id, self.ifname)


@dataclass(frozen=True, slots=True)
class CniCall:
    """Everything that a plugin gets to know."""

    command: Command
    plugin: str  # the type, which is the name of its executable
    path: tuple[str, ...]  # directories that hold plugins
    config: Mapping[str, Any]
    endpoint: Endpoint | None = None  # GC and STATUS are about none
    previous: Result | None = None  # of the plugin before; on CHECK and DEL, of the whole ADD

    @property
    def version(self) -> str:
        """The CNI version that the configuration asks for."""
        version: str = self.config.get("cniVersion") or NO_VERSION
        return version

    def environment(self) -> dict[str, str]:
        """Return the variables that the specification names."""
        variables = {"CNI_COMMAND": str(self.command), "CNI_PATH": ":".join(self.path)}
        if self.endpoint is not None:
            variables |= {
                "CNI_CONTAINERID": self.endpoint.container_id,
                "CNI_NETNS": self.endpoint.netns,
                "CNI_IFNAME": self.endpoint.ifname,
                "CNI_ARGS": ";".join(f"{key}={value}" for key, value in self.endpoint.args),
            }
        return variables

    def standard_input(self) -> bytes:
        """Return the configuration as JSON, with the result so far in it."""
        config = self.config
        if self.previous is not None:
            config = {**config, "prevResult": self.previous.to_dict(self.version)}
        return msgspec.json.encode(config)


def check_container_id(container_id: str, *, path: Path = ("containerID",)) -> None:
    """Raise RequestError unless the specification allows this container id."""
    if not PLAIN_NAME.fullmatch(container_id):
        raise RequestError(
            f"{container_id!r} must start with a letter or digit and hold only those, "
            f"'_', '.' and '-'",
            path=path,
        )


def check_ifname(ifname: str, *, path: Path = ("ifName",)) -> None:
    """Raise RequestError unless the kernel takes this name for a link, as it is written."""
    if not 1 <= len(ifname.encode(errors="surrogatepass")) <= IFNAME_MAX:
        raise RequestError(f"{ifname!r} must have 1 to {IFNAME_MAX} bytes", path=path)
    if ifname in {".", ".."}:
        raise RequestError(f"{ifname!r} cannot be the name of an interface", path=path)
    # '%' starts a pattern by which the kernel numbers links: the name would become another.
    if any(char in "/:%" or char.isspace() or not char.isprintable() for char in ifname):
        raise RequestError(
            f"{ifname!r} must not hold '/', ':', '%', spaces or control characters", path=path
        )


def pod_args(*, namespace: str, name: str, uid: str, sandbox_id: str) -> CniArgs:
    """Return CNI_ARGS as container runtimes send them for a pod.

    IgnoreUnknown comes first: plugins that read arguments refuse those they do not know without it.
    """
    return (
        ("IgnoreUnknown", "1"),
        ("K8S_POD_NAMESPACE", namespace),
        ("K8S_POD_NAME", name),
        ("K8S_POD_INFRA_CONTAINER_ID", sandbox_id),
        ("K8S_POD_UID", uid),
    )


def execution_config(
    network: NetworkList,
    plugin: PluginConf,
    *,
    added: Mapping[str, Any] | None = None,
    capability_args: Mapping[str, Any] | None = None,
) -> FrozenObject:
    """Return what a plugin reads: its own configuration and what the runtime adds to it.

    `capabilities` stays in, against the letter of the specification: libcni leaves it, and plugins
    that call others have come to read it.
    """
    config = {**plugin.config, "name": network.name, "cniVersion": network.version}
    config |= added or {}
    offered = capability_args or {}
    wanted = {name: offered[name] for name in sorted(plugin.capabilities) if name in offered}
    if wanted:
        config["runtimeConfig"] = wanted
    return FrozenObject(config)

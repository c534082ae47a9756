"""A pod's sandbox as the runtime describes it."""

from collections.abc import Mapping

import msgspec

__all__ = ["PodSandbox"]


class PodSandbox(msgspec.Struct, frozen=True, omit_defaults=True):
    """One sandbox of a pod. A pod whose sandbox is made again keeps its `uid` and gets a new `id`.

    `netns` is the path of its network namespace: None for a pod on the host's network, and for a
    sandbox whose namespace is gone.
    """

    id: str
    uid: str
    namespace: str
    name: str
    netns: str | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    ips: tuple[str, ...] = ()
    pid: int = 0
    runtime_handler: str = ""

"""A pod's sandbox as the runtime describes it."""

import re
from collections.abc import Mapping
from typing import Final

import msgspec

# How kubelet marks pods of its own disk, which cannot use claims, and those of the API server.
SOURCE: Final = "kubernetes.io/config.source"
API: Final = "api"
ENDED: Final = ("Succeeded", "Failed")  # phases of pods that need no devices any more
STATIC_UID: Final = re.compile(r"[0-9a-f]{32}")


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

    @property
    def may_claim(self) -> bool:
        """Whether the pod is one of the API server's; those of kubelet's own disk have no claims.

        Kubelet says so by an annotation. Without annotations the UID shows it: kubelet makes up
        one of its own for a pod of its disk, a hash without dashes.
        """
        return self.annotations.get(SOURCE, API) == API and not STATIC_UID.fullmatch(self.uid)

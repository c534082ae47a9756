"""Whether a sandbox's network namespace is alive, as the kernel answers it to all stages.

Limit: the answer of one moment.
"""

from collections.abc import Callable
from typing import TypeAlias

from netclaim.kernel import is_live
from netclaim.model.pod import PodSandbox

__all__ = ["HasNetns", "has_netns"]

HasNetns: TypeAlias = Callable[[PodSandbox], bool]  # what a stage takes; tests have their own


def has_netns(pod: PodSandbox) -> bool:
    """Whether a sandbox has a network namespace of its own, and it is there now."""
    return pod.netns is not None and is_live(pod.netns)

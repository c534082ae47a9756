"""Whether a sandbox's network namespace is alive: the one answer that all stages go by.

Promise: asks the kernel, since the file at a namespace's path outlives it. One that cannot be
looked at counts as alive: what it has may not be taken for gone. Limit: the answer of one moment.
"""

from collections.abc import Callable
from typing import TypeAlias

import structlog

from netclaim.kernel.netns import NamespaceRefusedError, is_live
from netclaim.model.pod import PodSandbox

__all__ = ["HasNetns", "has_netns"]

log = structlog.get_logger()

HasNetns: TypeAlias = Callable[[PodSandbox], bool]  # what a stage takes; tests have their own


def has_netns(pod: PodSandbox) -> bool:
    """Whether a sandbox has a network namespace of its own, and it is there now."""
    if pod.netns is None:
        return False
    try:
        return is_live(pod.netns)
    except NamespaceRefusedError as error:
        log.warning("netns.refused", error=str(error))
        return True

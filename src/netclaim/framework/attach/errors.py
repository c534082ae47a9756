"""What can go wrong with a sandbox, and what its claims say of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from netclaim.errors import PeerError, Reason, RequestError, worst_reason
from netclaim.framework.telemetry.logs import brief
from netclaim.model.claims.claim import DeviceKey
from netclaim.model.on_node.attachment import AttachmentKey
from netclaim.model.on_node.plan import Plan
from netclaim.model.on_node.pod import PodSandbox


class AttachError(PeerError):
    """Devices of a pod could not be attached; each one's own error is in `errors`."""

    def __init__(self, errors: Mapping[AttachmentKey, Exception], text: str) -> None:
        super().__init__(text)
        self.errors = errors
        self.why = worst_reason(errors.values())


class AttachTimeoutError(PeerError):
    """A pod's devices were not attached in time; kubelet tries again."""

    why: Reason = "timeout"


class DetachError(PeerError):
    """Attachments could not be undone; they are kept, to be undone later."""


class NoNamespaceError(RequestError):
    """A sandbox without a network namespace of its own has claims on interfaces."""

    def __init__(self) -> None:
        super().__init__(
            "the pod is on the node's own network and cannot have interfaces of its own; "
            "remove hostNetwork or the claim"
        )


class SandboxLostError(PeerError):
    """A sandbox has no network namespace any more; kubelet makes a new one."""

    def __init__(self) -> None:
        super().__init__(
            "the sandbox has lost its network namespace, which can happen when the container "
            "runtime restarts; it is being replaced"
        )


class NotAttachedError(RequestError):
    """A container is held for a sandbox in which nothing was begun."""

    def __init__(self) -> None:
        super().__init__(
            "the pod's interfaces are not attached yet; kubelet starts the container again"
        )


class OtherPodError(RequestError):
    """A container is held that says it is in a sandbox which is another pod's."""

    def __init__(self) -> None:
        super().__init__("the container names the sandbox of another pod; remove its annotations")


def failure_texts(
    plans: Iterable[Plan], pod: PodSandbox, error: BaseException
) -> Mapping[str, Mapping[DeviceKey, str]]:
    """Why each device is not there, by claim: its own error, or that it shares another's."""
    own = error.errors if isinstance(error, AttachError) else {}
    shared = str(error) or "interrupted before it finished"
    if own:
        shared = f"rolled back: {shared}"
    failures: defaultdict[str, dict[DeviceKey, str]] = defaultdict(dict)
    for plan in plans:
        key = (plan.claim.uid, pod.id, plan.device.key)
        failures[plan.claim.uid][plan.device.key] = brief(str(own.get(key, shared)))
    return failures


def refused_claims(plans: Iterable[Plan], pod: PodSandbox, error: BaseException) -> frozenset[str]:
    """The claims that failed because of what they, or their pod, say: only a change helps those."""
    own = error.errors if isinstance(error, AttachError) else {}
    keys = ((plan.claim.uid, pod.id, plan.device.key) for plan in plans)
    return frozenset(key[0] for key in keys if isinstance(own.get(key, error), RequestError))

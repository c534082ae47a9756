"""Whom something is done for: the fields by which log lines and spans name it.

    claim, claim_uid, trace_id     the claim as NAMESPACE/NAME, its UID, and the id of its trace
    pod, pod_uid, sandbox          the pod as NAMESPACE/NAME, its UID, and the runtime's sandbox
    claims, trace_ids              those of a pod, where a line is about all of them
    pods                           those of a claim, likewise

Promise: whatever is logged inside of `concerning` or `doing`, in whichever layer, carries these,
also by tasks and hooks that are started there. Values only; who logs is not known here.
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from structlog.contextvars import bound_contextvars

from netclaim.framework.traces import span, trace_id_of
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = ["claim_fields", "claims_fields", "concerning", "doing", "pod_fields"]


def claim_fields(claim: ClaimRef) -> dict[str, str]:
    """Name a claim."""
    return {
        "claim": f"{claim.namespace}/{claim.name}",
        "claim_uid": claim.uid,
        "trace_id": trace_id_of(claim.uid),
    }


def claims_fields(claims: Iterable[ClaimRef]) -> dict[str, list[str]]:
    """Name the claims of a pod."""
    fields = [claim_fields(claim) for claim in claims]
    return {
        "claims": [each["claim"] for each in fields],
        "trace_ids": [each["trace_id"] for each in fields],
    }


def pod_fields(pod: PodSandbox) -> dict[str, str]:
    """Name a pod, and its sandbox."""
    return {"pod": f"{pod.namespace}/{pod.name}", "pod_uid": pod.uid, "sandbox": pod.id}


def concerning(
    claim: ClaimRef | None = None, pod: PodSandbox | None = None
) -> AbstractContextManager[None]:
    """Have what is logged inside of the block name them."""
    return bound_contextvars(
        **(claim_fields(claim) if claim else {}), **(pod_fields(pod) if pod else {})
    )


@contextmanager
def doing(verb: str, claim: ClaimRef, pod: PodSandbox | None = None) -> Iterator[None]:
    """Do the block's work for a claim: log lines name it, and it is a span of the claim's trace."""
    fields = claim_fields(claim) | (pod_fields(pod) if pod else {})
    trace_id = fields["trace_id"]
    attributes = {f"netclaim.{name}": value for name, value in fields.items() if name != "trace_id"}
    with bound_contextvars(**fields), span(verb, trace_id, **attributes):
        yield

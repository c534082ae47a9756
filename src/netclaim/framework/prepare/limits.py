"""What a claim may take of a node: not more than its share.

Quotas are the API server's business and count in a whole cluster; these limits protect one node and
its tenants from those who may make claims. No I/O.
"""

from dataclasses import dataclass

from netclaim.errors import Reason, RequestError
from netclaim.framework.journal.records import Booking
from netclaim.framework.journal.table import Table
from netclaim.model.api.limits import RESULTS_MAX
from netclaim.model.claims.claim import Claim
from netclaim.model.on_node.pod import PodSandbox


class PodFullError(RequestError):
    """A pod would have more devices than are allowed."""

    why: Reason = "limit"


class NamespaceFullError(RequestError):
    """A namespace has as many claims on the node as are allowed."""

    why: Reason = "limit"


@dataclass(frozen=True, slots=True)
class Limits:
    # Devices of one pod: as many as the API lets one claim have. They are attached side by side in
    # the second for which a hook waits, where a chain of executed plugins takes 25 ms of a core.
    pod_devices: int = RESULTS_MAX
    # Claims of one namespace on the node, also those that are not prepared yet: the 110 pods of a
    # full node with four each, and some that are being released. Each is a row of a few kilobytes
    # in memory and on the disk, and every pod that starts is looked for among them.
    namespace_claims: int = 512

    def check_claim(self, claim: Claim, booked: Table[str, Booking]) -> None:
        """Raise if a claim that is not booked yet would exceed a limit."""
        others = booked.size("namespace", claim.namespace)
        if others >= self.namespace_claims:
            raise NamespaceFullError(
                f"namespace {claim.namespace} already has {others} claims on this node; "
                f"at most {self.namespace_claims} are allowed"
            )
        for pod in claim.reserved_for:
            mine = booked.group("pod", pod.uid) if pod.is_pod else ()
            held = sum(len(b.devices) for b in mine if b.claim.namespace == claim.namespace)
            self._check_devices(pod.name, held + len(claim.devices))

    def check_pod(self, pod: PodSandbox, devices: int) -> None:
        """Raise if a pod has too many devices; shared claims may have been prepared before it."""
        self._check_devices(pod.name, devices)

    def _check_devices(self, pod: str, devices: int) -> None:
        if devices > self.pod_devices:
            raise PodFullError(
                f"pod {pod} would have {devices} devices of this driver; "
                f"at most {self.pod_devices} are allowed"
            )

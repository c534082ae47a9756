"""What a pod, a claim or a namespace says about networks by annotation. Values only.

The chart's admission policies have the same names; a test compares them.
"""

from typing import Final

from netclaim.schema.annotated import ANNOTATION as MULTUS_ANNOTATION
from netclaim.schema.annotated import NAMESPACE_LABEL, NAMESPACE_VALUE, TEMPLATE

# At a pod: what Multus' annotation said when the pod was created. Multus does not see it there.
ANNOTATION: Final = "cni.networking.x-k8s.io/networks"
STATUS_ANNOTATION: Final = "k8s.v1.cni.cncf.io/network-status"  # where Multus reports
# At such a pod, and at its claim, so that nobody has to look at all the others.
LABEL: Final = "cni.networking.x-k8s.io/from-annotation"
POD_CLAIM: Final = "annotated-networks"  # in the pod's resourceClaims
# At a claim: which of its pod's claims it is. Kubernetes' own controller writes it, and reads it.
POD_CLAIM_ANNOTATION: Final = "resource.kubernetes.io/pod-claim-name"
# At a claim: the networks of its requests, as namespace/name in their order.
CLAIM_NETWORKS: Final = "cni.networking.x-k8s.io/networks"
# At a PodNetwork: the NetworkAttachmentDefinition that it was made from, as namespace/name.
MADE_FROM: Final = "cni.networking.x-k8s.io/made-from"

__all__ = [
    "ANNOTATION",
    "CLAIM_NETWORKS",
    "LABEL",
    "MADE_FROM",
    "MULTUS_ANNOTATION",
    "NAMESPACE_LABEL",
    "NAMESPACE_VALUE",
    "POD_CLAIM",
    "POD_CLAIM_ANNOTATION",
    "STATUS_ANNOTATION",
    "TEMPLATE",
]

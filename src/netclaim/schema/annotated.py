"""Which pods' annotations become claims: those with Multus' annotation in a labelled namespace.

Names only. The chart's admission policies have the same.
"""

from typing import Final

ANNOTATION: Final = "k8s.v1.cni.cncf.io/networks"  # Multus'
NAMESPACE_LABEL: Final = "cni.networking.x-k8s.io/annotated-pods"
NAMESPACE_VALUE: Final = "claims"
# What the claim of such a pod is made from, by its name: no template, but the controller.
TEMPLATE: Final = "made-by-netclaim-controller"
NOT_CLAIMED: Final = (
    "the controller has not made the claim for the networks in its annotation yet; if it runs, the"
    " event NetworksNotClaimed says why"
)

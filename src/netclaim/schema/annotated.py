"""Which pods' annotations become claims: those with Multus' annotation in a labelled namespace.

Names only. The chart's admission policies have the same.
"""

from typing import Final

ANNOTATION: Final = "k8s.v1.cni.cncf.io/networks"  # Multus'
NAMESPACE_LABEL: Final = "cni.networking.x-k8s.io/annotated-pods"
NAMESPACE_VALUE: Final = "claims"

"""Find out which version of resource.k8s.io a cluster serves, and its kinds in that version.

v1 is on from Kubernetes 1.34; the betas, from 1.32 and 1.33, only where somebody enabled them.
"""

from typing import Final, Protocol

from netclaim.kube.errors import NotFoundError, NotServedError
from netclaim.kube.resource import Resource
from netclaim.manifests.kinds import GROUP
from netclaim.manifests.versions.conversion import Version
from netclaim.model.claims.claim import JsonObject

USABLE: Final[tuple[Version, ...]] = ("v1", "v1beta2", "v1beta1")  # best first
PLURALS: Final = {
    "DeviceClass": ("deviceclasses", False),
    "DeviceTaintRule": ("devicetaintrules", False),
    "ResourceClaim": ("resourceclaims", True),
    "ResourceClaimTemplate": ("resourceclaimtemplates", True),
    "ResourceSlice": ("resourceslices", False),
}
HOW_TO_SERVE: Final = (
    "Kubernetes 1.34 and newer serve v1 unless it is disabled; on 1.32 and 1.33 start"
    " kube-apiserver with --feature-gates=DynamicResourceAllocation=true"
    " --runtime-config=resource.k8s.io/v1beta1=true, and give scheduler, controller manager and"
    " kubelet the same gate"
)


class Discovery(Protocol):
    """What negotiation needs of a client."""

    async def get_path(self, path: str) -> JsonObject:
        """Return the JSON object served at a path."""


async def negotiate(client: Discovery) -> Version:
    """Return the best version that the cluster serves and we know; NotServedError if none."""
    try:
        group = await client.get_path(f"/apis/{GROUP}")
    except NotFoundError as error:
        raise NotServedError(f"the cluster does not serve {GROUP}: {HOW_TO_SERVE}") from error
    served = [entry["version"] for entry in group.get("versions") or ()]
    for version in USABLE:
        if version in served:
            return version
    raise NotServedError(
        f"of {GROUP} the cluster serves only {', '.join(served) or 'nothing'}: {HOW_TO_SERVE}"
    )


def dra_resource(kind: str, version: Version) -> Resource:
    """Return where a kind of resource.k8s.io is served."""
    plural, namespaced = PLURALS[kind]
    return Resource(GROUP, version, plural, kind, namespaced)

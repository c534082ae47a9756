"""Names for what the API serves: a kind's address, and a selection of its objects.

Values only. Objects themselves are plain dicts in the shape of their JSON: the API has hundreds of
fields, of which we read a dozen and must return the rest unharmed.
"""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from netclaim.errors import RequestError
from netclaim.model.claims.claim import JsonObject

# What no object is called, whatever its kind: in a path it would lead elsewhere, and quoting does
# not help, since the API server takes a path apart after it was unquoted.
PATH_STEPS: Final = frozenset({".", ".."})
PATH_SIGNS: Final = frozenset("/%")


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind as the API serves it, for example `resource.k8s.io/v1 resourceslices`."""

    group: str  # empty for the core group
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """The `apiVersion` of this kind's objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, *, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, of one object, or of its subresource.

        A namespaced kind without a namespace means the collection across all namespaces.
        RequestError if no object can have the name: some names are what a tenant wrote.
        """
        for each in (namespace, name):
            if each in PATH_STEPS or not PATH_SIGNS.isdisjoint(each):
                raise RequestError(f"{each!r} cannot be the name of an object; write another")
        parts = ["apis", self.group] if self.group else ["api"]
        parts.append(self.version)
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/" + "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind to list or watch; an empty selector selects all."""

    resource: Resource
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def path(self) -> str:
        """The URL path of the collection that this selects from."""
        return self.resource.path(namespace=self.namespace)

    @property
    def query(self) -> dict[str, str]:
        """The selectors as URL parameters."""
        asked = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {key: value for key, value in asked.items() if value}


@dataclass(frozen=True, slots=True)
class Listing:
    """The result of a list, and the version from which a watch continues."""

    items: tuple[JsonObject, ...]
    resource_version: str


NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod", namespaced=True)
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", namespaced=True)
SERVICES = Resource("", "v1", "services", "Service", namespaced=True)
ENDPOINT_SLICES = Resource(
    "discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", namespaced=True
)
TOKEN_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event", namespaced=True)

"""The Kubernetes API edge: find the cluster, speak its verbs, follow its changes.

`load_cluster` finds where to connect, `connect` lends a `Client`, `Reflector` follows a selection,
`DraApi` is what a driver does with it. The same object in another version is `manifests`' matter.
"""

from netclaim.kube.client import Client, connect
from netclaim.kube.cluster import Cluster, Trust
from netclaim.kube.config import in_cluster, load_cluster
from netclaim.kube.credentials import Credentials, Identity, StoredSecrets
from netclaim.kube.dra import DraApi, Event
from netclaim.kube.errors import (
    AlreadyExistsError,
    ApiError,
    Cause,
    ConflictError,
    ForbiddenError,
    GoneError,
    InvalidError,
    KubeConfigError,
    MalformedReplyError,
    NotFoundError,
    NotServedError,
    ServerFaultError,
    TooManyRequestsError,
    UnauthorizedError,
    UnreachableError,
)
from netclaim.kube.observe import Answered
from netclaim.kube.resource import EVENTS, NAMESPACES, NODES, PODS, Listing, Resource, Selection
from netclaim.kube.versions import dra_resource, negotiate
from netclaim.kube.watch import Added, Change, Deleted, Modified, Pace, Reflector, Synced

__all__ = [
    "EVENTS",
    "NAMESPACES",
    "NODES",
    "PODS",
    "Added",
    "AlreadyExistsError",
    "Answered",
    "ApiError",
    "Cause",
    "Change",
    "Client",
    "Cluster",
    "ConflictError",
    "Credentials",
    "Deleted",
    "DraApi",
    "Event",
    "ForbiddenError",
    "GoneError",
    "Identity",
    "InvalidError",
    "KubeConfigError",
    "Listing",
    "MalformedReplyError",
    "Modified",
    "NotFoundError",
    "NotServedError",
    "Pace",
    "Reflector",
    "Resource",
    "Selection",
    "ServerFaultError",
    "StoredSecrets",
    "Synced",
    "TooManyRequestsError",
    "Trust",
    "UnauthorizedError",
    "UnreachableError",
    "connect",
    "dra_resource",
    "in_cluster",
    "load_cluster",
    "negotiate",
]

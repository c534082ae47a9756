"""The Kubernetes API edge: find the cluster, speak its verbs, follow its changes.

`load_cluster` finds where to connect, `connect` lends a `Client`, `Reflector` follows a selection,
`DraApi` is what a driver does with it. `convert` and `migrate` are pure: the same object in another
version of resource.k8s.io.
"""

from netclaim.kube.client import Client, connect
from netclaim.kube.cluster import Cluster, Trust
from netclaim.kube.config import in_cluster, load_cluster
from netclaim.kube.conversion import GROUP, KINDS, VERSIONS, Version, convert, from_v1, to_v1
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
from netclaim.kube.fields import ShapeError
from netclaim.kube.migration import migrate
from netclaim.kube.remark import Migrated, Remark
from netclaim.kube.resource import EVENTS, NODES, PODS, Listing, Resource, Selection
from netclaim.kube.versions import dra_resource, negotiate
from netclaim.kube.watch import Added, Change, Deleted, Modified, Pace, Reflector, Synced

__all__ = [
    "EVENTS",
    "GROUP",
    "KINDS",
    "NODES",
    "PODS",
    "VERSIONS",
    "Added",
    "AlreadyExistsError",
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
    "Migrated",
    "Modified",
    "NotFoundError",
    "NotServedError",
    "Pace",
    "Reflector",
    "Remark",
    "Resource",
    "Selection",
    "ServerFaultError",
    "ShapeError",
    "StoredSecrets",
    "Synced",
    "TooManyRequestsError",
    "Trust",
    "UnauthorizedError",
    "UnreachableError",
    "Version",
    "connect",
    "convert",
    "dra_resource",
    "from_v1",
    "in_cluster",
    "load_cluster",
    "migrate",
    "negotiate",
    "to_v1",
]

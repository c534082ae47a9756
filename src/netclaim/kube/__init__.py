"""The Kubernetes API edge: find the cluster, speak its verbs, follow its changes.

    access                                 where the API server is, who we are to it, TLS
    transport, errors, observe             requests, how they fail, what they were
    client, resource, versions             the API's verbs, its kinds and their versions
    decode                                 what it sends, however unreadable one object in it is
    watch, lines, claim_watch              a selection that is followed
    dra                                    what a driver does with all that

`load_cluster` finds where to connect, `connect` lends a `Client`, `Reflector` follows a selection,
and `DraApi` is what a driver does with it. `manifests` converts an object to another version.
"""

from netclaim.kube.access.cluster import Cluster, Trust
from netclaim.kube.access.config import in_cluster, load_cluster
from netclaim.kube.access.credentials import Credentials, Identity, StoredSecrets
from netclaim.kube.client import Client, connect
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
from netclaim.kube.resource import EVENTS, LEASES, NAMESPACES, NODES, PODS, Resource, Selection
from netclaim.kube.versions import dra_resource, negotiate
from netclaim.kube.watch import Added, Change, Deleted, Modified, Pace, Reflector, Synced

__all__ = [
    "EVENTS",
    "LEASES",
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

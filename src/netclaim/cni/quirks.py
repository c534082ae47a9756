"""Where plugins' DEL is not what the specification makes one hope, seen on version 1.9.1.

Promise: each entry is needed; a test fails without it.
Limit: knows the CNI project's plugins, by type. The chain acts on it, nothing here does.
"""

from netclaim.cni.errors import INCOMPATIBLE_VERSION, UNKNOWN_CONTAINER

# With the pod's namespace gone, host-device returns before it has released its address: the chain
# calls the address management itself.
KEEPS_LEASE = frozenset({"host-device"})

# All that sbr makes is in the namespace, yet its DEL fails when that is gone, and leaves an empty
# file in its place: it is not called then.
NEEDS_NETNS = frozenset({"sbr"})

# Codes by which a DEL says that there is nothing of this attachment. A plugin that refuses the
# configuration's version has refused ADD too; asked again and again, it would hold up the pod.
NOTHING_TO_DELETE = frozenset({UNKNOWN_CONTAINER, INCOMPATIBLE_VERSION})

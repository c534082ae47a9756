"""`netclaim doctor`: what keeps netclaim from working on a cluster or a node, and what to do.

    finding            what a check is, and what it finds
    registry, run      all checks there are; running them at the same time
    examine            a cluster, a node, or both
    cluster_sight      what the checks of a cluster look at, read once
    cluster_*          the checks of a cluster
    node_sight         what the checks of a node look at
    node_*             the checks of a node
    network_types      which CNI plugins networks name
    shipped            the rights and policies that belong to this version
    show               findings for people and for programs
    support_*          the archive for maintainers, and what is left out of it

To add a check, write its function in one of the `cluster_*` or `node_*` modules; `registry` finds
it there, and a test asks for its row in docs/doctor.md.
"""

"""`netclaim doctor`: what keeps netclaim from working on a cluster or a node, and what to do.

    finding    what a check is, and what it finds
    registry   all checks, in the order in which they are shown
    examine    running the checks of a cluster, of a node, or of both
    show       findings for people and for programs
    releases   the releases of Kubernetes and containerd that decide what there is

    cluster    the checks of a cluster, and what they look at
    node       the checks of a node, and what they look at
    support    the archive for maintainers, and what is left out of it

To add a check, write its function in a module of `cluster` or `node`. A test asks for its row in
docs/doctor.md; a new module also has to be named in `registry`.
"""

"""The rules for what objects may hold.

    claims         specs of claims, templates and classes
    claim_status   allocations, reservations, reports of drivers
    slices         what a driver may publish
    capacities     of a device in a slice
    taints         taints, tolerations of them, DeviceTaintRules
    pod_networks   our own kinds, by the rules of their definitions: networks,
    address_pools  and pools of addresses and their leases
    pods           claims, resources, restarts, choice of nodes
    workloads      Deployments, sets and Jobs
    events         of both groups
    metadata       of every object
    names          names, labels and other short texts
    lists          length and entries

A rule is a function that yields what is wrong with a value, in the order of the real server. `at`
is the path of the value.
"""

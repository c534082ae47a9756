"""From Multus to netclaim: networks and pods as Multus reads them, rewritten as claims.

    annotation   a pod's wish for networks        definition  a network, as Multus has it
    plugins      what runs of its configuration   network     the PodNetwork that takes its place
    whereabouts  its addresses, as a pool has them       pools  those of all networks
    reservations    what pods have from whereabouts        whereabouts_ranges  its ranges
    workloads    pods, with claims in them        choices     what a pod chooses of a network
    templates    the claims that say so           strangers   what is not converted, and why
    objects      all of it as one set             documents   the text of the files
    places       lines inside a text              remarks     what is said about a field
    cluster      the same from a live cluster
    dranet, dranet_selectors  claims for dranet, which stay claims

No file is written here, and nothing in a cluster is changed.
"""

"""The cluster's side of netclaim: what a driver on a node may not do, or cannot see.

    process       the controller as a process, and its parts put together
    settings      what an admin can set
    cluster       the cluster as the controller sees it, and how it writes to it
    pacing        what is looked at, when, and how much is done for each of many
    networks      PodNetworks: their classes, templates, finalizers and status
    pools         AddressPools: whether they can be used; leases that nobody has any more
    duplicates    addresses that several pods have, counted as claims change
    stamp         an admin's template, copied into the namespaces that it names
    services      Services that name a network: their EndpointSlices
    annotated     pods that name networks in Multus' annotation: their claims, and what is reported
    waiting_pods  pods without what they claim: kubelet asks again, or they are evicted

Every part is level-triggered: it compares what there is with what there should be, and a second
look changes nothing. What was not made by the controller is never changed or deleted.
"""

"""The cluster's side of netclaim: what a driver on a node may not do, or cannot see.

    serve      the process: signals, probes and metrics, and taking turns with other replicas
    lease      which of several replicas works
    run        the parts put together: watches, a queue, and one worker
    watches    what there is in the cluster, followed; only what is needed of it is kept
    slim       what is kept of each object
    keys       what the queue holds, and what comes first
    queue      what has to be looked at, each thing once
    networks   PodNetworks: their classes, templates, finalizers and status
    pools      AddressPools: whether they can be used; leases that nobody has any more
    duplicates  addresses that several pods have, counted as claims change
    stamp      an admin's template, copied into the namespaces that it names
    services   Services that name a network: their EndpointSlices
    annotated  pods that name networks in Multus' annotation: their claims, and what is reported
    nudge      kubelet asks again for a pod whose claim can be prepared now
    refused    pods that wait for refused claims, evicted so that others get the devices
    rounds     what is done to all pods of one owner, with pauses that grow
    budget     how much is done for each of many
    objects    the API's kinds, in the version that the cluster serves
    events     events about objects
    settings   what an admin can set

Every part is level-triggered: it compares what there is with what there should be, and a second
look changes nothing. What was not made by the controller is never changed or deleted.
"""

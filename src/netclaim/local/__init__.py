"""The embedded cluster: whole manifests on one machine in seconds, with real interfaces.

    cluster, topology   all of it put together; what it looks like
    machine             namespaces, mounts and cables under it
    api                 a small API server
    control             controllers and a scheduler
    node                kubelet, runtime, driver
    input               what a user wants to run
    result              what became of it, and how to show it
    networks_there      whether PodNetworks can be used
    not_ready           which drivers are missing, and what they said last
    trial, demo         `netclaim try`, `netclaim demo`
    entering, staying_up  a running one from outside; how to look around in one that stays up
    events, ip_text     what components leave at objects; addresses as text
    ping                from a pod to an address

The driver in it is the real program; its peers are small stand-ins that speak the real protocols.
"""

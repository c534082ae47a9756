"""Services of networks: EndpointSlices with the addresses that pods have on a network.

    interfaces  what interfaces pods have on networks, from the claims' status
    pods        the pods of the namespaces that have such a Service, followed
    endpoints   what endpoints a Service should have
    spread      endpoints over slices, with few moves
    write       slices, created, updated and deleted
    complaints  events at a Service that say what is wrong with it
    keep        Services that name a network, and the parts above put together

What a Service says is read by `netclaim.schema.network_service`.
"""

"""The objects of resource.k8s.io/v1, our own kinds and Services, field by field as in the API.

    base          what all of them have: metadata, conditions, and how they are read
    claim         ResourceClaim
    config        configuration for drivers, in claims, classes and allocations
    slice         ResourceSlice
    device_class  DeviceClass
    pod_network, address_pool  PodNetwork, AddressPool and AddressLease, of our own group
    kept_address  whose addresses are kept, and what follows from it
    service       Service, as far as it is for a network
    label_selector  label selectors
    taint         taints, what tolerates them, and DeviceTaintRule
    ids           what distinguishes pools and devices in a cluster
    device_json   a driver's devices in this form
    device_status, interface_data  what a claim's status says of a device, and of an interface
    limits        how much the API server accepts

These are the only structs for this JSON: what the driver, the allocator and the commands work with
is derived from them. Older versions are converted to v1 first, except that an allocation and a
status have the same form in all versions. No I/O.
"""

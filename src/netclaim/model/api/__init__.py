"""The objects of resource.k8s.io/v1, our own kinds and Services, field by field as in the API.

    base            what all of them have: metadata, conditions, and how they are read
    dra             ResourceClaim, DeviceClass, ResourceSlice, and what is inside them
    own_kinds       PodNetwork, AddressPool and AddressLease
    service         Service, as far as it is for a network
    label_selector  label selectors
    limits          how much the API server accepts

These are the only structs for this JSON: what the driver, the allocator and the commands work with
is derived from them. Older versions are converted to v1 first, except that an allocation and a
status have the same form in all versions. No I/O.
"""

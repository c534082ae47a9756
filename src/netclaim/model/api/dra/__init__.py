"""The objects of resource.k8s.io, and what is inside them.

claim          ResourceClaim
device_class   DeviceClass
slice          ResourceSlice
config         configuration for drivers, in claims, classes and allocations
taint          taints, what tolerates them, and DeviceTaintRule
ids            what distinguishes pools and devices in a cluster
device_json    a driver's devices in this form
device_status, interface_data  what a claim's status says of a device, and of an interface
"""

"""host-device: a link of the host, lent to a container and returned as it was.

host_device                the plugin
device_lookup              which link is meant
lent_links, lent_identity  what was lent, and knowing it again
vf_keys, lent_function     what the card of a virtual function decides about it
homecoming                 its return
handed_over                its hardware for a program, by vfio-pci
following                  what the node has on it, in the container
rdma                       RDMA devices that go with it
"""

"""Devices: what a link is to the scheduler. Values only; nothing here looks at the node.

device          a link's name and attributes as a device
rdma_device     an RDMA device that has no link
network_device  a PodNetwork as a device of its link
pool_device     a pool of addresses as a device of the cluster
shares          a link that several claims have at a time, and what a claim got of it
expression      which devices an admin's CEL expression means
preflight       devices whose claims are checked before their pod is bound
"""

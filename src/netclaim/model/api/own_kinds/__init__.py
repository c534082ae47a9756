"""The kinds of netclaim's own API group.

pod_network   PodNetwork
address_pool  AddressPool and AddressLease
kept_address  whose addresses are kept, and what follows from it
"""

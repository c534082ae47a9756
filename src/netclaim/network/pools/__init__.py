"""Pools: addresses that are leased for the whole cluster.

cluster    pools and leases as they are in the API server
kept       what a replica of a StatefulSet has again
leases     what claims have, and giving it back
search     an address for an interface: kept, wished for, guessed, or from a list
parts      who has a lease, and what a plan keeps of it
restore    leases of running pods that were deleted
running    what is reported of running pods
quota      how many addresses a namespace may have
terms      who may have addresses of a pool, and choose which
errors     why there is none now
"""

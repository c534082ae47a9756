"""What whereabouts has: the addresses of Multus' networks.

ipam_keys     its keys under `ipam`, as a pool of ours has them
ranges        the ranges of these
reservations  addresses that pods have from it
"""

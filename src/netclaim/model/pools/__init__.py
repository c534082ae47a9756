"""Pools of addresses, as everything that has to do with them sees them.

address_space  the addresses of a pool as numbers: which there are, and which two pools share
counted_pool   what a pool is called among devices
named_pools    which pools a CNI configuration names
"""

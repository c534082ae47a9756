"""Attach: what the driver does to a pod's interface beside running plugins.

bandwidth      limits an interface to its share of the link
reserved       keeps on the link what claims have asked for
wish           asks for what an interface had before it was lost
renewals       renews the addresses that DHCP servers gave
dad            holds back duplicate address detection while an interface is made
claimed_links  which links claims have by now
"""

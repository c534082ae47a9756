"""AddressPools in a cluster: whether they can be used, how full they are, and whose leases count.

judge        the condition and the numbers in a pool's status
spec         a pool's addresses, and which other pools have some of them
counts       how many are leased, kept up to date change by change
sweep        leases that nobody has any more, collected
room         for how many claims each has an address
slices       pools as devices, for the scheduler
kept         what is kept for replicas and IPAMClaims, and whether these are still to be had
ipam_claims  the status of IPAMClaims that have addresses
"""

"""What is written in the place of Multus' objects.

network    the PodNetwork for a network
pools      the AddressPools, one for the addresses that several networks have
templates  the claims of pods
choices    what a pod chooses of a network, as keys of its claim
"""

"""The cluster's PodNetworks, as far as a node's driver has to know them.

known    which there are, and as which devices they are offered
claims   what a network adds to a claim that got its device
"""

"""What became of the pods of a trial, and how it is shown.

outcome       each pod: running, or why not
expected      which pods the manifests are going to have
interfaces    what a pod got through its claims
devices       the devices without interfaces that it got, and what containers get with them
given         one of them
duplicates    the same address twice on a network
multus        what a pod asks of Multus, which nobody answers here
services      the endpoints of Services that name a network
show          all of it as text
"""

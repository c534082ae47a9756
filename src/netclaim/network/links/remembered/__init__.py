"""What the kernel does not tell about links, and the driver therefore remembers.

lent          devices whose link is in a pod
made_bridges  bridges that plugins made for claims
"""

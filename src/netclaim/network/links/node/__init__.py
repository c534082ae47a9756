"""The node's links as the kernel has them.

node_links      which there are now, which are withheld, and what each one is
live_links      the same kept up to date by what the kernel announces
described       the devices made of them, for as long as nothing about a link has changed
pod_namespaces  which namespaces are pods', where links of the node may have their other end
"""

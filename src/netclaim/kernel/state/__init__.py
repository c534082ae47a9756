"""The kernel's links, addresses and routes as values: listed, followed, copied, put back.

links, addresses, routes  what there is, by rtnetlink
monitor             changes, as they happen
route_changes       whether a route has changed since one last asked
waiting             until the kernel has done what it does in its own time
link_identity       a link's index, name and MAC, by ioctl
link_settings       settings of its kind
link_limit          how many bits per second it may carry
link_copies, address_copies, route_copies  taken as they are, to be put back
removal             a link removed without waiting for it
"""

"""The kernel's links, addresses and routes as values: listed, followed, copied, put back.

links, addresses, routes  what there is, by rtnetlink
link_identity   a link's index, name and MAC, by ioctl
link_settings   settings of its kind
link_limit      how many bits per second it may carry
link_classes    whose packets it sends first
removal         a link removed without waiting for it
xdp             programs that see its packets
card            settings that its card and the card's driver have
changes         changes as they happen, and waiting for one
copies          what a link has, taken as it is, to be put back
"""

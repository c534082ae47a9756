"""The kernel's links, addresses and routes as values: listed, followed, copied, put back.

links, addresses, routes  what there is, by rtnetlink
monitor             changes, as they happen
route_changes       whether a route has changed since one last asked
waiting             until the kernel has done what it does in its own time
link_identity       a link's index, name and MAC, by ioctl
link_settings       settings of its kind
link_limit          how many bits per second it may carry
link_classes        whose packets it sends first
link_copies, address_copies, route_copies  taken as they are, to be put back
rule_copies         likewise, for another namespace
path_copies         routes over several links, to be put back
belongings          what the node has on a link beside its addresses, to be put back
card_settings, xdp  of these, what ethtool sets, and the programs that see its packets
card_switches       what ethtool sets, by name
vf_settings         what a card decides about its virtual functions
removal             a link removed without waiting for it
"""

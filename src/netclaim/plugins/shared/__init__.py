"""What several plugin types have in common.

main_plugin, checks         making or moving a link, and CHECK
stacked, veth               links that stand on another link; pairs of links
configure, mac, results     addresses and routes of a new link, its MAC, what is answered
ipam, asked_addresses       having addresses managed; the addresses that a call asks for
gateway_plugin, masquerade  the host as a gateway
name_servers                what a container's resolver uses
turns                       calls for one namespace, one after the other
"""

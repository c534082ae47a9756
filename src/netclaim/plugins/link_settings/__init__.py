"""link-settings: how packets are routed over an interface, and what its card does with them.

link_settings  the plugin
conf           its keys
routing        its routes, rules and neighbours as requests
tuning         offloads, sizes of packets, BPF programs
"""

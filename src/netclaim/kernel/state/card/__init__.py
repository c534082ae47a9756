"""What a network card and its driver decide about a link.

card_settings  what ethtool sets, as bytes
card_switches  the same by name: offload features, and flags that only one driver knows
vf_settings    what a card decides about each of its virtual functions
"""

"""What a link has, taken as it is, to be put back after the link was elsewhere.

link_copies     its settings
address_copies  its addresses
route_copies    its routes
path_copies     routes that lead over other links as well
rule_copies     rules that lead to its own routing tables, for another namespace
belongings      all else that the node has on it: neighbours, a queue, programs, what ethtool sets
"""

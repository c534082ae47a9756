"""Cleanup: what plugins and the driver keep on the node, and removing what nobody uses.

leftovers  what is there and explained by nothing that lives
plugin_gc  CNI's GC
gate       keeps GC and ADDs of a network apart
"""

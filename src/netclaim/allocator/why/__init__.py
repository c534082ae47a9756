"""Why a claim cannot be allocated, in a pass of its own, so that allocation pays nothing for it.

explain    checks everything about every device of a node
reason     what can be wrong with a device or a node, each with a line of text
shortage   what is left of capacities and counters, and who has the rest
addresses  the same of pools of addresses, in their own words
"""

"""A checked tree as Python closures.

compiler   goes over the tree
metered    the same, counting what an evaluation costs
operators  operators that ignore errors or do not evaluate all operands, and field selection
fold       macros that go over a list or a map
"""

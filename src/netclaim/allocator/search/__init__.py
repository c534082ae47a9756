"""Which devices claims can get from one node.

pool        the devices that a node can use, in the scheduler's order
holders     what claims have already
match       which devices the selectors of a request leave
need        what a request takes of a device, worked out once
counters    what is left of the counters that devices share
constraint  what picked devices have in common
backtrack   picking devices one after the other, and going back where that leads nowhere
"""

"""What is on offer, where, and what is asked for, as allocation works with it.

claim       claims: requests, alternatives, constraints
device      devices and slices
capacity    what a request consumes of a device, and what a policy makes of that
node        nodes, and what chooses among them
taint_rule  taints by an admin, beside those of drivers
extended    what pods want of extended resources, as requests of a claim
"""

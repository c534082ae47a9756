"""PodNetworks: their classes, templates, finalizers and status.

wanted     what of a network there should be, and what its status should say
objects    the objects that are made of a network: whose they are, and of what they were made
claims     which claims may have something of a network
available  which nodes have a network
write      these objects, created, replaced and deleted
report     a network's status, and the end of one that was deleted
keep       PodNetworks, with their classes and templates
"""

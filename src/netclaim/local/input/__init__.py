"""What a user gives a trial.

manifests         the objects to run
from_multus       what Multus reads, as networks and claims
topology_file     nodes, networks and links
form              values of such a file, by their type
driver_names      whose claims these are
driver_programs   drivers beside netclaim's own
"""

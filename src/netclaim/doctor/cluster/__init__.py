"""The checks of a cluster.

sight          what the checks look at, read once
api_server     its release, and whether Dynamic Resource Allocation is on
nodes          whether they are ready, their versions and their clocks
permissions    what the driver and the user of the command may do
policies       the admission policies, and the policy levels of namespaces
driver         the driver's DaemonSet, pods, version and settings
devices        slices and classes: what the driver offers
claims         claims that wait, and claims that are not ready
controller     who works, and whether networks and pools are as they should be
shipped        the permissions and policies that belong to this version, from `deploy/`
"""

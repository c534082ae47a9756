"""What there is: the objects of a cluster or of files, for commands that only look.

cluster         list some kinds of a cluster, in v1's form
files           read manifests and dumps
follow          keep a list current until it is cancelled
node            what the API server says of one node
driver_pods     pods that run a driver or the controller: whether they work, crash or are leaving
pools           slices put together to pools
claim_networks  what claims say of their networks
offered         networks and pools of addresses that cannot be used as an admin meant
duplicates      addresses that several pods have on one network
room            links that claims share and that are nearly used up
"""

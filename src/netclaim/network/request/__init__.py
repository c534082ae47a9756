"""Request: what a claim asks of a device, in every dialect, read once.

parameters, layers     a claim's parameters over its class's
keys, entries          all parameters put together, and where in a claim they stand
canonical, dialect     one spelling; whether parameters are ours at all
dranet                 those written as dranet's are
interface_request      what came of it, a value
ifnames, several       names of interfaces; what cannot hold for several
into_config            what is put into the network's configuration: wishes, its link
"""

"""Judge: hold what was asked against the policy, and against what plugins can do.

network    a network, plugin by plugin and key by key, against the policy's table
carried    the addresses that keys bring, and what becomes of them
addresses  the rules for addresses, whichever key brings one
own_hops   gateways that may be the interface's own address
settings   routes, rules and offloads, by parameters or as a plugin
request    a claim's request against the levels of its keys, and what its class allows
mistakes   what is wrong with a configuration, a class's as well as a claim's
pod_network  a PodNetwork, before any claim asks for it
"""

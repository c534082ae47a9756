"""The parts of a status, each made from the API's objects or from the parts before it.

devices          slices and pools as devices, and who has them
claims           claims as their drivers report them
pods             pods that use claims: their interfaces, or what they wait for
nodes            nodes and drivers, with how much of what they offer is in use
networks         PodNetworks, and what is wrong with them
pools            AddressPools, who has their addresses, and what is wrong with them
idle_drivers     drivers whose pods do not work
idle_controller  the controller, where something needs it and it does not work
problems         what is wrong in all of it, with what to do
"""

"""`netclaim explain`: why claims get their devices, or why not.

    world     the objects of files and clusters, as what decides about claims
    names     how users name a kind
    subject   what is asked about: pods, claims, templates
    answer    the answer for each of them
    cause     why nothing fits, in half a sentence
    lines     a line for each device and node
    why       why a device does not fit, in words, and how far it is from fitting
    hints     what the author of a selector probably meant
    mistakes  what `netclaim check` finds in what is explained
    pools     what the address pools of claims have left, and who has the rest
    show      the answers on a screen, or as JSON

It changes nothing, neither files nor a cluster.
"""

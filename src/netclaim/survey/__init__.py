"""What there is: the objects of a cluster or of files, for commands that only look.

cluster   list some kinds of a cluster, in v1's form        files   read manifests and dumps
follow    keep a list current until told to stop
"""

"""The wire of NRI.

mux         two streams on one connection, as bytes
ttrpc       requests and responses, as bytes
endpoint    both directions of a peer, as bytes
connection  an endpoint on a socket
"""

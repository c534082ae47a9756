"""DHCP for IPv4 (RFC 2131), the client's side: bytes and times in, events out.

message   a message and its options as bytes
packet    the IPv4 and UDP headers around one
granted   what a server gives, checked
client    the states of a lease, from the first question to its end

Promise: no I/O, and no clock: the caller says what time it is. What a server sends is
bounded and checked, and what makes no sense is dropped without a word to the server.
"""

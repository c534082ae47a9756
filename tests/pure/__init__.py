"""Rung one: no I/O beyond temporary files and loopback sockets."""

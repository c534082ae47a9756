"""Rung two: real sockets and a real kernel, in namespaces of the test's own."""

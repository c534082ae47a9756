"""The network driver on a real kernel."""

"""The driver on the lab."""

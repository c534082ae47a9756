"""The driver's keeper, as it is compiled."""

"""Services of networks."""

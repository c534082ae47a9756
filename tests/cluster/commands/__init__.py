"""Commands against the lab."""

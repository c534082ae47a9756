"""What tests on the lab use: drivers, claims, manifests."""

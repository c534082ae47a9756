"""The runtime's side of NRI."""

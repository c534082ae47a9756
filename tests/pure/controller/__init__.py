"""The controller, on an embedded API server."""

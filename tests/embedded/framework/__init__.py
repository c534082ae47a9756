"""The framework on a real kernel."""

"""Commands that need a real kernel."""

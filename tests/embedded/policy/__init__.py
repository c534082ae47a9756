"""What hostile claims try on a real kernel."""

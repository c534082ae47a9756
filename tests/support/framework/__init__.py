"""The framework's parts with stand-ins at their edges."""

"""What people see: tables and colour on a terminal, plain text in a pipe."""

from netclaim.screen.screen import PlainScreen, Screen, screen_for

__all__ = ["PlainScreen", "Screen", "screen_for"]

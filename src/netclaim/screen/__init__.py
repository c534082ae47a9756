"""What people see: tables and colour on a terminal, plain text in a pipe.

screen         what commands write to, and its plain form
rich_screen    the same on a terminal
canvas         a terminal that is painted again and again
words          numbers and lists of names in words
"""

from netclaim.screen.screen import PlainScreen, Screen, screen_for

__all__ = ["PlainScreen", "Screen", "screen_for"]

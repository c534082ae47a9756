"""Policy: what a claim may have. `judge` applies it.

levels    how far claims are trusted, and the label that says so
table     which plugin types and keys a claim may use, at which level, as a table
standing  what is known of a claim: its level, its link; what is said if it asks for more
metadata  where clouds answer with a machine's credentials, which no claim may reach
"""

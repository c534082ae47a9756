"""What selectors work on.

value               CEL's values as Python's: their types' names, equality, order
types               static types, and which may stand for which
amount, semver      Kubernetes' quantities and versions
digits              whole numbers from digits, however many
regex               regular expressions, by RE2
"""

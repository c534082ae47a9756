"""What selectors work on.

value               CEL's values as Python's: their types' names, equality, order
types               static types, and which may stand for which
amount, semver      Kubernetes' quantities and versions
regex, regex_class  regular expressions in RE2's dialect
"""

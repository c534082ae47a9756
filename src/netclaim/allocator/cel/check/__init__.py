"""Which parts of a selector go together.

environment  the names that an expression can begin with
checker      the types of all parts, and what each call can mean
constants    constants that their function cannot use
"""

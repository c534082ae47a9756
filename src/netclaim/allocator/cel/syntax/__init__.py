"""A selector's text as a tree.

lexer     text into tokens
literals  the values of numbers, strings and bytes
parser    tokens into a tree, by recursive descent
macros    has(), all(), cel.bind() and others that are written like calls
ast       the tree
"""

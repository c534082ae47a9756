"""Small tools without a subject of their own: time, locks, turns, rates, trying again.

clock       the time and random numbers, handed in so that tests bring their own
locks       one lock for each key in use
fair_slots  how much is done at a time, and for which namespace
rates       how often something may happen
supervise   calls that are retried, parts that are restarted
"""

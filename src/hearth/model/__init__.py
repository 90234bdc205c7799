"""What all else speaks of: places in a text, problems, actions and statuses, values not yet known.

Imports nothing of the project and does no I/O.
"""

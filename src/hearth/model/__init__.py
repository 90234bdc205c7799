"""Plain values that all packages share: places in a text, problems, actions, statuses, unknown
values.

Imports nothing of the project and does no I/O.
"""

"""The configuration of a process: its options, what they become, and the files they come from.

Nothing here starts or connects anything.
"""

"""The agent that runs in a server: one file for the standard library of Python 3.7.

Invariant: it imports nothing of Hearth, and nothing of Hearth imports it: `hearth agent` prints it.
"""

"""The loop around the decisions: claim, run, commit, sweep.

Invariant: a write call is sent only after its intent is committed, and its result is used only
after it is committed. The package knows no SQL and no cloud API.
"""

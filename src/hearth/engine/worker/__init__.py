"""The processing loop of the engine: claim stacks, run their nodes, commit the changes, sweep.

Invariant: a write call is sent only after its intent is committed, and its result is used only
after the result is committed. The package contains no SQL and no calls of a particular cloud API.
"""

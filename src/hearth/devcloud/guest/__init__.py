"""A guest's view of its cloud: the metadata service and the config drive.

Invariant: everything here is rendered from the store when it is asked for; nothing is kept, and
nothing knows how a guest reaches it.
"""

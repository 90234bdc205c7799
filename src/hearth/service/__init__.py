"""Use cases, one per file. They take a caller with a credential and make the decisions.

Nothing here knows HTTP, so the command line uses them without a server.
"""

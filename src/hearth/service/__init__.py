"""Use cases, one per file: they decide, with a caller and a credential.

Nothing here knows HTTP, so the command line uses it without a server.
"""

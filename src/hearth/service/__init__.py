"""Use cases, one per file. They take a caller with a credential and make the decisions.

They do not depend on HTTP, so the command line uses them without a server.
"""

"""The use cases of Hearth, one per file: each carries out one kind of request for a caller.

A use case gets the caller with its token and makes all decisions. It does not depend on HTTP, so
the command line can use it without a server.
"""

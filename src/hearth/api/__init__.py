"""The HTTP APIs: they translate between HTTP and the use cases, and make no decisions
themselves.
"""

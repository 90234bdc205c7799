"""The running process: how it is put together, serves requests, works, and ends.

Commands decide what runs; this package runs it.
"""

"""Answers language vectors through a running server: what a client of the API sees, and no more.

`site` starts the servers, `client` speaks HTTP, `refusals` turns faults into errors of vectors, and
each mode has a module. Nothing here imports the product.
"""

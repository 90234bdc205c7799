"""Run user-supplied code without blocking the event loop.

A small computation runs on the event loop, for a few milliseconds. A larger one runs in a separate
process, which has limits on time and memory and can be killed.
"""

"""Programs of stacks: compile templates, cache them, and compute without blocking the event loop.

The engine's workers and the use cases share this package. Of the store it knows revisions only, and
it knows no cloud.
"""

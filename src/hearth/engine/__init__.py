"""The engine: `core` decides, `programs` compiles, `worker` acts.

`core` knows no database and no cloud. `clock` and `endpoints` are shared by the use cases and the
workers.
"""

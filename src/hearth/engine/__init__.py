"""The engine: `core` decides, `programs` compiles, `worker` acts.

`core` knows no database and no cloud. `clock` and `endpoints` are what the use cases share with
the workers.
"""

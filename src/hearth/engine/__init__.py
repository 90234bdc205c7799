"""The engine: `core` plans operations, `programs` compiles templates, and `worker` carries out
operations.

`core` uses neither the database nor the cloud. The use cases and the workers share `clock` and
`endpoints`.
"""

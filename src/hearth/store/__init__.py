"""The tables, and transactions over them.

Invariant: these rows hold all state of Hearth; a transaction is a plain function that may run more
than once. The package imports no templates, clouds or HTTP.
"""

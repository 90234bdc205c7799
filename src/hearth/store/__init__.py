"""The tables, and transactions on them.

Invariant: the rows hold all state of Hearth; a transaction is a plain function that may run more
than once. The package imports no templates, clouds or HTTP.
"""

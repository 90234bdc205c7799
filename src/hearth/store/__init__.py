"""The database: its tables, and the functions that read and write them in a transaction.

Invariant: the rows hold all state of Hearth. A transaction is a plain function that may run more
than once. The package does not import templates, clouds or HTTP.
"""

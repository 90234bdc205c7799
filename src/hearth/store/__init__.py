"""What is true: the tables, and transactions over them.

Invariant: everything Hearth knows is in these rows; a transaction is a plain function that may run
more than once. The package knows nothing of templates, clouds or HTTP.
"""

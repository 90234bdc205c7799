"""An embedded OpenStack: emulated HTTP services with state, in one process, for any client.

The package imports no other package of Hearth. Each request handler is a plain function that takes
a `Call` and returns a `Reply`; all handlers run on one thread and never wait, so the state is
always consistent. The module `server` does the networking and injects faults. State changes that
happen later, such as a server that becomes ACTIVE, are scheduled in `store`.
"""

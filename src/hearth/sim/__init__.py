"""The simulator: the real worker on the real store, in virtual time.

Only the clock, the cloud and the bus are simulated. A crash disconnects the engine from the store
and the cloud.
"""

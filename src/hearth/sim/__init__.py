"""The simulator: the real worker over the real store, in virtual time.

Only clock, cloud and bus are simulated. A crash cuts off the store and the cloud from the engine.
"""

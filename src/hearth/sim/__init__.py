"""The simulator: the real worker over the real store, in virtual time.

Only clock, cloud and bus are simulated. A crash cuts off the store and the cloud from the engine.

Only clock, cloud and bus are twins. A crash severs the dead engine's handles.
"""

"""The simulator: the real worker over the real store, in virtual time.

Only clock, cloud and bus are twins. A crash severs the dead engine's handles.
"""

"""The simulator: real engines and the real store run against a simulated cloud, in virtual time.

Only the clock, the cloud and the message bus are simulated. In a simulated crash the engine loses
its connections to the store and the cloud.
"""

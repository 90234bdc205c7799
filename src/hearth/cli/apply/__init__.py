"""`hearth plan`, `apply`, `destroy` and their companions: stacks without a server, or with one.

Every command sends requests of the Orchestration API. `local` answers them in this process, with
the state of one stack in a file and an engine of its own; `remote` sends them to a service.
"""

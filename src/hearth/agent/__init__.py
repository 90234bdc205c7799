"""The agent that applies software configurations inside a server: a single file, agent.py.

The file needs only the standard library of Python 3.7. It imports no module of Hearth, and no
module of Hearth imports it; the command `hearth agent` prints its source.
"""

"""The REST API of the cluster service (Container Infrastructure Management), version 1, with its
microversions.
"""

"""The REST API of the cluster service, version 1, with its microversions."""

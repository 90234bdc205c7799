"""Use cases of the cluster service. A refused request changes nothing."""

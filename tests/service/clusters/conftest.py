"""Keys of clusters are made once."""

from tests.service.clusters.keys import known_keys as known_keys

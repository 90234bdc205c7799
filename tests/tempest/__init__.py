"""The public suite of Heat's makers against Hearth: `make tempest`."""

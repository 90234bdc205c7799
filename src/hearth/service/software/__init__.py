"""The use cases of software configurations and deployments."""

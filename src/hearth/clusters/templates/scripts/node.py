#!/usr/bin/env python3
"""Set up a node of a Kubernetes cluster."""

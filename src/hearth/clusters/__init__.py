"""Decisions of the cluster service: values in, values out.

What a cluster, a cluster template and a node group are, which operation their states allow, and
which stack they become. This package knows no database, no cloud and no clock; ids, times and
random numbers are arguments. Source: spec/clusters.md.
"""

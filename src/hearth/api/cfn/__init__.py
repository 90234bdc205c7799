"""The CloudFormation-style API: the query API, guest metadata and pre-signed signals.

Keystone checks the signature of each request and returns the caller. Only polls of servers are
checked here, see polls.py.
Source: spec/cfn-api.md.
"""

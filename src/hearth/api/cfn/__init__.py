"""The CloudFormation-style API: the query API, metadata for servers, and pre-signed signals.

Keystone checks the signature of each request and returns the caller. Only the signatures of servers
that poll are checked by Hearth itself, see accepted_keys.py. Source: docs/spec/cfn-api.md.
"""

"""The CloudFormation-style API: the query API, guest metadata and pre-signed signals.

Keystone checks the signature of each request and returns the caller; the result is not cached.
Source: spec/cfn-api.md.
"""

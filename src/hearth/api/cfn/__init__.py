"""The CloudFormation-style API: the query API, guest metadata and pre-signed signals.

Who asks is told by a signature that Keystone checks; nothing of that is kept, so that each request
is judged anew. Source: spec/cfn-api.md.
"""

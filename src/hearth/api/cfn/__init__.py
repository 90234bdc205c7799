"""The CloudFormation-style API: pre-signed signals. Source: spec/cfn-api.md."""

"""AWS::IAM types: stack domain users and their access keys."""

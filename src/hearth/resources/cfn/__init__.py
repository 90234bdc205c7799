"""Types by their names in CloudFormation."""

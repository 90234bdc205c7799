"""Resource types of the AWS::CloudFormation family."""

"""What callers read of stacks: resources, outputs, revisions and drift, with secrets masked."""

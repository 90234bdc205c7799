"""The Orchestration API v1, as spec/rest-api.md has it."""

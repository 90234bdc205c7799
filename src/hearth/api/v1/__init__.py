"""The Orchestration API v1. Source: docs/spec/rest-api.md."""

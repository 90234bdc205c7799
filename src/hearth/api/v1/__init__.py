"""The Orchestration API v1. Source: spec/rest-api.md."""

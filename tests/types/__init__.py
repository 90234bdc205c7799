"""Every resource type in generated templates: created, changed, checked and deleted on a cloud."""

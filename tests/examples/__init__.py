"""The examples that come with Hearth, installed and used as a reader would."""

"""The error of an invalid configuration."""


class WrongSetting(Exception):
    """A setting is invalid. The message names the setting and what is wrong with it."""

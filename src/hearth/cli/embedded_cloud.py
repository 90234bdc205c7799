"""The embedded cloud of `hearth dev`, which is a package of its own."""

from importlib.metadata import PackageNotFoundError, distribution

from hearth.config.wrong import WrongSetting

PACKAGE = "hearth-devcloud"


def demand_installed() -> None:
    """Raise WrongSetting unless the embedded cloud is installed."""
    try:
        distribution(PACKAGE)
    except PackageNotFoundError:
        raise WrongSetting(
            f"the embedded cloud is not installed; install it with: pip install {PACKAGE}"
        ) from None

"""What the middleware works with: its current settings and who is told about requests."""

from hearth.config.front import FrontSettings
from hearth.telemetry.observer import UNOBSERVED, Observer


class Front:
    """Holds the current settings; every request reads them from here. The observer gets a report of
    each request.
    """

    def __init__(
        self, settings: FrontSettings | None = None, observer: Observer = UNOBSERVED
    ) -> None:
        self.settings = settings or FrontSettings()
        self.observer = observer

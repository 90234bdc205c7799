"""The common part of revived types."""

from typing import Any, ClassVar

from hearth.resources.known import REVIVED_SUFFIX, advice
from hearth.schema import Support, SupportStatus


class Revived:
    """Makes a subclass of a successor the revived form of a retired type; the first base class.

    Its support status names the type to use instead.
    """

    type_name: ClassVar[str]
    support: Support

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.support = Support(SupportStatus.DEPRECATED, message=advice(cls.type_name))

    @property
    def recorded_as(self) -> str:
        """The name of the type in records, which differs from that of the placeholder."""
        return self.type_name + REVIVED_SUFFIX

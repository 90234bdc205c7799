"""Values with secret fields, whose texts do not show them."""

from typing import ClassVar

from msgspec import Struct


class Discreet(Struct, frozen=True):
    """A value whose text leaves out the fields named in `hidden`."""

    hidden: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        names = [name for name in self.__struct_fields__ if name not in self.hidden]
        texts = (f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({', '.join(texts)})"

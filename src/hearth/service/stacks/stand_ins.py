"""Parameters that replace unknown values in the definitions of a group's members.

The template of a group's nested stack contains property values. For a preview, an unknown value in
it is replaced by a parameter with an unknown value, so that the nested stack can be compiled and
planned.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hearth.model.unknown import Unknown
from hearth.resources.base import Child
from hearth.schema.prop import MAP, Prop

NAME = "not known yet: "


class StandIns(Struct):
    """Replaces unknown values by parameters; `values` maps their names to the unknown values."""

    values: dict[str, Unknown] = field(default_factory=dict)

    def put(self, properties: Mapping[str, Any], schema: Mapping[str, Prop]) -> dict[str, Any]:
        """Return the properties with all unknown values inside maps replaced by parameters.

        Only properties of the type map in `schema` are searched. Other unknown values are kept,
        because the number and the names of the members must be known.
        """
        return {
            name: self._put(value)
            if isinstance(value, Mapping) and name in schema and schema[name].kind is MAP
            else value
            for name, value in properties.items()
        }

    def _put(self, value: Any) -> Any:
        match value:
            case Unknown():
                name = f"{NAME}{len(self.values)}"
                self.values[name] = value
                return {"get_param": name}
            case Mapping():
                return {key: self._put(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self._put(inner) for inner in value]
            case _:
                return value

    def declared(self, child: Child) -> Child:
        """Return the nested stack with the parameters declared in its template.

        Their values are the unknown values that they replace.
        """
        if not self.values:
            return child
        parameters = {name: self._taken_back(value) for name, value in child.parameters.items()}
        if not isinstance(child.template, Mapping):
            return replace(child, parameters=parameters)
        declared = {name: {"type": "string"} for name in self.values}
        return replace(
            child,
            template={**child.template, "parameters": declared},
            parameters={**parameters, **self.values},
        )

    def _taken_back(self, value: Any) -> Any:
        match value:
            case {"get_param": str() as name} if name in self.values:
                return self.values[name]
            case Mapping():
                return {key: self._taken_back(inner) for key, inner in value.items()}
            case list():
                return [self._taken_back(inner) for inner in value]
            case _:
                return value

from hearth.schema import INTEGER, LIST, MAP, STRING, Attr, Length, Prop, Range, as_json


def test_a_property_shows_type_flags_constraints_and_inner_schema():
    prop = Prop(
        LIST,
        "Rules.",
        update_allowed=True,
        default=[],
        constraints=[Length(max=3, description="few")],
        schema=Prop(MAP, schema={"port": Prop(INTEGER, required=True, constraints=[Range(min=1)])}),
    )
    assert as_json(prop) == {
        "type": "list",
        "required": False,
        "update_allowed": True,
        "immutable": False,
        "description": "Rules.",
        "default": [],
        "constraints": [{"length": {"max": 3}, "description": "few"}],
        "schema": {
            "*": {
                "type": "map",
                "required": False,
                "update_allowed": False,
                "immutable": False,
                "schema": {
                    "port": {
                        "type": "integer",
                        "required": True,
                        "update_allowed": False,
                        "immutable": False,
                        "constraints": [{"range": {"min": 1}}],
                    }
                },
            }
        },
    }


def test_an_attribute_shows_its_type_if_it_has_one():
    assert as_json(Attr(STRING, "Name.")) == {"type": "string", "description": "Name."}
    assert as_json(Attr(None, "Any.")) == {"description": "Any."}

"""`hearth extend port`: declarations from the text of a plug-in of Heat."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hearth.authoring.port.plugin import NoPlugin, plugins_in
from hearth.authoring.port.skeleton import METHODS, skeleton
from hearth.cli.main import cli
from hearth.resources import capabilities
from hearth.resources.base import ResourceType
from hearth.resources.capabilities import Signalled
from hearth.resources.registry import builtin_types
from hearth.schema.constraint import AllowedPattern, AllowedValues, Custom, Length, Modulo, Range
from hearth.schema.prop import Attr, Prop, Support


def ported(text: str) -> dict[str, Any]:
    """The names that the printed module defines."""
    found: dict[str, Any] = {}
    exec(compile(skeleton(plugins_in(text, "plugin.py"), "plugin.py"), "printed", "exec"), found)
    return found


# -- the types of Hearth, written as plug-ins, come back as they were ----------------------------


def constraint(one: Any) -> str:
    more = {"description": one.description}
    match one:
        case Custom(name=name):
            return f"constraints.CustomConstraint({name!r})"
        case Length() | Range():
            more |= {"min": one.min, "max": one.max}
        case AllowedValues():
            more |= {"allowed": list(one.values)}
        case AllowedPattern():
            more |= {"pattern": one.pattern}
        case Modulo():
            more |= {"step": one.step, "offset": one.offset}
    first = more.pop("allowed", more.pop("pattern", None))
    words = [] if first is None else [repr(first)]
    words += [f"{name}={value!r}" for name, value in more.items() if value is not None]
    return f"constraints.{type(one).__name__}({', '.join(words)})"


def support(one: Support | None) -> str:
    if one is None:
        return "None"
    words = f"support.{one.status!s}, version={one.version!r}, message={one.message!r}"
    return f"support.SupportStatus({words}, previous_status={support(one.previous)})"


def property_schema(one: Prop) -> str:
    inner = "None"
    if one.item is not None:
        inner = property_schema(one.item)
    elif one.entries is not None:
        entries = ", ".join(f"{n!r}: {property_schema(p)}" for n, p in one.entries.items())
        inner = f"{{{entries}}}"
    default = f"default={one.default!r}, " if one.has_default else ""
    return (
        f"properties.Schema(properties.Schema.{one.kind.name}, _({one.description!r}), {default}"
        f"required={one.required}, update_allowed={one.update_allowed}, "
        f"immutable={one.immutable}, implemented={one.implemented}, schema={inner}, "
        f"constraints=[{', '.join(map(constraint, one.constraints))}], "
        f"support_status={support(one.support)}, allow_conversion={one.allow_conversion})"
    )


def attribute_schema(one: Attr) -> str:
    kind = "" if one.kind is None else f", type=attributes.Schema.{one.kind.name}"
    mode = "CACHE_LOCAL" if one.cached else "CACHE_NONE"
    return f"attributes.Schema(_({one.description!r}), cache_mode=attributes.Schema.{mode}{kind})"


def plugin_of(rtype: ResourceType) -> str:
    properties = {n: property_schema(one) for n, one in rtype.properties.items()}
    attributes = {n: attribute_schema(one) for n, one in rtype.attributes.items() if n != "show"}
    shown = [
        "{" + ", ".join(f"{name!r}: {words}" for name, words in found.items()) + "}"
        for found in (properties, attributes)
    ]
    return (
        f"class Thing(resource.Resource):\n    support_status = {support(rtype.support)}\n"
        f"    properties_schema = {shown[0]}\n    attributes_schema = {shown[1]}\n"
        f"def resource_mapping():\n    return {{{rtype.name!r}: Thing}}\n"
    )


def plain(one: Any) -> Any:
    return (list(one.values), one.description) if isinstance(one, AllowedValues) else one


def compared(one: Prop) -> Any:
    """What a plug-in can say about a property."""
    inner = one.item or one.entries
    schema = (
        compared(inner)
        if isinstance(inner, Prop)
        else (None if inner is None else {name: compared(prop) for name, prop in inner.items()})
    )
    return (
        one.kind, " ".join(one.description.split()), one.required, one.update_allowed,
        one.immutable, one.implemented, one.allow_conversion, one.support or Support(),
        None if not one.has_default else one.default, list(map(plain, one.constraints)), schema,
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(builtin_types()))
def test_every_type_that_is_written_as_a_plugin_comes_back(name: str) -> None:
    rtype = builtin_types()[name]
    back = ported(plugin_of(rtype))["Thing"]()
    assert back.name == name
    assert back.support == rtype.support
    assert {n: compared(one) for n, one in back.properties.items()} == {
        n: compared(one) for n, one in rtype.properties.items()
    }
    assert back.attributes == {
        n: Attr(one.kind, " ".join(one.description.split()), cached=one.cached)
        for n, one in rtype.attributes.items()
    }


# -- what plug-ins look like ---------------------------------------------------------------------

PLUGIN = '''
from heat.engine import attributes, constraints, properties, resource, support
LIMIT = 40
class Base(resource.Resource):
    PROPERTIES = (NAME, SIZE, COLOUR, NETS, EXTRA) = ('name', 'size', 'colour', 'nets', 'extra')
class Widget(Base):
    """A widget.

    More about it.
    """
    default_client_name = 'gadget'
    (RED, GREEN) = COLOURS = ('red', 'green')
    _NET = (NET_ID,) = ('network',)
    properties_schema = {
        Base.NAME: properties.Schema(properties.Schema.STRING, _('The "name" of ' 'it.'),
            constraints=[constraints.Length(max=LIMIT)]),
        Base.SIZE: properties.Schema(properties.Schema.INTEGER, _('At most %d.') % LIMIT,
            default=-1, constraints=[constraints.Range(0, LIMIT), checks.Even()]),
        'colour': properties.Schema(data_type=properties.Schema.STRING, default=RED,
            constraints=[constraints.AllowedValues(COLOURS)]),
        'nets': properties.Schema(properties.Schema.LIST, schema=properties.Schema(
            properties.Schema.MAP, schema={NET_ID: properties.Schema(
                properties.Schema.STRING, constraints=[
                    constraints.CustomConstraint('neutron.network')])})),
        base.EXTRA: properties.Schema(properties.Schema.MAP, default=made_up()),
    }
    def handle_create(self):
        open('/tmp/never', 'w')
    def helper(self):
        pass
def resource_mapping():
    return {'OS::Gadget::Widget': Widget, 'Other::Widget': Widget}
raise RuntimeError('a plug-in is never executed')
'''


def test_constants_are_resolved_and_the_rest_is_marked() -> None:
    text = skeleton(plugins_in(PLUGIN, "widget.py"), "widget.py")
    widget = ported(PLUGIN)["Widget"]()
    assert widget.name == "OS::Gadget::Widget"
    assert "# TODO: also known as Other::Widget" in text
    name, size, colour = (widget.properties[one] for one in ("name", "size", "colour"))
    assert name.description == 'The "name" of it.'
    assert name.constraints == (Length(max=40),)
    assert size.description == "At most 40."
    assert (size.default, size.constraints) == (-1, (Range(min=0, max=40),))
    assert "# TODO: a constraint is not constant in the plug-in: checks.Even()" in text
    assert colour.default == "red"
    assert list(colour.constraints[0].values) == ["red", "green"]
    assert widget.properties["nets"].item.entries["network"].constraints == (
        Custom("neutron.network"),
    )
    assert "# TODO: the default is not constant in the plug-in: made_up()" in text
    assert "extra" in widget.properties
    line = PLUGIN.splitlines().index("    def handle_create(self):") + 1
    assert f"TODO: handle_create (widget.py:{line})" in text
    assert "helper" not in text
    assert not Path("/tmp/never").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = (", "plugin.py:1:5: this is not Python 3"),
        ("print 'two'", "plugin.py:1:1: this is not Python 3"),
        ("import os\n", "expected a plug-in of Heat"),
        ("", "expected a plug-in of Heat"),
        ("x = '\x00'", "this is not Python 3"),
        ("(" * 5000, "this is not Python 3"),
        ("-" * 100_000 + "1", "this is not Python 3"),
        ("#" * 2_000_000, "at most 1048576 bytes"),
    ],
)
def test_what_is_no_plugin_is_refused(text: str, words: str) -> None:
    with pytest.raises(NoPlugin, match=words.replace("(", r"\(")):
        plugins_in(text, "plugin.py")


DOUBLED = "\n".join(f"A{n + 1} = A{n} + A{n}" for n in range(45))
TWICE = "\n".join(
    f"S{n + 1} = {{'a': p.Schema(p.MAP, schema=S{n}), 'b': p.Schema(p.MAP, schema=S{n})}}"
    for n in range(25)
)
HOSTILE = {
    "texts that double": (
        f"A0 = 'x'\n{DOUBLED}\nclass T:\n  properties_schema = {{'x': p.Schema(A45)}}"
    ),
    "empty texts that double": (
        f"A0 = ''\n{DOUBLED}\nclass T:\n  properties_schema = {{'x': p.Schema(A45)}}"
    ),
    "a schema in itself": (
        "X = p.Schema(p.MAP, schema=X)\nclass T:\n  properties_schema = {'x': p.Schema(schema=X)}"
    ),
    "a name that is itself": "A = A\nclass T:\n  properties_schema = {A: p.Schema(A, default=A)}",
    "names in a cycle": "A = B\nB = A\nclass T:\n  properties_schema = {A: p.Schema(B)}",
    "bases in a cycle": "class A(B): pass\nclass B(A):\n  properties_schema = {'x': p.Schema(N)}",
    "a text that ends the string": (
        "class T:\n  '''a \\\"\\\"\\\" b'''\n"
        '  properties_schema = {\'"""\': p.Schema(p.STRING, \'"); import os; ("\')}'
    ),
    "odd keys": "class T:\n  properties_schema = {1: p.Schema(), **more, None: p.Schema(), f(): 2}",
    "a huge text": "class T:\n  properties_schema = {'x': p.Schema(p.S, '%999999999d' % 1)}",
    "no schema": "class T:\n  properties_schema = None\n  attributes_schema = f()",
    "line ends": "class T:\n  properties_schema = {'a\\nb': p.Schema(p.STRING, 'c\\r\\u2028d')}",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_plugins_print_python(text: str) -> None:
    ported(text)


def test_schemas_that_double_are_refused() -> None:
    text = f"S0 = {{}}\n{TWICE}\nclass T:\n  properties_schema = {{'x': p.Schema(schema=S25)}}"
    with pytest.raises(NoPlugin, match="more than 20000 properties"):
        plugins_in(text, "plugin.py")


def test_every_method_that_is_named_exists() -> None:
    for words in METHODS.values():
        name = words.split("(")[0].split(" ")[0].rstrip(",")
        home, _, method = name.rpartition(".")
        if not name.startswith(("`poll`", "ctx.", "hearth.")):
            assert hasattr(getattr(capabilities, home) if home else ResourceType, method), words
    assert Signalled.__module__ == "hearth.resources.capabilities"


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "widget.py"
    file.write_text(PLUGIN)
    done = CliRunner().invoke(cli, ["extend", "port", str(file)])
    assert done.exit_code == 0
    assert 'type_name = "OS::Gadget::Widget"' in done.output
    (tmp_path / "printed.py").write_text(done.output)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F",
               str(tmp_path / "printed.py")]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    file.write_text("import os")
    done = CliRunner().invoke(cli, ["extend", "port", str(file)])
    assert done.exit_code == 1
    assert "Error: widget.py: there is no class" in done.output

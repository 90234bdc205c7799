"""What may come in: anything, anything shaped like a template, and real ones with damage."""

from __future__ import annotations

import copy
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from hearth.authoring.language.examples import written
from hearth.template.function import REGISTRY
from hearth.template.load import load
from hearth.template.versions import BY_VERSION, GRAMMARS

HERE = Path(__file__).resolve().parents[1]


def dumped(value: Any) -> str:
    """A value as YAML."""
    text: str = yaml.dump(value, Dumper=yaml.CSafeDumper, allow_unicode=True)
    return text


WORDS = sorted(
    {
        word
        for grammar in GRAMMARS
        for words in (
            grammar.functions,
            grammar.condition_functions,
            grammar.sections,
            grammar.resource_keys,
            grammar.output_keys,
            grammar.parameter_keys,
            grammar.constraints,
        )
        for word in words
    }
    | {"template", "params", "for_each", "expression", "data", "keys", "values", "min", "max"}
)
NAMES = ["a", "b", "c", "string", "json", "OS::Heat::Value", "OS::Heat::ResourceGroup", "c.yaml"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(NAMES)
    | st.text(max_size=5)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS + NAMES), inner, max_size=3)
    ),
    max_leaves=12,
)
CALLS = st.builds(
    lambda name, args: {name: args}, st.sampled_from(sorted(GRAMMARS[-1].functions)), VALUES
)
FIELD = VALUES | CALLS
RESOURCE = st.fixed_dictionaries(
    {"type": st.sampled_from(["OS::Heat::Value", "OS::Heat::TestResource", "c.yaml"])},
    optional={
        "properties": st.dictionaries(st.sampled_from(["value", "type", "p"]), FIELD, max_size=2),
        "metadata": FIELD,
        "depends_on": st.sampled_from(NAMES) | VALUES,
        "condition": FIELD,
        "update_policy": FIELD,
        "deletion_policy": FIELD,
        "external_id": FIELD,
    },
)
PARAMETER = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "number", "json", "boolean", "comma_delimited_list"])},
    optional={
        "default": VALUES,
        "constraints": st.lists(
            st.dictionaries(st.sampled_from(GRAMMARS[-1].constraints), VALUES, max_size=2),
            max_size=2,
        ),
        "hidden": VALUES,
    },
)
OF_NAMES = st.sampled_from(["a", "b", "c"])
TEMPLATES = st.fixed_dictionaries(
    {"heat_template_version": st.sampled_from(["2013-05-23", "2018-08-31", "2021-04-16"])},
    optional={
        "parameters": st.dictionaries(OF_NAMES, PARAMETER, max_size=2),
        "conditions": st.dictionaries(OF_NAMES, FIELD, max_size=2),
        "resources": st.dictionaries(OF_NAMES, RESOURCE, max_size=3),
        "outputs": st.dictionaries(OF_NAMES, st.fixed_dictionaries({"value": FIELD}), max_size=2),
        "parameter_groups": VALUES,
        "description": VALUES,
    },
)
CFN_CALLS = st.builds(
    lambda name, args: {name: args},
    st.sampled_from(sorted({**GRAMMARS[0].functions, **GRAMMARS[0].condition_functions})),
    st.recursive(
        SCALARS | CALLS,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.builds(
                lambda name, args: {name: args},
                st.sampled_from(sorted(GRAMMARS[0].functions)),
                inner,
            )
        ),
        max_leaves=8,
    ),
)
CFN_RESOURCE = st.fixed_dictionaries(
    {"Type": st.sampled_from(["OS::Heat::Value", "OS::Heat::TestResource", "c.yaml"])},
    optional={
        "Properties": st.dictionaries(
            st.sampled_from(["value", "type", "p"]), CFN_CALLS, max_size=2
        ),
        "Metadata": CFN_CALLS,
        "DependsOn": st.sampled_from(NAMES) | VALUES,
        "Condition": CFN_CALLS | VALUES,
        "DeletionPolicy": CFN_CALLS | VALUES,
    },
)
CFN_TEMPLATES = st.fixed_dictionaries(
    {"AWSTemplateFormatVersion": st.just("2010-09-09")},
    optional={
        "Parameters": st.dictionaries(
            OF_NAMES,
            st.fixed_dictionaries(
                {"Type": st.sampled_from(["String", "Number", "Json", "CommaDelimitedList"])},
                optional=dict.fromkeys(sorted(GRAMMARS[0].parameter_keys - {"Type"}), VALUES),
            ),
            max_size=2,
        ),
        "Mappings": VALUES,
        "Conditions": st.dictionaries(OF_NAMES, CFN_CALLS, max_size=2),
        "Resources": st.dictionaries(OF_NAMES, CFN_RESOURCE, max_size=3),
        "Outputs": st.dictionaries(
            OF_NAMES, st.fixed_dictionaries({"Value": CFN_CALLS}), max_size=2
        ),
    },
)

# -- texts --------------------------------------------------------------------------------------

MORSELS = [
    *(
        " ",
        "  ",
        "\n",
        "\n  ",
        "\n- ",
        ": ",
        "- ",
        "? ",
        "#",
        ", ",
        "{",
        "}",
        "[",
        "]",
        "\t",
        "\r\n",
    ),
    *("&a ", "*a", "<<: *a\n", "<<", "<<: {a: 1}\n", "!!int ", "!!float ", "!!str ", "!!binary "),
    *("!!set ", "!!omap ", "!!timestamp ", "!!bool ", "!!null ", "! ", "!!python/object:os.x "),
    *("yes", "No", "on", "~", "null", "010", "0o7", "0x1F", "0b1", "1_0", "1:30", "1e3", "1.e+3"),
    *(".inf", "-.Inf", ".nan", "2001-01-01", "2001-01-01t00:00:00Z", "=", "|\n  x\n", ">-\n  x\n"),
    *('"\\ud800"', "\ud800", "\x00", "\x85", "\u2028", "\ufeff", "\U0001f600", "\\", '"', "'"),
    *("---\n", "...\n", "%YAML 1.2\n", "a: 1\na: 2\n", "1: a\n", "true: b\n", "NaN", "[[[[", "0_"),
]
"""Pieces of YAML that readers stumble over."""


@st.composite
def damaged(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text with pieces put in, taken out and exchanged."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 0, 1, 2, 5, 20])))
        piece = draw(
            st.sampled_from(MORSELS)
            | st.text(max_size=4)
            | st.sampled_from(WORDS)
            | st.sampled_from([text[start:end] * 2])
        )
        text = text[:start] + piece + text[end:]
    return text


@cache
def vectors() -> list[dict[str, Any]]:
    """The requests of the language vectors."""
    found = []
    for path in sorted((HERE / "vectors" / "hot").glob("*.yaml")):
        found += yaml.load(path.read_text(), yaml.CSafeLoader)
    return found


@cache
def seeds() -> list[str]:
    """Real templates, the shorter ones."""
    texts = [one["template"] for one in vectors() if isinstance(one.get("template"), str)]
    examples = [one.template for words in written().values() for one in words.examples]
    return sorted({one for one in (*texts, *examples) if len(one) < 2000}, key=len)


@st.composite
def changed(draw: st.DrawFn, value: Any, inner: st.SearchStrategy[Any]) -> Any:
    """JSON with something in it exchanged, taken out, doubled or wrapped up."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(0, 3))):
        places = list(_places(value))
        if not places:
            return draw(inner)
        holder, key = draw(st.sampled_from(places))
        match draw(st.integers(0, 4)):
            case 0:
                del holder[key]
            case 1:
                holder[key] = [holder[key]]
            case 2:
                holder[key] = {draw(st.sampled_from(WORDS)): holder[key]}
            case 3 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case _:
                holder[key] = draw(inner)
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict | list):
            inner = list(one.items()) if isinstance(one, dict) else list(enumerate(one))
            found += [(one, key) for key, _ in inner]
            waiting += [each for _, each in inner]
    return found


@cache
def real_maps() -> list[Any]:
    """The seeds as maps."""
    return [load(text).plain() for text in seeds() if _loads(text)]


def _loads(text: str) -> bool:
    try:
        return isinstance(yaml.load(text, yaml.CSafeLoader), dict)
    except (yaml.YAMLError, ValueError):
        return False


TEXTS = st.deferred(
    lambda: (
        st.text(max_size=60)
        | st.lists(st.sampled_from(MORSELS), max_size=12).map("".join)
        | damaged(st.sampled_from(seeds()))
        | VALUES.map(dumped)
    )
)
REAL = st.deferred(
    lambda: st.sampled_from(real_maps()).flatmap(lambda value: changed(value, FIELD))
)
TEXTS_OF_TEMPLATES = st.deferred(lambda: damaged(st.sampled_from(seeds())) | TEMPLATES.map(dumped))

# -- arguments of functions ---------------------------------------------------------------------

ODD = st.sampled_from(
    [float("nan"), float("inf"), -0.0, 1e308, 2**70, -1, "\ud800", "", "a" * 300, "0", "1_0", "٣"]
)
KNOWN = st.sampled_from(["a", "b", "r", "g", "m", "f", "value", "show", "x", 0, "1"])
PLAIN = st.recursive(
    SCALARS | ODD | KNOWN,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*NAMES, "x", "keys", "0"]), inner, max_size=3)
    ),
    max_leaves=8,
)
UNKNOWNS = st.lists(OF_NAMES, max_size=2).map(lambda names: {"$unknown": names})
COMPUTED = st.builds(
    lambda value: {"$computed": value},
    PLAIN | UNKNOWNS | st.lists(PLAIN | UNKNOWNS, max_size=3)
    | st.dictionaries(OF_NAMES, PLAIN | UNKNOWNS, max_size=3),
)  # fmt: skip
ARGUMENT = PLAIN | COMPUTED
FREE = ARGUMENT | st.lists(ARGUMENT, max_size=4) | st.dictionaries(
    st.sampled_from(["template", "params", "for_each", "permutations", "expression", "data",
                     "scheme", "host", "port", "path", "query", "fragment", "password", "a"]),
    ARGUMENT, max_size=4,
)  # fmt: skip


@cache
def shapes() -> dict[str, list[Any]]:
    """Arguments from the examples of the reference, by the full name of the function."""
    found: dict[str, list[Any]] = {name: [] for name in REGISTRY}
    for words in written().values():
        for example in words.examples:
            for name, args in _calls(load(example.template).plain()):
                grammar = example.grammar
                for known in (grammar.functions.get(name), grammar.condition_functions.get(name)):
                    if known in found:
                        found[known].append(args)
    return found


def _calls(value: Any) -> list[tuple[str, Any]]:
    calls: list[tuple[str, Any]] = []
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict):
            calls += one.items()
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return calls


@st.composite
def _call(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(sorted(REGISTRY)))
    known = shapes()[name]
    if known and draw(st.integers(0, 3)):
        return {"function": name, "args": draw(changed(draw(st.sampled_from(known)), ARGUMENT))}
    return {"function": name, "args": draw(FREE)}


FUNCTION_CALLS = _call()

# -- environments -------------------------------------------------------------------------------

TYPES = ["A::A", "B::*", "B::B", "*", "OS::Heat::*", "OS::Heat::Value", "c.yaml", "OS::Nope", "d.x"]
ENTRIES = st.dictionaries(
    st.sampled_from([*TYPES, "base_url"]), st.sampled_from(TYPES) | st.none(), max_size=4
)
OF_RESOURCE = st.recursive(
    st.fixed_dictionaries(
        {},
        optional={
            "hooks": st.sampled_from(["pre-create", ["post-delete"], [], "never"]) | VALUES,
            "restricted_actions": st.sampled_from(["update", ["replace"], "none"]) | VALUES,
            "A::A": st.sampled_from(TYPES),
        },
    ),
    lambda inner: st.dictionaries(st.sampled_from(["r", "r*", "[r]", "?", "[", "*"]), inner),
    max_leaves=4,
)
PARAMETER_NAMES = ["s", "n", "l", "j", "b", "none"]
SETTINGS = st.dictionaries(
    st.sampled_from(PARAMETER_NAMES), VALUES | st.sampled_from(["1", "{}", "a,b", "true"])
)
STRATEGY = st.sampled_from(["overwrite", "merge", "deep_merge", "odd"])
ENVIRONMENTS = st.fixed_dictionaries(
    {},
    optional={
        "parameters": SETTINGS,
        "parameter_defaults": SETTINGS,
        "resource_registry": st.builds(
            lambda entries, named: {**entries, **({"resources": named} if named else {})},
            ENTRIES,
            st.none() | st.dictionaries(st.sampled_from(["r", "r*", "*", "x"]), OF_RESOURCE),
        )
        | VALUES,
        "parameter_merge_strategies": st.dictionaries(
            st.sampled_from([*PARAMETER_NAMES, "default"]), STRATEGY | VALUES
        ),
        "event_sinks": VALUES
        | st.lists(st.fixed_dictionaries({"type": st.just("zaqar-queue")},
                                         optional={"target": VALUES, "ttl": VALUES})),
        "encrypted_param_names": VALUES,
    },
)  # fmt: skip
MERGED_FOR = """\
heat_template_version: 2021-04-16
parameters:
  s: {type: string}
  n: {type: number}
  l: {type: comma_delimited_list}
  j: {type: json}
  b: {type: boolean}
"""
MERGES = st.builds(
    lambda start, texts, kind, resource: {
        "start": start,
        "files": {f"e{index}": text for index, text in enumerate(texts)},
        "template": MERGED_FOR,
        "type": kind,
        "resource": resource,
    },
    ENVIRONMENTS | ENVIRONMENTS.map(dumped),
    st.lists(ENVIRONMENTS.map(dumped) | damaged(ENVIRONMENTS.map(dumped)), max_size=3),
    st.sampled_from(TYPES),
    st.sampled_from(["r", "rr", "x", "[r]", ""]),
)

# -- templates ----------------------------------------------------------------------------------


def cases(templates: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Requests with a template."""
    return templates.map(lambda template: {"template": template})


REQUESTS = st.builds(
    lambda template, environment, parameters, child: {
        "template": template,
        **({"environment": environment} if environment is not None else {}),
        **({"parameters": parameters} if parameters else {}),
        **({"files": {"c.yaml": child}} if child is not None else {}),
    },
    TEXTS_OF_TEMPLATES | REAL | CFN_TEMPLATES,
    st.none() | ENVIRONMENTS,
    st.dictionaries(OF_NAMES, VALUES, max_size=2),
    st.none() | TEXTS_OF_TEMPLATES,
)

# Templates that have a chance to be fine: no parameters, calls from the examples of the reference.
GOOD = st.sampled_from(
    ["x", "a", "b", 1, 0, True, False, None, [], {}, ["a"], ["a", "b"], {"a": "b"}, "a,b", ""]
)


ATTRIBUTES = {
    "OS::Heat::Value": [["value"], ["value", 0], ["value", "a"], ["show"], []],
    "OS::Heat::RandomString": [["value"], ["show"], []],
    "OS::Heat::TestResource": [["output"], ["output", "a", 1], ["show"]],
    "OS::Heat::None": [["any"], ["show"]],
    "OS::Heat::ResourceGroup": [["refs"], ["resource.0"], ["0", "value"], ["any"]],
    "c.yaml": [["o"], ["resource.x"], ["none"], ["show"]],
}
Made = dict[str, str]
"""Resources that may be referred to, with their types."""


@st.composite
def _fine_value(draw: st.DrawFn, made: Made, depth: int = 0) -> Any:
    """A value with calls that are well-formed, mostly."""
    kind = draw(st.integers(0, 9 if depth < 3 else 3))
    value = _fine_value(made, depth=depth + 1)
    match kind:
        case 4 | 5:
            return [draw(value) for _ in range(draw(st.integers(0, 3)))]
        case 6:
            return draw(st.dictionaries(OF_NAMES, value, max_size=2))
        case 7 | 8 | 9:
            return draw(_fine_call(made, depth))
        case _:
            return draw(GOOD)


@st.composite
def _fine_call(draw: st.DrawFn, made: Made, depth: int) -> Any:
    value = _fine_value(made, depth=depth + 1)
    names = sorted(made) if draw(st.integers(0, 9)) else ["a", "b", "c"]
    text = st.sampled_from(["a", "x,y", ""])
    if names:
        text |= st.sampled_from(names).map(lambda name: {"get_resource": name})
        text |= _reading(names, made)
    listed = st.lists(text, max_size=3) | st.just({"str_split": [",", "x,y"]})
    mapped = st.dictionaries(OF_NAMES, text, max_size=2)
    if not draw(st.integers(0, 5)):  # what may well be wrong
        listed, mapped, text = listed | value, mapped | value, text | value
    condition = st.sampled_from(["a", "b", True, False]) | st.builds(
        lambda one, other: {"equals": [one, other]}, GOOD, GOOD
    )
    calls = {
        "list_join": st.tuples(st.just(","), listed).map(list),
        "str_replace": st.builds(lambda t, p: {"template": t, "params": p}, text, mapped),
        "str_split": st.tuples(st.just(","), text).map(list),
        "digest": st.tuples(st.sampled_from(["md5", "sha1"]), text).map(list),
        "map_merge": st.lists(mapped, max_size=2),
        "map_replace": st.tuples(mapped, st.just({"keys": {"a": "z"}})).map(list),
        "list_concat": st.lists(listed, max_size=2),
        "list_concat_unique": st.lists(listed, max_size=2),
        "contains": st.tuples(value, listed).map(list),
        "filter": st.tuples(listed, listed).map(list),
        "repeat": st.builds(
            lambda t, items: {"template": t, "for_each": {"a": items}}, value, listed
        ),
        "if": st.tuples(condition, value, value).map(list) | st.tuples(condition, value).map(list),
        "yaql": st.builds(lambda data: {"expression": "$.data", "data": data}, value),
        "make_url": st.builds(
            lambda host, port: {"host": host, "port": port}, text, st.sampled_from([80, "1", 0])
        ),
    }
    name = draw(st.sampled_from([*sorted(calls), *["get_attr"] * (2 * bool(names))]))
    return draw(_reading(names, made)) if name == "get_attr" else {name: draw(calls[name])}


def _reading(names: list[str], made: Made) -> st.SearchStrategy[Any]:
    return st.sampled_from(names).flatmap(
        lambda name: st.sampled_from(ATTRIBUTES[made.get(name, "c.yaml")]).map(
            lambda steps: {"get_attr": [name, *steps]}
        )
    )


@st.composite
def _fine_template(draw: st.DrawFn) -> dict[str, Any]:
    conditions = st.booleans() | st.sampled_from(["a", "b"])
    resources: dict[str, Any] = {}
    made: Made = {}
    for name in draw(st.lists(OF_NAMES, unique=True, max_size=3)):
        kind = draw(st.sampled_from([*sorted(ATTRIBUTES), "OS::Heat::Value", "OS::Heat::Value"]))
        value = _fine_value(dict(made))
        properties = {
            "OS::Heat::Value": st.fixed_dictionaries({"value": value}),
            "OS::Heat::RandomString": st.fixed_dictionaries(
                {}, optional={"length": st.just(8) | value, "salt": value}
            ),
            "OS::Heat::TestResource": st.fixed_dictionaries(
                {}, optional={"value": value, "wait_secs": value, "fail": value}
            ),
            "OS::Heat::None": st.dictionaries(OF_NAMES, value, max_size=2),
            "c.yaml": st.fixed_dictionaries({}, optional={"p": value}),
            "OS::Heat::ResourceGroup": st.fixed_dictionaries(
                {"resource_def": st.fixed_dictionaries(
                    {"type": st.sampled_from(["OS::Heat::Value", "OS::Heat::None"])},
                    optional={"properties": st.fixed_dictionaries({"value": value})})},
                optional={"count": st.just(2) | value}),
        }[kind]  # fmt: skip
        resource: dict[str, Any] = {"type": kind, "properties": draw(properties)}
        for key, strategy in (
            ("metadata", st.dictionaries(OF_NAMES, value, max_size=1)),
            ("depends_on", OF_NAMES),
            ("condition", conditions),
            ("deletion_policy", st.sampled_from(["Retain", "delete", "snapshot"])),
            ("external_id", st.just("x")),
        ):
            if not draw(st.integers(0, 9)):
                resource[key] = draw(strategy)
        resources[name] = resource
        made[name] = kind
    outputs = draw(st.lists(_fine_value(made), max_size=2))
    return {
        "heat_template_version": draw(st.sampled_from(["2021-04-16", "2021-04-16", "2018-08-31"])),
        "conditions": {"a": draw(st.booleans()), "b": {"not": "a"}},
        "resources": resources,
        "outputs": {
            f"o{index}": {
                "value": one,
                **({"condition": draw(conditions)} if not draw(st.integers(0, 6)) else {}),
            }
            for index, one in enumerate(outputs)
        },
    }


FINE_TEMPLATES = _fine_template()
VERSIONS = sorted({value for _, value in BY_VERSION})

LINTED = st.builds(
    lambda root, child, environment: {
        "root.yaml": root,
        **({"c.yaml": child} if child is not None else {}),
        **({"env.yaml": environment} if environment is not None else {}),
    },
    TEXTS_OF_TEMPLATES | TEXTS | FINE_TEMPLATES.map(dumped),
    st.none() | TEXTS_OF_TEMPLATES,
    st.none() | ENVIRONMENTS.map(dumped) | damaged(ENVIRONMENTS.map(dumped)),
)

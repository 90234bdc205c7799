"""Small inputs that ask for the impossible: each must end in a value or a problem, soon."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hearth.resources.registry import default_catalog
from hearth.template import NOWHERE, Environment, Limits, compile_template, load
from hearth.template.budget import spending, weight
from hearth.template.check import examine
from hearth.template.describe import validated
from hearth.template.parameters import ParameterType
from tests.adapters.catalog import Catalog
from tests.fuzz.checks import draft, files_are_linted

HOT = "heat_template_version: 2021-04-16\n"
FULL = Limits().max_template_size
TEST, REAL = Catalog(), default_catalog()

# -- what is done to an input -------------------------------------------------------------------


def loaded(text: str) -> Callable[[], object]:
    """Load a text and take it out of its nodes."""
    return lambda: weight(load(text).plain(), 10**12)


def made(
    template: str,
    parameters: dict[str, Any] | None = None,
    files: dict[str, str] | None = None,
    environment: Any = None,
    catalog: Any = TEST,
    examined: bool = True,
) -> Callable[[], object]:
    """Everything that becomes of a template before a stack is made, and what its author is told."""

    def make() -> object:
        known = files or {}
        problems = len(examine(draft(load(template), known))) if examined else 0
        module = compile_template(
            template,
            files=known,
            environment=Environment.parse(environment),
            catalog=catalog,
        )
        with spending():  # as one request does
            lenient = module.specialise({}, stack_name="s", strict=False)
            validated(lenient, {}, show_nested=True)
            program = module.specialise(parameters or {}, stack_name="s", stack_id="i")
            problems += len(program.check_values(NOWHERE).problems)
            failed = sum(one.evaluate(NOWHERE)[1] is not None for one in program.outputs.values())
        return f"{problems} problems, {failed} outputs with errors"

    return make


def linted(**texts: str) -> Callable[[], object]:
    """What lint says of files."""
    return lambda: files_are_linted({f"{name}.yaml": text for name, text in texts.items()})


def merged(*files: str, **types: ParameterType) -> Callable[[], object]:
    """Environments as one, for parameters of these types."""
    names = {f"e{index}": text for index, text in enumerate(files)}
    return lambda: Environment().merge(list(names), names, types).key[:20]


def output(expression: str, count: int = 1) -> str:
    """A template with outputs of one expression, in JSON so that it may be any text."""
    lines = [f"  o{index}: {{value: {expression}}}\n" for index in range(count)]
    return f"{HOT}outputs:\n{''.join(lines)}"


def values(expression: str, count: int = 1) -> str:
    """A template with resources that have one expression as their value."""
    lines = [
        f"  r{index}: {{type: OS::Heat::Value, properties: {{value: {expression}}}}}\n"
        for index in range(count)
    ]
    return f"{HOT}resources:\n{''.join(lines)}"


def laughs(levels: int, width: int, first: str = "[lol]") -> str:
    """Aliases of aliases."""
    lines = [f"a0: &a0 {first}\n"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]\n" for n in range(1, levels + 1)]
    return "".join(lines)


def nested(opening: str, closing: str, times: int, inside: str = "a") -> str:
    """Something in itself, many times."""
    return f"{opening * times}{inside}{closing * times}"


# -- the inputs ---------------------------------------------------------------------------------

LONG = "a" * 100_000
OPENING = '{"a":'
LISTS = json.dumps([[n] for n in range(20_000)])
NUMBERS = json.dumps(list(range(40_000)))
WORDS = json.dumps(["word"] * 20_000)
EVIL = "'(a+)+$'"
YAQL_LOOP = "range(150).select(range(150).select(range(150).sum()).sum()).sum()"

BOMBS: dict[str, Callable[[], object]] = {
    # texts
    "aliases of aliases": loaded(laughs(30, 10)),
    "aliases of aliases in a template": made(HOT + "outputs: {o: {value: 1}}\n" + laughs(9, 9)),
    "aliases just below the limit": loaded(laughs(5, 14)),
    "aliases of a long text": loaded(laughs(5, 14, json.dumps("a" * 100_000))),
    "merges of merges": loaded(
        "a0: &a0 {" + ", ".join(f"k{n}: 1" for n in range(900)) + "}\n"
        + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, m{n}: 1}}\n" for n in range(1, 2000))
    ),
    "lists in lists": loaded(nested("[", "]", 200_000)),
    "lists in lists that never end": loaded("[" * 500_000),
    "maps in maps": loaded(nested("{a: ", "}", 90_000)),
    "lines of dashes": loaded("- " * 200_000),
    "indented maps": loaded("".join(" " * n + "a:\n" for n in range(1000))),
    "deep JSON": loaded(nested('{"a":', "}", 80_000, "1")),
    "many keys": loaded("".join(f"k{n}:\n" for n in range(60_000))),
    "many equal keys": linted(root="k:\n" * 60_000),
    "many anchors": loaded("".join(f"- &a{n}\n" for n in range(40_000))),
    "many documents": loaded("---\n" * 100_000),
    "many comments": loaded("#\n" * 200_000 + HOT),
    "one long line": loaded('"' + "a" * (FULL - 2) + '"'),
    "a text that is too long": loaded("a" * 10_000_000),
    "a text of odd characters": loaded('"' + "\ud800" * 100_000 + '"'),
    "escapes": loaded('"' + "\\U0001F600" * 50_000 + '"'),
    "a long number": loaded("1" * 500_000),
    "a long fraction": loaded("1." + "1" * 500_000),
    "a long number to base 60": loaded("1" + ":59" * 170_000),
    "long numbers to base 60": loaded("[" + ", ".join(["1" + ":59" * 300] * 500) + "]"),
    "a long hexadecimal number": loaded("0x" + "f" * 500_000),
    "a JSON number without end": loaded('{"a": ' + "1" * 500_000 + "}"),
    "a large exponent": loaded('{"a": 1e' + "9" * 5000 + "}"),
    "a long tag": loaded("!<" + "a" * 500_000 + "> a"),
    "underscores": loaded("1" + "_" * 500_000 + "x"),
    "a block with a large indentation": loaded("|9\n" + " " * 500_000 + "a"),
    "much to ignore": linted(root=HOT + "# hearth: ignore[" + "a," * 200_000 + "]\n"),
    "almost a comment": linted(root=HOT + " #" * 250_000 + "hearth:\n"),
    "quotes that do not close": linted(root=HOT + "a: " + "\\\"" * 100_000 + "\n"),
    # templates
    "many resources": made(values("1", 8000)),
    "many unknown types": made(
        HOT + "resources:\n" + "".join(f"  r{n}: {{type: T{n}}}\n" for n in range(9_000))
    ),
    "many unknown names": made(values("{get_attr: [nope, value]}", 900)),
    "many parameters": made(
        HOT + "parameters:\n" + "".join(f"  p{n}: {{type: string}}\n" for n in range(20_000))
    ),
    "a long chain": made(
        HOT + "resources:\n" + "".join(
            f"  r{n}: {{type: OS::Heat::None, depends_on: r{n + 1}}}\n" for n in range(999)
        ) + "  r999: {type: OS::Heat::None}\n"
    ),
    "a long circle": made(
        HOT + "resources:\n" + "".join(
            f"  r{n}: {{type: OS::Heat::None, depends_on: r{(n + 1) % 1000}}}\n"
            for n in range(1000)
        )
    ),
    "everything waits for everything": made(
        HOT + "parameter_groups: []\nresources:\n"
        + "".join(f"  r{n}: {{type: OS::Heat::None}}\n" for n in range(899))
        + "  x: {type: OS::Heat::None, depends_on: &all [" + ", ".join(f"r{n}" for n in range(899))
        + "]}\n"
        + "".join(f"  s{n}: {{type: OS::Heat::None, depends_on: *all}}\n" for n in range(100))
    ),
    "everything refers to everything": made(
        HOT + "resources:\n"
        + "".join(f"  r{n}: {{type: OS::Heat::None}}\n" for n in range(180))
        + "  x: {type: OS::Heat::Value, properties: {value: &all ["
        + ", ".join(f"{{get_resource: r{n}}}" for n in range(180)) + "]}}\n"
        + "".join(
            f"  s{n}: {{type: OS::Heat::Value, properties: {{value: *all}}}}\n" for n in range(180)
        )
    ),
    "a chain of conditions": made(
        HOT + "conditions:\n  c0: {equals: [a, a]}\n"
        + "".join(f"  c{n}: {{not: c{n - 1}}}\n" for n in range(1, 20_000))
        + "outputs: {o: {value: {if: [c19999, 1, 2]}}}\n"
    ),
    "conditions that double": made(
        HOT + "conditions:\n  c0: {equals: [a, a]}\n"
        + "".join(f"  c{n}: {{and: [c{n - 1}, c{n - 1}]}}\n" for n in range(1, 40))
        + "outputs: {o: {value: {if: [c39, 1, 2]}}}\n"
    ),
    "choices in choices": made(output(nested("{if: [true, ", ", 1]}", 40))),
    "choices that double": made(
        HOT + "parameters: {p: {type: boolean, default: true}}\nconditions: {c: {get_param: p}}\n"
        + "outputs:\n  o0: {value: &v0 a}\n"
        + "".join(
            f"  o{n}: {{value: &v{n} {{if: [c, *v{n - 1}, *v{n - 1}]}}}}\n" for n in range(1, 16)
        )
    ),
    "functions in functions": made(output(nested("{list_concat: [", "]}", 45, "[a]"))),
    "a template that includes itself": made(
        HOT + "resources: {a: {type: c.yaml}, b: {type: c.yaml}}\n",
        files={"c.yaml": HOT + "resources: {a: {type: c.yaml}, b: {type: c.yaml}}\n"},
    ),
    "children for every name": made(
        HOT + "resources:\n" + "".join(f"  r{n}: {{type: c.yaml}}\n" for n in range(900)),
        files={"c.yaml": HOT + "resources:\n" + "".join(
            f"  s{n}: {{type: OS::Heat::None}}\n" for n in range(900))},
        environment={"resource_registry": {"resources": {
            f"r{n}": {"s1": {"hooks": "pre-create"}, f"s{n}": {}} for n in range(900)}}},
    ),
    "a group without end": made(
        HOT + "resources: {g: {type: OS::Heat::ResourceGroup, properties: {count: 1000000000,\n"
        "  resource_def: {type: OS::Heat::None}}}}\n",
        catalog=REAL,
    ),
    "a random text without end": made(
        HOT + "resources: {g: {type: OS::Heat::RandomString, properties: {length: 1000000000}}}\n",
        catalog=REAL,
    ),
    "groups of groups": made(
        HOT + "resources:\n  g: {type: OS::Heat::ResourceGroup, properties: {resource_def: "
        + nested("{type: OS::Heat::ResourceGroup, properties: {count: 100, resource_def: ", "}}", 8,
                 "{type: OS::Heat::None}") + "}}}\n",
        catalog=REAL,
    ),
    # functions
    "a text that grows": made(
        HOT + f"parameters: {{p: {{type: string, default: {LONG}}}}}\noutputs: {{o: {{value: "
        "{str_replace: {template: {get_param: p}, params: {a: {get_param: p}}}}}}\n"
    ),
    "many long texts": made(
        HOT + f"parameters: {{p: {{type: string, default: {'a' * 2500}}}}}\n"
        + output("{str_replace: {template: {get_param: p}, params: {a: {get_param: p}}}}", 900)
        .removeprefix(HOT)
    ),
    "many long texts in properties": made(
        HOT + f"parameters: {{p: {{type: string, default: {'a' * 2500}}}}}\n"
        + values("{str_replace: {template: {get_param: p}, params: {a: {get_param: p}}}}", 900)
        .removeprefix(HOT)
    ),
    "an error about something huge": made(
        HOT + "parameter_groups: []\noutputs:\n  o: {value: {list_join: ['', [1, &l "
        + json.dumps(LONG) + "]]}}\n  p: {value: {list_concat: [{a: ["
        + ", ".join(["*l"] * 1000) + "]}]}}\n"
    ),
    "a long text in many places": made(
        HOT + f"parameters: {{p: {{type: string, default: {LONG * 2}}}}}\n"
        + values("[" + ", ".join(["{get_param: p}"] * 9000) + "]").removeprefix(HOT)
    ),
    "a long text in many places of one text": made(
        HOT + f"parameters: {{p: {{type: string, default: {LONG * 2}}}}}\n"
        + output("{str_replace: {template: a, params: {a: ["
                 + ", ".join(["{get_param: p}"] * 9000) + "]}}}").removeprefix(HOT)
    ),
    "a file in many places": made(
        values("{get_file: f}", 900), files={"f": LONG * 5}
    ),
    "many long lists": made(
        HOT + f"parameters: {{p: {{type: json, default: {WORDS}}}}}\n"
        + output("{list_concat: [" + ", ".join(["{get_param: p}"] * 20) + "]}", 300)
        .removeprefix(HOT)
    ),
    "repeat of much": made(
        output("{repeat: {template: [" + "1, " * 5000 + "1], for_each: {x: " + WORDS + "}}}")
    ),
    "repeat of products": made(
        output("{repeat: {template: x, for_each: {"
               + ", ".join(f"m{n}: [a, b, c, d]" for n in range(40)) + "}}}")
    ),
    "repeat in repeat": made(output(nested(
        "{repeat: {for_each: {x: [a, b, c, d, e, f, g, h, i, j]}, template: ", "}}", 20, "x")), ),
    "many repeats": made(
        output("{repeat: {template: x, for_each: {x: [a, b, c, d, e, f, g, h, i, j],"
               " y: [a, b, c, d, e, f, g, h, i, j], z: [a, b, c, d, e, f, g, h, i, j],"
               " w: [a, b, c, d, e, f, g, h, i, j], v: [a, b, c, d, e, f, g, h, i]}}}", 400)
    ),
    "a product of keys": made(
        output("{str_replace: {template: " + "a" * 100_000 + ", params: {"
               + ", ".join(f"b{n}: c" for n in range(10_000)) + "}}}")
    ),
    "unique items of many": made(
        HOT + f"parameters: {{p: {{type: json, default: {LISTS}}}}}\n"
        "outputs: {o: {value: {list_concat_unique: [{get_param: p}, {get_param: p}]}}}\n"
    ),
    "filter many by many": made(
        HOT + f"parameters: {{p: {{type: json, default: {NUMBERS}}}}}\n"
        "outputs: {o: {value: {filter: [{get_param: p}, {list_concat: [{get_param: p}, [x]]}]}}}\n"
    ),
    "yaql without end": made(output('{yaql: {expression: "sequence().select($ * 2)"}}')),
    "yaql powers": made(output('{yaql: {expression: "pow(9, pow(9, 9))"}}')),
    "yaql texts": made(output('{yaql: {expression: "\'a\' * 1000000000"}}')),
    "yaql numbers in texts": made(output('{yaql: {expression: "format(\'{0:999999999}\', 1)"}}')),
    "many yaql loops": made(
        output('{yaql: {expression: "' + YAQL_LOOP + '"}}', 100), examined=False
    ),
    "yaql that is deep": made(
        output('{yaql: {expression: "' + nested("(", ")", 5000, "1") + '"}}')
    ),
    "yaql that is long": made(output('{yaql: {expression: "' + "1 + " * 50_000 + '1"}}')),
    "yaql that calls itself": made(output('{yaql: {expression: "def(f, f()) -> f()"}}')),
    "yaql patterns": made(output(
        '{yaql: {expression: "regex(\'(a+)+$\').matches(' + "'" + "a" * 40 + "!'" + ')"}}')),
    "many yaql patterns": made(output(
        '{yaql: {expression: "regex(\'(a+)+$\').matches(' + "'" + "a" * 40 + "!'" + ')"}}', 300)),
    # parameters
    "a pattern that explodes": made(
        HOT + f"parameters: {{p: {{type: string, constraints: [{{allowed_pattern: {EVIL}}}]}}}}\n",
        {"p": "a" * 40 + "!"},
    ),
    "many patterns that explode": made(
        HOT + "parameters:\n" + "".join(
            f"  p{n}: {{type: string, constraints: [{{allowed_pattern: {EVIL}}}]}}\n"
            for n in range(300)
        ),
        {f"p{n}": "a" * 40 + "!" for n in range(300)},
    ),
    "many patterns that nearly explode": made(
        HOT + "parameters:\n" + "".join(
            f"  p{n}: {{type: string, constraints: [{{allowed_pattern: '(a|a)*b|a*'}}]}}\n"
            for n in range(300)
        ),
        {f"p{n}": "a" * 20 for n in range(300)},
    ),
    "a pattern of repetitions": made(
        HOT + "parameters: {p: {type: string, constraints: [{allowed_pattern: "
        + "'" + nested("(", "{1000})", 30) + "'" + "}]}}\n",
        {"p": "a" * 1000},
    ),
    "a large pattern": made(
        HOT + "parameters: {p: {type: string, constraints: [{allowed_pattern: 'a{999999999}'}]}}\n",
        {"p": "a"},
    ),
    "many allowed values": made(
        HOT + f"parameters: {{p: {{type: json}}, q: {{type: comma_delimited_list, constraints: "
        f"[{{allowed_values: {json.dumps([str(n) for n in range(20_000)])}}}]}}}}\n",
        {"p": 1, "q": [str(19_999)] * 20_000},
    ),
    "a parameter that is deep": made(
        HOT + "parameters: {p: {type: json}}\n", {"p": nested("[", "]", 100_000, "1")}
    ),
    "a number with many digits": made(
        HOT + "parameters: {p: {type: number}, q: {type: json}}\n", {"p": "9" * 99_999, "q": "9"}
    ),
    "a number to the power": made(
        HOT + "parameters: {p: {type: number, constraints: [{modulo: {step: 7, offset: 1}}]}}\n",
        {"p": "1e308"},
    ),
    "hidden values that are everywhere": made(
        HOT + "parameters: {p: {type: comma_delimited_list, hidden: true, default: '"
        + ",".join(str(n) for n in range(20_000)) + "'}}\n"
        + output("{list_join: [x, [1]]}", 500).removeprefix(HOT)
    ),
    # environments
    "a registry of wildcards": made(
        HOT + "resources:\n" + "".join(f"  r{n}: {{type: A{n}}}\n" for n in range(900)),
        environment={"resource_registry": {f"A{n}*": f"AB{n}*" for n in range(5000)}},
    ),
    "wildcards that grow": made(
        HOT + "resources: {r: {type: A}}\n",
        environment={"resource_registry": {"*": "AB*", "A*": "AC*", "AA*": "ACA*", "AC*": "*"}},
    ),
    "patterns of names": made(
        HOT + "resources: {" + "a" * 200 + ": {type: OS::Heat::None}}\n",
        environment={"resource_registry": {"resources": {"*a" * 100 + "b": {"hooks": []}}}},
    ),
    **{
        f"maps of depth {depth} as texts, merged": merged(
            *["parameter_merge_strategies: {default: deep_merge}\n"
              f"parameters: {{p: '{nested(OPENING, '}', depth, '1')}'}}\n"] * 2,
            p=ParameterType.JSON,
        )
        for depth in (101, 2000, 40_000)
    },
    "texts glued to each other": merged(
        *[f"parameter_merge_strategies: {{default: merge}}\nparameters: {{p: {LONG}}}\n"] * 100
    ),
    "hooks at all depths": merged(
        "resource_registry: {resources: " + nested("{'*': ", "}", 90, "{hooks: pre-create}") + "}\n"
    ),
    "an environment with everything wrong": linted(
        root=HOT,
        env="parameters:\n" + "".join(f"  p{n}: 1\n" for n in range(20_000)),
    ),
}  # fmt: skip

"""The tables of the language reference, each generated from the code that it describes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import fields

from hearth.authoring.language.examples import written
from hearth.authoring.language.history import CFN, HOT, presence, variant
from hearth.authoring.language.markdown import as_json, code, codes, table
from hearth.authoring.rules import RULES
from hearth.model.state import Hook, RestrictedAction
from hearth.model.value import ValueKind
from hearth.schema import Prop
from hearth.schema.convert import BAD, CONVERT
from hearth.schema.patterns import PATIENCE_S
from hearth.template.budget import MADE_BYTES, MADE_BYTES_MAX, RESOURCE_BYTES, RESOURCE_STEPS
from hearth.template.budget import STEPS as YAQL_STEPS
from hearth.template.budget import STEPS_MAX as YAQL_STEPS_MAX
from hearth.template.compile import TREE_RESOURCES_MAX
from hearth.template.environment import SECTIONS, SINK_KEYS, SINKS
from hearth.template.function import TEXT_MAX
from hearth.template.functions.data import REPEAT_MAX
from hearth.template.limits import Limits
from hearth.template.merge import STRATEGIES
from hearth.template.parameters import CFN_NAMES, FITS, ParameterType, parse_value
from hearth.template.versions import GRAMMARS, HOT_KEY, Grammar

# -- versions -----------------------------------------------------------------------------------


def versions() -> str:
    """Return a table of the versions of HOT, with the changes in each."""
    rows = []
    before: Grammar | None = None
    for grammar in HOT:
        alias = codes(grammar.aliases)
        brought = (
            "; ".join(_changes(before, grammar)) if before is not None else "the first version"
        )
        rows.append([code(grammar.value), alias, brought or "nothing new"])
        before = grammar
    return table([code(HOT_KEY), "or", "what it brings"], rows)


def cfn_versions() -> str:
    """Return a table of the CFN formats."""
    first, last = sorted(CFN, key=lambda grammar: len(grammar.functions))
    changes = "; ".join(_changes(first, last))
    return table(
        ["version key", "its only value", "format"],
        [
            [code(first.key), code(first.value), "the smaller format"],
            [code(last.key), code(last.value), f"the larger format; in addition: {changes}"],
        ],
    )


def _changes(before: Grammar, after: Grammar) -> Iterable[str]:
    """Yield the differences between a version and its predecessor: additions and removals."""
    for nouns, words_in in _WORDS.items():
        old, new = words_in(before), words_in(after)
        additions = [
            name for name in new if name not in old and name not in (before.key, after.key)
        ]
        if additions:
            yield f"{nouns[len(additions) > 1]} {codes(additions)}"
    for name in after.functions:
        old_one, new_one = variant(before, name), variant(after, name)
        if old_one and new_one and old_one != new_one:
            yield f"{code(name)}: {_variant_words(name, new_one)}"
    removals = [
        name for name, function in before.functions.items() if function and not variant(after, name)
    ]
    if removals:
        yield f"removes {codes(removals)}"


_WORDS: Mapping[tuple[str, str], Callable[[Grammar], Iterable[str]]] = {
    ("section", "sections"): lambda grammar: grammar.sections,
    ("resource key", "resource keys"): lambda grammar: grammar.resource_keys,
    ("output key", "output keys"): lambda grammar: grammar.output_keys,
    ("parameter key", "parameter keys"): lambda grammar: sorted(grammar.parameter_keys),
    ("constraint", "constraints"): lambda grammar: grammar.constraints,
    ("deletion policy", "deletion policies"): lambda grammar: sorted(grammar.deletion_policies),
    ("function", "functions"): lambda grammar: [
        n for n, function in grammar.functions.items() if function
    ],
    ("in conditions", "in conditions"): lambda grammar: grammar.condition_functions,
}
"""For each type of feature, in singular and plural, a function that returns the features of a
version.
"""


def _variant_words(name: str, variant_name: str) -> str:
    variants = written()[name].variants
    return variants[variant_name].rstrip(".")


# -- sections and keys --------------------------------------------------------------------------


def sections() -> str:
    """Return a table of the sections of HOT and of CFN templates."""
    return _by_word(lambda grammar: grammar.sections)


def resource_keys() -> str:
    """Return a table of the keys of a resource."""
    return _by_word(lambda grammar: grammar.resource_keys)


def output_keys() -> str:
    """Return a table of the keys of an output."""
    return _by_word(lambda grammar: grammar.output_keys)


def _by_word(words_in: Callable[[Grammar], Mapping[str, str]]) -> str:
    """Return a table of HOT keywords, with the versions that have them and their CFN
    equivalents.
    """
    ours = dict.fromkeys(
        keyword for grammar in (*reversed(HOT), *CFN) for keyword in words_in(grammar).values()
    )
    rows = []
    for word in (keyword for keyword in ours if keyword not in [grammar.key for grammar in CFN]):
        theirs = {
            t: cfn for cfn in CFN for t, our_word in words_in(cfn).items() if our_word == word
        }
        hot = presence(lambda grammar, word=word: word in words_in(grammar))  # type: ignore[misc]
        keys = [cfn.key for cfn in CFN if word in words_in(cfn).values()]
        cell = codes(theirs) + (f" ({keys[0]})" if len(keys) == 1 else "")
        if word == HOT_KEY:
            cell = codes(cfn.key for cfn in CFN)
        rows.append([code(word) if hot else "–", hot, cell or "–"])
    return table(["HOT", "versions", "CFN"], rows)


def deletion_policies() -> str:
    """Return a table of the deletion policies and the versions that have them."""
    names = sorted({policy for grammar in GRAMMARS for policy in grammar.deletion_policies})
    rows = [
        [
            code(name),
            presence(lambda grammar, name=name: name in grammar.deletion_policies),  # type: ignore[misc]
            "yes" if all(name in cfn.deletion_policies for cfn in CFN) else "no",
        ]
        for name in names
    ]
    return table(["deletion policy", "HOT", "CFN"], rows)


# -- parameters ---------------------------------------------------------------------------------

SAMPLES: tuple[Any, ...] = (
    "text", "", 12, "12", 1, 1.5, " 1e3 ", "inf", True, "yes", "True",
    "a, b", ["a", 1, None], {"a": 1}, '{"a": 1}',
)  # fmt: skip
"""The values for which the tables show how each type converts them."""


def parameter_types() -> str:
    """Return a table of the parameter types: names, accepted values and results."""
    rows = [
        [code(kind.value), code(CFN_NAMES[kind]), _ACCEPTED[kind][0], _ACCEPTED[kind][1]]
        for kind in ParameterType
    ]
    return table(["HOT", "CFN", "accepts", "result"], rows)


_ACCEPTED = {
    ParameterType.STRING: ("anything", "text; other values as Python writes them"),
    ParameterType.NUMBER: (
        "a number, text that is a number, a boolean",
        "an integer if the text is an integer, else a float; a boolean stays a boolean",
    ),
    ParameterType.LIST: (
        "a list, or text with commas",
        "a list of texts; text is split at every comma and not trimmed; empty text has no items",
    ),
    ParameterType.JSON: (
        "a map, a list, a number, a boolean, or text that is JSON",
        "the value; keys are text; empty text stays empty text",
    ),
    ParameterType.BOOLEAN: (
        "a boolean, or one of the words `t true on y yes 1` and `f false off n no 0`, upper or "
        "lower case",
        "a boolean",
    ),
}


def parameter_samples() -> str:
    """Return a table that shows how each parameter type converts the same values."""

    def cell(kind: ParameterType, value: Any) -> str:
        try:
            return code(_value(parse_value(kind, value)))
        except ValueError:
            return "refused"

    rows = [
        [code(as_json(sample)), *(cell(kind, sample) for kind in ParameterType)]
        for sample in SAMPLES
    ]
    return table(["given", *map(code, ParameterType)], rows)


def property_samples() -> str:
    """Return a table that shows how each property type converts the same values."""
    kinds = [kind for kind in ValueKind if kind is not ValueKind.ANY]

    def cell(kind: ValueKind, value: Any) -> str:
        converted = CONVERT[kind](Prop(kind), value)
        return "refused" if converted is BAD else code(_value(converted))

    rows = [[code(as_json(sample)), *(cell(kind, sample) for kind in kinds)] for sample in SAMPLES]
    return table(["given", *kinds], rows)


def _value(value: Any) -> str:
    return "inf" if value == float("inf") else as_json(value)


def parameter_keys() -> str:
    """Return a table of the keys of a parameter declaration, with their versions."""
    hot = [
        [code(key), presence(lambda grammar, key=key: key in grammar.parameter_keys)]  # type: ignore[misc]
        for key in sorted({key for grammar in HOT for key in grammar.parameter_keys})
    ]
    cfn = sorted({key for grammar in CFN for key in grammar.parameter_keys})
    return f"{table(['key', 'versions'], hot)}\n\nIn CFN: {codes(cfn)}."


def constraints() -> str:
    """Return a table of the constraints, with the types to which they apply, and their versions."""
    rows = []
    for kind, ptypes in FITS.items():
        name, content, rule = _CONSTRAINTS[kind.__name__]
        versions = presence(lambda grammar, name=name: name in grammar.constraints)  # type: ignore[misc]
        on = codes(ptype.value for ptype in ParameterType if ptype in ptypes)
        rows.append([code(name), content, on, versions, rule])
    return table(["constraint", "value", "types", "versions", "requirement"], rows)


_CONSTRAINTS = {
    "Length": (
        "length", "`min`, `max` or both: whole numbers",
        "number of characters, items or keys, bounds included",
    ),
    "Range": ("range", "`min`, `max` or both: numbers", "between the bounds, bounds included"),
    "Modulo": (
        "modulo", "`step` and `offset`: whole numbers",
        "divided by the step, the remainder is the offset; both have the same sign, and the step "
        "is larger",
    ),
    "AllowedValues": (
        "allowed_values", "a list",
        "one of these values; for a list, every item. Both sides are converted to the type first, "
        "items of lists are not",
    ),
    "AllowedPattern": (
        "allowed_pattern", "a regular expression",
        "the first match at the start covers the whole value",
    ),
    "Custom": ("custom_constraint", "a name such as `nova.flavor`", "the cloud confirms the value"),
}  # fmt: skip


def pseudo_parameters() -> str:
    """Return a sentence that lists the pseudo parameters of HOT and CFN."""
    hot = sorted(HOT[-1].pseudo_parameters)
    cfn = sorted(CFN[0].pseudo_parameters)
    return f"In HOT {codes(hot)}; in CFN {codes(cfn)}."


# -- environments, limits, rules ----------------------------------------------------------------


def environment_sections() -> str:
    """Return a table of the sections of an environment."""
    rows = [
        [code(name), "list" if kind is list else "map", _SECTIONS[name]]
        for name, kind in SECTIONS.items()
    ]
    return table(["section", "type", "purpose"], rows)


_SECTIONS = {
    "parameters": "values for the parameters of the root template",
    "parameter_defaults": "values for every template of the tree that declares such a parameter: "
    "they override its default; a given value overrides them",
    "resource_registry": "mappings of types, hooks, restricted actions",
    "parameter_merge_strategies": "how the values of this file and earlier files combine: "
    f"{codes(STRATEGIES)}, by name of the parameter, and `default` for all others",
    "event_sinks": f"where events are sent: maps with {codes(SINK_KEYS)}, "
    f"of the type {codes(SINKS)}",
    "encrypted_param_names": "accepted and kept; not meant for authors",
}


def hooks() -> str:
    """Return the names of the hooks as inline code, separated by commas."""
    return codes(hook.value for hook in Hook)


def restricted_actions() -> str:
    """Return the names of the actions that can be restricted, as inline code."""
    return codes(action.value for action in RestrictedAction)


def limits() -> str:
    """Return a table of the limits of templates."""
    rows = [[_LIMITS[limit.name], f"{limit.default:,}"] for limit in fields(Limits)]
    rows += [[name, f"{maximum:,}"] for name, maximum in _BOUNDS]
    return table(["what", "limit"], rows)


_LIMITS = {
    "max_template_size": "characters of one text: a template, a nested template, an environment",
    "nodes_max": "values in one document, with aliases expanded",
    "nesting_max": "nesting of lists and maps",
    "max_nested_stack_depth": "levels of nested stacks below the root",
    "max_resources_per_stack": "resources of one template",
    "yaql_limit_iterators": "items that a YAQL expression iterates over",
    "yaql_memory_quota": "bytes that a YAQL expression uses",
}


_BOUNDS = (
    (
        "resources of all templates of a tree, each nested template once per environment",
        TREE_RESOURCES_MAX,
    ),
    ("characters of a text that one function returns", TEXT_MAX),
    ("items that one `repeat` returns", REPEAT_MAX),
    ("bytes of all values together, approximately", MADE_BYTES),
    ("bytes of all values together: addition for each resource", RESOURCE_BYTES),
    ("bytes of all values together: maximum with the additions", MADE_BYTES_MAX),
    ("steps of all YAQL expressions together", YAQL_STEPS),
    ("steps of all YAQL expressions together: addition for each resource", RESOURCE_STEPS),
    ("steps of all YAQL expressions together: maximum with the additions", YAQL_STEPS_MAX),
    ("seconds of all regular expressions together", int(PATIENCE_S)),
)


def rules() -> str:
    """Return a table of the rules of `hearth lint`, each with an anchor `rule-CODE`."""
    rows = [
        [f'<a id="rule-{rule.code}"></a>{code(rule.code)}', rule.summary] for rule in RULES.values()
    ]
    return table(["code", "meaning"], rows)

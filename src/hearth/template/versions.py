"""The versions of the template language, as data.

A grammar maps the keywords of its version to Hearth's names, so that later steps need to know only
one format. Source: docs/spec/hot.md, section 2; docs/spec/cfn-template.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from hearth.template.function import register
from hearth.template.functions import Function, named
from hearth.template.functions.texts import TEXTS

HOT_KEY = "heat_template_version"
CFN_KEY = "HeatTemplateFormatVersion"
AWS_KEY = "AWSTemplateFormatVersion"


class Grammar(Struct, frozen=True):
    """The keywords and functions that a version allows; maps lead from keywords to Hearth's names.

    A value of None in `functions` means that the version has removed the function: its use is
    recognised and refused.
    """

    key: str
    value: str
    functions: Mapping[str, str | None]
    condition_functions: Mapping[str, str]
    sections: Mapping[str, str]
    resource_keys: Mapping[str, str]
    output_keys: Mapping[str, str]
    parameter_keys: frozenset[str]
    constraints: tuple[str, ...]
    deletion_policies: frozenset[str]
    pseudo_parameters: frozenset[str]
    aliases: tuple[str, ...] = ()
    if_without_else: bool = False

    @property
    def hot(self) -> bool:
        return self.key == HOT_KEY

    @property
    def type(self) -> str:
        return "hot" if self.hot else "cfn"

    def word(self, ours: str) -> str:
        """Return the keyword of this version for a section or key; `ours` is Hearth's name for
        it.
        """
        for keywords in (self.sections, self.resource_keys, self.output_keys):
            for theirs, our_name in keywords.items():
                if our_name == ours:
                    return theirs
        return ours

    def function(self, name: str) -> Function | None:
        """Return the function with this name; None if the version does not have it."""
        function_name = self.functions.get(name)
        return named(function_name) if function_name else None


def _same(*keywords: str) -> dict[str, str]:
    return {word: word for word in keywords}


_CFN_SHARED: dict[str, str | None] = {
    "Ref": "Ref",
    "Fn::GetAZs": "Fn::GetAZs",
    "Fn::Select": "Fn::Select",
    "Fn::Join": "Fn::Join",
    "Fn::Split": "Fn::Split",
    "Fn::Replace": "Fn::Replace",
    "Fn::Base64": "Fn::Base64",
    "Fn::MemberListToMap": "Fn::MemberListToMap",
    "Fn::ResourceFacade": "Fn::ResourceFacade",
}

_2013_05_23 = Grammar(
    key=HOT_KEY,
    value="2013-05-23",
    functions={
        **_CFN_SHARED,
        "get_param": "get_param",
        "get_resource": "get_resource",
        "get_attr": "get_attr.select",
        "get_file": "get_file",
        "str_replace": "str_replace.text",
        "list_join": "list_join.one",
        "resource_facade": "resource_facade",
    },
    condition_functions={},
    sections=_same(
        HOT_KEY, "description", "parameter_groups", "parameters", "resources", "outputs"
    ),
    resource_keys=_same(
        "type",
        "properties",
        "metadata",
        "depends_on",
        "update_policy",
        "deletion_policy",
        "description",
    ),
    output_keys=_same("value", "description"),
    parameter_keys=frozenset(
        {"type", "label", "description", "default", "hidden", "immutable", "constraints", "schema"}
    ),
    constraints=("range", "length", "allowed_values", "allowed_pattern", "custom_constraint"),
    deletion_policies=frozenset({"Delete", "Retain", "Snapshot"}),
    pseudo_parameters=frozenset({"OS::stack_name", "OS::stack_id", "OS::project_id"}),
)


def _later(before: Grammar, value: str, *aliases: str, **functions: str | None) -> Grammar:
    names = {
        name.replace("Fn__", "Fn::"): function_name for name, function_name in functions.items()
    }
    return replace(before, value=value, aliases=aliases, functions={**before.functions, **names})


_2014_10_16 = replace(
    _2013_05_23,
    value="2014-10-16",
    functions={
        **_2013_05_23.functions,
        **dict.fromkeys(name for name in _CFN_SHARED if name != "Fn::Select"),
        "get_attr": "get_attr.path",
    },
)
_2015_04_30 = _later(_2014_10_16, "2015-04-30", repeat="repeat.lists", digest="digest")
_2015_10_15 = _later(
    _2015_04_30,
    "2015-10-15",
    str_split="str_split",
    list_join="list_join",
    str_replace="str_replace",
    get_attr="get_attr",
    Fn__Select=None,
)
_2016_04_08 = _later(_2015_10_15, "2016-04-08", map_merge="map_merge")
_2016_10_14 = replace(
    _later(
        _2016_04_08,
        "2016-10-14",
        "newton",
        **{"if": "if"},
        yaql="yaql",
        map_replace="map_replace",
        repeat="repeat.maps",
    ),
    condition_functions=_same("get_param", "equals", "not", "and", "or"),
    sections={**_2016_04_08.sections, "conditions": "conditions"},
    resource_keys={**_2016_04_08.resource_keys, **_same("condition", "external_id")},
    output_keys={**_2016_04_08.output_keys, "condition": "condition"},
    deletion_policies=_2016_04_08.deletion_policies | {"delete", "retain", "snapshot"},
)
_2017_02_24 = replace(
    _later(
        _2016_10_14,
        "2017-02-24",
        "ocata",
        filter="filter",
        str_replace_strict="str_replace_strict",
    ),
    constraints=("modulo", *_2016_10_14.constraints),
)
_2017_09_01 = replace(
    _later(
        _2017_02_24,
        "2017-09-01",
        "pike",
        make_url="make_url",
        list_concat="list_concat",
        list_concat_unique="list_concat_unique",
        contains="contains",
        str_replace_vstrict="str_replace_vstrict",
        repeat="repeat",
    ),
    condition_functions={**_2017_02_24.condition_functions, **_same("yaql", "contains")},
)
_2018_03_02 = replace(
    _later(_2017_09_01, "2018-03-02", "queens"),
    parameter_keys=_2017_09_01.parameter_keys | {"tags"},
)
_2018_08_31 = _later(_2018_03_02, "2018-08-31", "rocky")
_2021_04_16 = replace(_later(_2018_08_31, "2021-04-16", "wallaby"), if_without_else=True)

_CFN = Grammar(
    key=CFN_KEY,
    value="2012-12-12",
    functions={
        **_CFN_SHARED,
        "Fn::FindInMap": "Fn::FindInMap",
        "Fn::GetAtt": "Fn::GetAtt",
    },
    condition_functions={},
    sections={
        CFN_KEY: CFN_KEY,
        "Description": "description",
        "Mappings": "mappings",
        "Parameters": "parameters",
        "Resources": "resources",
        "Outputs": "outputs",
    },
    resource_keys={
        "Type": "type",
        "Properties": "properties",
        "Metadata": "metadata",
        "DependsOn": "depends_on",
        "DeletionPolicy": "deletion_policy",
        "UpdatePolicy": "update_policy",
        "Description": "description",
    },
    output_keys={"Value": "value", "Description": "description"},
    parameter_keys=frozenset(
        {
            "Type",
            "Default",
            "NoEcho",
            "AllowedValues",
            "AllowedPattern",
            "MaxLength",
            "MinLength",
            "MaxValue",
            "MinValue",
            "Description",
            "ConstraintDescription",
            "Label",
        }
    ),
    constraints=("range", "length", "allowed_values", "allowed_pattern"),
    deletion_policies=frozenset({"Delete", "Retain", "Snapshot"}),
    pseudo_parameters=frozenset({"AWS::StackName", "AWS::StackId", "AWS::Region"}),
)
_AWS = replace(
    _CFN,
    key=AWS_KEY,
    value="2010-09-09",
    functions={**_CFN.functions, "Fn::If": "if"},
    condition_functions={
        **_same("Fn::Equals", "Fn::Not", "Fn::Or", "Fn::And"),
        "Ref": "Ref.parameter",
        "Fn::FindInMap": "Fn::FindInMap",
    },
    sections={
        AWS_KEY: AWS_KEY,
        "Conditions": "conditions",
        **{theirs: ours for theirs, ours in _CFN.sections.items() if theirs != CFN_KEY},
    },
    resource_keys={**_CFN.resource_keys, "Condition": "condition"},
    output_keys={**_CFN.output_keys, "Condition": "condition"},
)

GRAMMARS: tuple[Grammar, ...] = (
    _AWS,
    _CFN,
    _2013_05_23,
    _2014_10_16,
    _2015_04_30,
    _2015_10_15,
    _2016_04_08,
    _2016_10_14,
    _2017_02_24,
    _2017_09_01,
    _2018_03_02,
    _2018_08_31,
    _2021_04_16,
)
VERSION_KEYS = (HOT_KEY, CFN_KEY, AWS_KEY)
BY_VERSION: Mapping[tuple[str, str], Grammar] = {
    (grammar.key, name): grammar
    for grammar in GRAMMARS
    for name in (grammar.value, *grammar.aliases)
}


def function_text(word: str) -> str:
    """Return the one-line description of a function; empty if there is no such function."""
    if word in TEXTS:
        return TEXTS[word]
    functions = (declared for grammar in GRAMMARS if (declared := grammar.function(word)))
    function = next(functions, None)
    return function.description if function is not None else ""


def add_function(name: str, function: Function, since: str = GRAMMARS[-1].value) -> None:
    """Add a function of a third party to HOT, beginning with the version `since`.

    Call this before the first template is compiled. Raises ValueError if the name is already used.
    """
    grammars = [grammar for grammar in GRAMMARS if grammar.hot and grammar.value >= since]
    for grammar in grammars:
        if name in grammar.functions and grammar.functions[name] != function.name:
            raise ValueError(f"{name} is already a function of version {grammar.value}")
    register(function)
    for grammar in grammars:
        force_setattr(grammar, "functions", {**grammar.functions, name: function.name})


def versions_of(key: str) -> tuple[str, ...]:
    """Return the valid values of a version key, such as `heat_template_version`."""
    return tuple(value for version_key, value in BY_VERSION if version_key == key)

"""The rules by their codes: what each one finds, and a template that breaks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """What a finding of this code means. `example` is a template that has one."""

    code: str
    summary: str
    details: str
    example: str = ""

    @property
    def text(self) -> str:
        """For `hearth lint --explain`."""
        shown = f"{self.code}: {self.summary}\n\n{self.details}\n"
        if self.example:
            lines = "\n".join(f"    {line}" for line in self.example.rstrip("\n").split("\n"))
            shown += f"\nFor example:\n\n{lines}\n"
        return (
            f"{shown}\nTo switch it off in one line, end it with `# hearth: ignore[{self.code}]`.\n"
        )


def _hot(body: str) -> str:
    return f"heat_template_version: 2021-04-16\n{body}"


def _value(expression: str) -> str:
    return _hot(
        "resources:\n  one:\n    type: OS::Heat::RandomString\n"
        f"    properties:\n      {expression}\n"
    )


_RULES = (
    Rule(
        "syntax",
        "the file is no YAML or JSON",
        "The place is where the reader stumbled; the cause is often in the line before: a bracket "
        "or quote left open, a tab, an indentation that fits no level.",
        _hot("resources: [\n"),
    ),
    Rule(
        "not-a-template",
        "the file is YAML, but no template",
        "A template is a map with a version key: heat_template_version, HeatTemplateFormatVersion "
        "or AWSTemplateFormatVersion.",
        "resources: {}\n",
    ),
    Rule(
        "unknown-version",
        "the version key holds no version of the language",
        "Only the dates at which the language changed are versions, and some release names.",
        "heat_template_version: 2019-01-01\n",
    ),
    Rule(
        "unknown-section",
        "a top-level key is no section of this version",
        "Sections are case sensitive, and HOT and CFN spell them differently. The section "
        "`conditions` exists since 2016-10-14.",
        _hot("resorces: {}\n"),
    ),
    Rule(
        "unknown-key",
        "a key does not belong here",
        "Resources, parameters and constraints have a fixed set of keys in each version.",
        _hot("resources:\n  one: {type: OS::Heat::None, dependson: [two]}\n"),
    ),
    Rule(
        "ignored-key",
        "a key has no effect",
        "Keys of an output other than value, description and condition are passed over silently.",
        _hot("outputs:\n  one: {value: 1, descripton: the first}\n"),
    ),
    Rule(
        "duplicate-key",
        "a key stands twice in one map",
        "YAML readers keep the later one and say nothing; the earlier one has no effect.",
        _hot("description: one\ndescription: two\n"),
    ),
    Rule(
        "wrong-structure",
        "something has another form than it must have",
        "A map stands where a list is needed, a name is no text, an entry is empty, and so on.",
        _hot("resources: [one]\n"),
    ),
    Rule(
        "wrong-declaration",
        "a parameter is declared in a way that makes no sense",
        "For example without a type, or with a constraint that its type cannot have.",
        _hot(
            "parameters:\n  one: {type: number, constraints: [{length: {min: 1}}]}\n"
            "outputs:\n  one: {value: {get_param: one}}\n"
        ),
    ),
    Rule(
        "wrong-default",
        "a default does not satisfy its own parameter",
        "Type and constraints are checked even if a value is always given.",
        _hot(
            "parameters:\n  one: {type: number, default: few}\n"
            "outputs:\n  one: {value: {get_param: one}}\n"
        ),
    ),
    Rule(
        "unknown-type",
        "there is no such type",
        "Neither Heat nor an installed package has a resource type of this name, no environment "
        "maps it, and it ends neither in .yaml nor in .template. For a parameter: string, number, "
        "boolean, json and comma_delimited_list are all there are.",
        _hot("resources:\n  one: {type: OS::Nova::Sever}\n"),
    ),
    Rule(
        "unavailable-type",
        "Hearth cannot make this type yet",
        "The type is one of Heat's and is checked by its declaration, but a stack with it is "
        "refused.",
        _hot("resources:\n  one:\n    type: OS::Manila::ShareNetwork\n"),
    ),
    Rule(
        "deprecated",
        "a type or property is on its way out",
        "It works today; what to use instead is in the message where that is known.",
    ),
    Rule(
        "unknown-property",
        "the resource type has no such property",
        "See `hearth docs type NAME` for those it has.",
        _value("lenght: 8"),
    ),
    Rule(
        "missing-property",
        "a required property is not given",
        "A property that is given as null counts as given.",
        _hot("resources:\n  one:\n    type: OS::Neutron::Subnet\n    properties: {name: one}\n"),
    ),
    Rule(
        "not-implemented",
        "the property exists and cannot be used",
        "The type declares it, and nothing carries it out.",
    ),
    Rule(
        "properties-conflict",
        "properties exclude or need each other",
        "What is given and what is left out do not go together for this type.",
    ),
    Rule(
        "wrong-type",
        "a value can not be converted to the type of its property",
        "Kinds are followed through parameters, references and functions: a list never fits a "
        "string property, whatever it holds.",
        _value("length: long"),
    ),
    Rule(
        "wrong-value",
        "a value does not fit",
        "A computed value, or one given by an environment, is refused by its schema.",
    ),
    Rule(
        "value-not-allowed",
        "a value is none of those that are allowed",
        "The property lists its values, or a pattern for them.",
        _hot("resources:\n  one: {type: OS::Heat::None, deletion_policy: Keep}\n"),
    ),
    Rule(
        "value-out-of-range",
        "a number, a length or a count is too small or too large",
        "Bounds belong to the range.",
        _value("length: 9999"),
    ),
    Rule(
        "surprising-scalar",
        "YAML takes a word for a number or a boolean",
        "By the rules of YAML 1.1 `yes`, `no`, `on` and `off` are booleans, 010 is 8 and 10:20 is "
        "620. Where a text is wanted, write quotes.",
        _value("salt: 0644"),
    ),
    Rule(
        "unknown-parameter",
        "there is no such parameter",
        "A template reads one that it does not declare, or an environment gives a value for one.",
        _hot("outputs:\n  one: {value: {get_param: two}}\n"),
    ),
    Rule(
        "missing-parameter",
        "a parameter has neither a value nor a default",
        "Told only where an environment gives values.",
    ),
    Rule(
        "unused-parameter",
        "nothing reads a parameter",
        "Every stack has to answer a question that nobody asks.",
        _hot("parameters:\n  one: {type: string}\n"),
    ),
    Rule(
        "unknown-resource",
        "there is no such resource",
        "get_resource, get_attr, depends_on or Ref names what the template does not define.",
        _hot("outputs:\n  one: {value: {get_resource: two}}\n"),
    ),
    Rule(
        "unknown-attribute",
        "the resource has no such attribute",
        "See `hearth docs type NAME`. Of a child template, its outputs are the attributes.",
        _hot(
            "resources:\n  one: {type: OS::Heat::RandomString}\n"
            "outputs:\n  one: {value: {get_attr: [one, valeu]}}\n"
        ),
    ),
    Rule(
        "attribute-type",
        "an attribute hardly fits the property it is given to",
        "The type declares the attribute as another kind than the property takes. A declaration of "
        "an attribute promises nothing, so this is a warning.",
    ),
    Rule(
        "unknown-condition",
        "there is no such condition",
        "Conditions are found by name in the section `conditions`.",
        _hot("resources:\n  one: {type: OS::Heat::None, condition: rainy}\n"),
    ),
    Rule(
        "wrong-condition",
        "a condition can not be decided",
        "It depends on itself, or what it gives is no boolean: a parameter of type string is none, "
        "even with the value true.",
        _hot("conditions:\n  one: {not: two}\n  two: {not: one}\n"),
    ),
    Rule(
        "constant-condition",
        "a condition is always true or always false",
        "No parameter has a part in it.",
        _hot(
            "conditions:\n  one: {equals: [a, b]}\n"
            "resources:\n  one: {type: OS::Heat::None, condition: one}\n"
        ),
    ),
    Rule(
        "unused-condition",
        "nothing uses a condition",
        "It is decided all the same, and must be right.",
        _hot(
            "parameters:\n  one: {type: boolean}\nconditions:\n  two: {get_param: one}\n"
            "outputs:\n  one: {value: {get_param: one}}\n"
        ),
    ),
    Rule(
        "unused-mapping",
        "nothing reads a mapping",
        "Fn::FindInMap is the only function that reads one.",
        'HeatTemplateFormatVersion: "2012-12-12"\nMappings: {One: {a: {b: c}}}\n',
    ),
    Rule(
        "unused-file",
        "nothing reads a file that is sent along",
        "Told by the API's validation; on the disk, files that nobody names are nobody's business.",
    ),
    Rule(
        "unknown-function",
        "a map looks like the call of a function that does not exist",
        "A map of one key is a call only if the key is a function of the version; otherwise it is "
        "plain data, which this property can not take.",
        _value("salt: {get_parm: one}"),
    ),
    Rule(
        "function-of-another-version",
        "a function does not exist in this version of the language",
        "Before its version a function is plain data. Raise the version of the template.",
        "heat_template_version: 2013-05-23\nresources:\n  one:\n    type: OS::Heat::RandomString\n"
        "    properties:\n      salt: {digest: [md5, one]}\n",
    ),
    Rule(
        "removed-function",
        "the version of the template has no longer this function",
        "The functions of CFN templates are in HOT 2013-05-23 only.",
        _value("salt: {'Fn::Join': ['', [a]]}"),
    ),
    Rule(
        "wrong-arguments",
        "a function can not be computed",
        "The number, the form or the kind of its arguments is wrong.",
        _value("salt: {digest: [md5]}"),
    ),
    Rule(
        "cycle",
        "resources wait for each other",
        "References in properties and metadata count as well as depends_on.",
        _hot(
            "resources:\n  one: {type: OS::Heat::None, depends_on: two}\n"
            "  two: {type: OS::Heat::None, depends_on: one}\n"
        ),
    ),
    Rule(
        "name-taken",
        "a parameter and a resource have the same name",
        "Ref could not tell them apart, so Heat refuses it in all versions.",
        _hot(
            "parameters:\n  one: {type: string}\nresources:\n  one: {type: OS::Heat::None}\n"
            "outputs:\n  one: {value: {get_param: one}}\n"
        ),
    ),
    Rule(
        "missing-file",
        "a file is not there",
        "get_file, a type that is a template, or an entry of resource_registry. Names are relative "
        "to the file they stand in.",
        _hot("outputs:\n  one: {value: {get_file: no/such/file}}\n"),
    ),
    Rule(
        "not-read",
        "a file is not at hand",
        "It is on the web, and nothing is fetched; or its name leads out of the template's folder, "
        "into one that is not there, as where another repository is expected beside this one. What "
        "depends on it is not checked.",
        _hot("resources:\n  one: {type: 'http://example.com/one.yaml'}\n"),
    ),
    Rule(
        "too-deep",
        "templates are nested deeper than a stack may be",
        "Often a template that includes itself.",
    ),
    Rule("too-large", "a file is larger than Heat takes", "The limits are in the message."),
    Rule(
        "misfit",
        "a template can not stand in for a built-in type",
        "A template that takes the name of a built-in type must have its required properties and "
        "its attributes.",
    ),
    Rule(
        "wrong-environment",
        "an environment makes no sense",
        "An unknown section, an unknown hook, an event sink without a target.",
    ),
)
RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}

"""The lint rules, each with its code, an explanation, and a template that violates it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class Rule(Struct, frozen=True):
    """A lint rule. `example` is a template that violates it."""

    code: str
    summary: str
    details: str
    example: str = ""

    @property
    def text(self) -> str:
        """The text that `hearth lint --explain` prints for the rule."""
        explanation = f"{self.code}: {self.summary}\n\n{self.details}\n"
        if self.example:
            lines = "\n".join(f"    {line}" for line in self.example.rstrip("\n").split("\n"))
            explanation += f"\nFor example:\n\n{lines}\n"
        return f"{explanation}\nTo disable it, end the line with `# hearth: ignore[{self.code}]`.\n"


def _hot(body: str) -> str:
    return f"heat_template_version: 2021-04-16\n{body}"


def _value(expression: str) -> str:
    return _hot(
        "resources:\n  one:\n    type: OS::Heat::RandomString\n"
        f"    properties:\n      {expression}\n"
    )


def _net(*resources: str) -> str:
    return _hot(f"resources:\n  net: {{type: OS::Neutron::Net}}\n{''.join(resources)}")


_RULES = (
    Rule(
        "syntax",
        "the file is not YAML or JSON",
        "The place is where the parser failed. The cause is often in the line before: an open "
        "bracket or quote, a tab, an indentation that fits no level.",
        _hot("resources: [\n"),
    ),
    Rule(
        "not-a-template",
        "the file is YAML, but not a template",
        "A template is a map with a version key: heat_template_version, HeatTemplateFormatVersion "
        "or AWSTemplateFormatVersion.",
        "resources: {}\n",
    ),
    Rule(
        "unknown-version",
        "the version key has an unknown version",
        "Versions are the dates at which the language changed, and some release names.",
        "heat_template_version: 2019-01-01\n",
    ),
    Rule(
        "unknown-section",
        "a top-level key is not a section of this version",
        "Sections are case-sensitive, and HOT and CFN spell them differently. The section "
        "`conditions` exists since 2016-10-14.",
        _hot("resorces: {}\n"),
    ),
    Rule(
        "unknown-key",
        "a key is unknown at this place",
        "Resources, parameters and constraints have a fixed set of keys in each version.",
        _hot("resources:\n  one: {type: OS::Heat::None, dependson: [two]}\n"),
    ),
    Rule(
        "ignored-key",
        "a key has no effect",
        "Keys of an output other than value, description and condition are ignored, and so are "
        "unknown keys of a member of an OS::Heat::AutoScalingGroup.",
        _hot("outputs:\n  one: {value: 1, descripton: the first}\n"),
    ),
    Rule(
        "duplicate-key",
        "a map has a duplicate key",
        "YAML parsers keep the last one and report nothing; the first one has no effect.",
        _hot("description: one\ndescription: two\n"),
    ),
    Rule(
        "wrong-structure",
        "a value has the wrong structure",
        "For example a map in place of a list, a name that is not text, an empty entry.",
        _hot("resources: [one]\n"),
    ),
    Rule(
        "wrong-declaration",
        "the declaration of a parameter is invalid",
        "For example without a type, or with a constraint that its type cannot have.",
        _hot(
            "parameters:\n  one: {type: number, constraints: [{length: {min: 1}}]}\n"
            "outputs:\n  one: {value: {get_param: one}}\n"
        ),
    ),
    Rule(
        "wrong-default",
        "a default violates the type or a constraint of its parameter",
        "Type and constraints are checked even if a value is always given.",
        _hot(
            "parameters:\n  one: {type: number, default: few}\n"
            "outputs:\n  one: {value: {get_param: one}}\n"
        ),
    ),
    Rule(
        "unknown-type",
        "the type does not exist",
        "Neither Heat nor an installed package has a resource type of this name, no environment "
        "maps it, and it ends neither in .yaml nor in .template. The types of parameters are "
        "string, number, boolean, json and comma_delimited_list.",
        _hot("resources:\n  one: {type: OS::Nova::Sever}\n"),
    ),
    Rule(
        "deprecated",
        "a type or property is deprecated",
        "The type or property still works. The message names the replacement, if there is one.",
    ),
    Rule(
        "unknown-property",
        "the resource type has no such property",
        "`hearth docs type NAME` lists its properties.",
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
        "the property exists but has no effect",
        "The type declares the property, but does not implement it.",
    ),
    Rule(
        "properties-conflict",
        "properties exclude or require each other",
        "The type does not accept this combination of properties.",
    ),
    Rule(
        "no-agent",
        "a software deployment on a server whose agent never asks for it",
        "Only a server with the user_data_format SOFTWARE_CONFIG asks for software deployments. "
        "That is not the default. The deployment would wait until the timeout of the stack.",
        _hot(
            "resources:\n  web:\n    type: OS::Nova::Server\n"
            "    properties: {image: cirros, flavor: m1.small}\n  deploy:\n"
            "    type: OS::Heat::SoftwareDeployment\n"
            "    properties: {server: {get_resource: web}}\n"
        ),
    ),
    Rule(
        "wrong-type",
        "a value cannot be converted to the type of its property",
        "Types are followed through parameters, references and functions: a list never fits a "
        "string property.",
        _value("length: long"),
    ),
    Rule(
        "wrong-value",
        "a value is invalid",
        "The schema refuses a computed value or a value of an environment.",
    ),
    Rule(
        "value-not-allowed",
        "a value is not one of the allowed values",
        "The property lists the allowed values, or has a pattern for them.",
        _hot("resources:\n  one: {type: OS::Heat::None, deletion_policy: Keep}\n"),
    ),
    Rule(
        "value-out-of-range",
        "a number, a length or a count is too small or too large",
        "The bounds themselves are allowed.",
        _value("length: 9999"),
    ),
    Rule(
        "surprising-scalar",
        "YAML reads a word as a number or a boolean",
        "In YAML 1.1 `yes`, `no`, `on` and `off` are booleans, 010 is 8 and 10:20 is 620. Write "
        "text in quotes.",
        _value("salt: 0644"),
    ),
    Rule(
        "unknown-parameter",
        "the parameter does not exist",
        "A template reads a parameter that it does not declare, or an environment sets one.",
        _hot("outputs:\n  one: {value: {get_param: two}}\n"),
    ),
    Rule(
        "missing-parameter",
        "a parameter has neither a value nor a default",
        "Reported only with an environment.",
    ),
    Rule(
        "unused-parameter",
        "nothing reads a parameter",
        "Every user of the template has to set it, without an effect.",
        _hot("parameters:\n  one: {type: string}\n"),
    ),
    Rule(
        "unknown-resource",
        "the resource does not exist",
        "get_resource, get_attr, depends_on or Ref names a resource that the template does not "
        "define.",
        _hot("outputs:\n  one: {value: {get_resource: two}}\n"),
    ),
    Rule(
        "unknown-attribute",
        "the resource has no such attribute",
        "`hearth docs type NAME` lists its attributes. The attributes of a nested template are "
        "its outputs.",
        _hot(
            "resources:\n  one: {type: OS::Heat::RandomString}\n"
            "outputs:\n  one: {value: {get_attr: [one, valeu]}}\n"
        ),
    ),
    Rule(
        "attribute-type",
        "the type of an attribute does not fit the property",
        "The declared type of the attribute differs from the type of the property. Attributes can "
        "have other types than declared, so this is a warning.",
    ),
    Rule(
        "unknown-condition",
        "the condition does not exist",
        "The section `conditions` defines conditions by name.",
        _hot("resources:\n  one: {type: OS::Heat::None, condition: rainy}\n"),
    ),
    Rule(
        "wrong-condition",
        "a condition cannot be decided",
        "The condition depends on itself, or its value is not a boolean. A parameter of type "
        "string is not a boolean, even with the value true.",
        _hot("conditions:\n  one: {not: two}\n  two: {not: one}\n"),
    ),
    Rule(
        "constant-condition",
        "a condition is always true or always false",
        "The condition depends on no parameter.",
        _hot(
            "conditions:\n  one: {equals: [a, b]}\n"
            "resources:\n  one: {type: OS::Heat::None, condition: one}\n"
        ),
    ),
    Rule(
        "unused-condition",
        "nothing uses a condition",
        "The condition is evaluated nevertheless, and must be correct.",
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
        "nothing reads a file of the request",
        "Only the validation of the API reports this, not a check of files on disk.",
    ),
    Rule(
        "unknown-function",
        "a map looks like a call of an unknown function",
        "A map with one key is a call only if the key is a function of the version. Otherwise it "
        "is data, which this property does not accept.",
        _value("salt: {get_parm: one}"),
    ),
    Rule(
        "function-of-another-version",
        "a function does not exist in this version of the language",
        "This version treats the call as data. Raise the version of the template.",
        "heat_template_version: 2013-05-23\nresources:\n  one:\n    type: OS::Heat::RandomString\n"
        "    properties:\n      salt: {digest: [md5, one]}\n",
    ),
    Rule(
        "removed-function",
        "the version of the template has removed this function",
        "Only HOT 2013-05-23 has the functions of CFN templates.",
        _value("salt: {'Fn::Join': ['', [a]]}"),
    ),
    Rule(
        "wrong-arguments",
        "a function cannot be computed",
        "The number, the form or the type of its arguments is wrong.",
        _value("salt: {digest: [md5]}"),
    ),
    Rule(
        "cycle",
        "resources depend on each other",
        "References in properties and metadata count as well as depends_on.",
        _hot(
            "resources:\n  one: {type: OS::Heat::None, depends_on: two}\n"
            "  two: {type: OS::Heat::None, depends_on: one}\n"
        ),
    ),
    Rule(
        "name-taken",
        "a parameter and a resource have the same name",
        "Ref could not distinguish them, so Heat refuses this in all versions.",
        _hot(
            "parameters:\n  one: {type: string}\nresources:\n  one: {type: OS::Heat::None}\n"
            "outputs:\n  one: {value: {get_param: one}}\n"
        ),
    ),
    Rule(
        "missing-file",
        "a file is missing",
        "A get_file, a type or an entry of resource_registry names it. Names are relative "
        "to the file that contains them.",
        _hot("outputs:\n  one: {value: {get_file: no/such/file}}\n"),
    ),
    Rule(
        "not-read",
        "a file cannot be checked",
        "The name of the file is a URL, which is not fetched, or its name leads out of the "
        "template's folder to a missing folder, for example to another repository. Everything that "
        "depends on it is not checked.",
        _hot("resources:\n  one: {type: 'http://example.com/one.yaml'}\n"),
    ),
    Rule(
        "too-deep",
        "templates are nested too deeply",
        "The usual cause is a template that includes itself.",
    ),
    Rule("too-large", "a file is larger than Heat accepts", "The limits are in the message."),
    Rule(
        "misfit",
        "a template cannot replace a built-in type",
        "A template with the name of a built-in type must have its required properties and "
        "its attributes.",
    ),
    Rule(
        "subnets-overlap",
        "two subnets of a network overlap",
        "Neutron refuses the second one while the stack is created.",
        _net(
            *(
                f"  {name}:\n    type: OS::Neutron::Subnet\n"
                f"    properties: {{network: {{get_resource: net}}, cidr: {cidr}}}\n"
                for name, cidr in (("one", "10.0.0.0/16"), ("two", "10.0.9.0/24"))
            )
        ),
    ),
    Rule(
        "address-taken",
        "two ports of a network have the same address",
        "Neutron refuses the second one while the stack is created.",
        _hot(
            "resources:\n"
            + "".join(
                f"  {name}:\n    type: OS::Neutron::Port\n"
                "    properties: {network: lan, fixed_ips: [{ip_address: 10.0.0.9}]}\n"
                for name in ("one", "two")
            )
        ),
    ),
    Rule(
        "ports-reversed",
        "a range of ports ends before it begins",
        "Neutron refuses the rule while the stack is created.",
        _hot(
            "resources:\n  one:\n    type: OS::Neutron::SecurityGroup\n    properties:\n"
            "      rules: [{protocol: tcp, port_range_min: 443, port_range_max: 80}]\n"
        ),
    ),
    Rule(
        "network-without-subnet",
        "a server is on a network of the template that has no subnet",
        "Nova refuses the server while the stack is created. The subnet needs the property "
        "network.",
        _net(
            "  server:\n    type: OS::Nova::Server\n    properties:\n      flavor: m1.tiny\n"
            "      image: cirros\n      networks: [{network: {get_resource: net}}]\n"
        ),
    ),
    Rule(
        "wrong-environment",
        "an environment is invalid",
        "For example an unknown section, an unknown hook, an event sink without a target.",
    ),
)
RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}

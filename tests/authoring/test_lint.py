"""What lint finds, where, and what it leaves alone."""

import re
import signal
from pathlib import Path
from time import process_time

import pytest

import hearth.resources
from hearth.authoring.finding import Severity
from hearth.authoring.lint import lint
from hearth.cli.lint import run
from hearth.resources.known import RETIRED, advice
from hearth.schema import patterns

HOT = "heat_template_version: 2021-04-16\n"


def placed(text):
    """The text without its marks, and the places they point at: `«` stands before a finding."""
    places, clean = [], []
    for number, line in enumerate(text.split("\n"), 1):
        for at, match in enumerate(re.finditer("«([a-z-]+):", line)):
            before = sum(len(m[0]) for m in list(re.finditer("«([a-z-]+):", line))[:at])
            places.append((number, match.start() - before + 1, match[1]))
        clean.append(re.sub("«([a-z-]+):", "", line))
    return "\n".join(clean), places


def found_in(tmp_path, text, *environments, **files):
    """Findings as (line, column, code), file by file."""
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(content)
    root = tmp_path / "root.yaml"
    root.write_text(text)
    return lint(root, [tmp_path / f"{name}.yaml" for name in environments])


CASES = {
    "several mistakes in one declaration": """
parameters:
  p:
    type: number
    «unknown-key:labl: P
    constraints:
    - «unknown-key:rang: {min: 1}
    - range: {«unknown-key:mn: 1}
  q: {«unknown-key:tpe: string}
outputs:
  o: {value: [{get_param: p}, {get_param: q}]}
""",
    "words that YAML takes for something else": """
parameters:
  «surprising-scalar:yes: {type: string, default: «surprising-scalar:on}
  two: {type: string, default: true}
resources:
  r: {type: OS::Heat::RandomString, properties: {salt: «surprising-scalar:0644, length: 010}}
outputs:
  o: {value: [{get_param: "true"}, {get_param: two}]}
""",
    "two constraints in one entry": """
parameters:
  p:
    type: string
    constraints: [{«ignored-key:allowed_pattern: a, length: {min: 1}}, {length: {max: 9}}]
outputs:
  o: {value: {get_param: p}}
""",
    "keys of a member that have no effect": """
resources:
  g:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 2
      resource: {type: OS::Heat::None, «ignored-key:propertes: {}, deletion_policy: Retain}
""",
    "properties that exclude each other": """
parameters:
  size: {type: number}
resources:
  one:
    type: OS::Cinder::Volume
    «properties-conflict:properties: {image: cirros, snapshot_id: some, size: {get_param: size}}
""",
    "a name in a group": """
parameter_groups:
- label: All
  parameters: [one, «unknown-parameter:tow]
parameters:
  one: {type: string}
outputs:
  o: {value: {get_param: one}}
""",
    "names at any depth": """
resources:
  net: {type: OS::Neutron::Net}
  one:
    type: OS::Nova::Server
    properties:
      flavor: m1.tiny
      «unknown-property:image_id: cirros
      networks:
      - network: {get_resource: net}
        «unknown-property:sbnet: x
""",
    "several mistakes in one template": """
parameters:
  p: {type: «unknown-type:strin}
resources:
  r:
    type: OS::Heat::RandomString
    properties: {length: «wrong-type:many, «unknown-property:sequenc: digits}
    «unknown-key:depend_on: r
outputs:
  o: {value: {get_attr: [r, «unknown-attribute:valeu]}}
  q: {value: [{get_param: p}, {get_param: «unknown-parameter:nope}]}
""",
    "a kind that flows through a parameter": """
parameters:
  names: {type: comma_delimited_list}
resources:
  r: {type: OS::Heat::RandomString, properties: {length: «wrong-type:{get_param: names}}}
""",
    "a kind that flows through functions": """
parameters:
  word: {type: string}
resources:
  r:
    type: OS::Heat::RandomString
    properties: {salt: «wrong-type:{str_split: [",", {get_param: word}]}}
  s:
    type: OS::Heat::RandomString
    properties: {salt: {list_join: [",", «wrong-arguments:{get_param: word}]}}
""",
    "a reference where a list is needed": """
resources:
  group: {type: OS::Neutron::SecurityGroup}
  one:
    type: OS::Nova::Server
    properties: {flavor: a, image: b, security_groups: «wrong-type:{get_resource: group}}
""",
    "both branches of a choice": """
parameters:
  big: {type: boolean}
resources:
  r:
    type: OS::Heat::RandomString
    properties:
      length: {if: [{get_param: big}, «value-out-of-range:9999, «wrong-type:few]}
""",
    "a branch that is never taken is nobody's business": """
conditions:
  «constant-condition:never: {equals: [a, b]}
resources:
  r:
    type: OS::Heat::RandomString
    properties:
      length: {if: [never, 9999, 8]}
""",
    "a condition of the wrong kind": """
parameters:
  text: {type: string}
conditions:
  c: «wrong-condition:{get_param: text}
resources:
  r: {type: OS::Heat::None, condition: c}
""",
    "what is missing": """
resources:
  r:
    type: OS::Neutron::Subnet
    «missing-property:properties:
      name: a
""",
    "a text where a list is needed": """
resources:
  r:
    type: OS::Heat::RandomString
    properties: {character_classes: «wrong-type:digits}
""",
    "a later function in an older version": """
resources:
  r: {type: OS::Heat::Value, properties: {value: {list_concat: [[a], [b]]}}}
""",
    "the members of a group": """
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def:
        type: OS::Heat::RandomString
        properties: {length: "%index%", «unknown-property:lenght: 3}
""",
    "a cycle": """
resources:
  a: {type: OS::Heat::Value, properties: {value: {get_resource: «cycle:b}}}
  b: {type: OS::Heat::Value, properties: {value: {get_resource: c}}}
  c: {type: OS::Heat::None, depends_on: a}
""",
    "a comment switches a rule off": """
parameters:
  one: {type: string}  # hearth: ignore[unused-parameter]
  # hearth: ignore[unused-parameter, other]
  two: {type: string}
  «unused-parameter:three: {type: string}  # hearth: ignore[cycle]
  four: {type: string}  # hearth: ignore
""",
    "a key that stands twice": """
resources:
  r:
    type: OS::Heat::RandomString
    properties:
      length: 3
      «duplicate-key:length: 4
""",
}


@pytest.mark.parametrize("case", CASES)
def test_findings_stand_where_they_belong(case, tmp_path):
    text, places = placed(CASES[case])
    found = found_in(tmp_path, HOT.rstrip("\n") + text)
    assert [(one.line, one.column, one.code) for one in found] == places


def test_a_suggestion_says_what_may_be_meant(tmp_path):
    (one,) = found_in(tmp_path, HOT + "resources:\n  r: {type: OS::Nova::Servr}\n")
    assert (one.suggestion, one.length) == ("OS::Nova::Server", len("OS::Nova::Servr"))


def test_a_mistake_in_a_child_is_told_in_its_file(tmp_path):
    root = HOT + "resources:\n  r: {type: child.yaml, properties: {«p: 1}}\n".replace("«", "")
    child = HOT + "parameters:\n  p: {type: string}\noutputs:\n  o: {value: {get_param: q}}\n"
    (one,) = found_in(tmp_path, root, child=child)
    assert (one.file, one.line, one.code) == (str(tmp_path / "child.yaml"), 5, "unknown-parameter")


def test_what_is_wrong_with_a_file_is_told_once_and_there(tmp_path):
    root = HOT + (
        "resources:\n  a: {type: broken.yaml, properties: {x: 1}}\n  b: {type: none.yaml}\n"
        "  c: {type: again.yaml}\n  d: {type: brokn.yaml}\n"
    )
    again = HOT + "resources: {me: {type: again.yaml}}\n"
    found = found_in(tmp_path, root, broken=HOT + "resources: [\n", none="a: 1\n", again=again)
    assert [(Path(one.file).name, one.line, one.code) for one in found] == [
        ("root.yaml", 6, "missing-file"),
        ("again.yaml", 2, "too-deep"),
        ("broken.yaml", 3, "syntax"),
        ("none.yaml", 1, "not-a-template"),
    ]
    assert found[0].suggestion == "broken.yaml"


def test_the_parameters_of_a_child_are_properties(tmp_path):
    root = HOT + "resources:\n  r: {type: child.yaml, properties: {q: 1}}\n"
    child = HOT + (
        "parameters:\n  p: {type: string}\n  l: {type: comma_delimited_list, default: ''}\n"
        "outputs:\n  o: {value: [{get_param: p}, {get_param: l}]}\n"
    )
    found = found_in(tmp_path, root, child=child)
    assert [(one.code, "p" in one.message) for one in found] == [
        ("missing-property", True),
        ("unknown-property", True),
    ]


def test_the_kind_of_a_child_s_output_is_known(tmp_path):
    root = HOT + (
        "resources:\n  c: {type: child.yaml}\n  r:\n    type: OS::Heat::RandomString\n"
        "    properties: {length: {get_attr: [c, names]}}\n"
        "outputs:\n  o: {value: {get_attr: [c, nmes]}}\n"
    )
    child = HOT + "outputs:\n  names: {value: {list_concat: [[a], [b]]}}\n"
    found = found_in(tmp_path, root, child=child)
    assert [(one.line, one.code) for one in found] == [(6, "wrong-type"), (8, "unknown-attribute")]


def test_environments_map_types_and_give_values(tmp_path):
    root = HOT + (
        "parameters:\n  size: {type: number, constraints: [{range: {max: 5}}]}\n"
        "resources:\n  r: {type: My::Thing, properties: {p: {get_param: size}}}\n"
    )
    child = HOT + "parameters: {p: {type: number}}\noutputs: {o: {value: {get_param: p}}}\n"
    values = "parameters:\n  size: 9\n  siz: 2\nresource_registry: {'My::Thing': child.yaml}\n"
    found = found_in(tmp_path, root, "values", child=child, values=values)
    assert [(one.file, one.line, one.code) for one in found] == [
        (str(tmp_path / "values.yaml"), 2, "wrong-value"),
        (str(tmp_path / "values.yaml"), 3, "unknown-parameter"),
    ]


def test_values_are_followed_to_what_they_switch_off(tmp_path):
    root = HOT + (
        "parameters: {wanted: {type: boolean}}\n"
        "resources:\n  a: {type: OS::Heat::None, condition: {get_param: wanted}}\n"
        "  b: {type: OS::Heat::Value, properties: {value: {get_resource: a}}}\n"
    )
    on, off = "parameters: {wanted: true}\n", "parameters: {wanted: false}\n"
    assert found_in(tmp_path, root, "env", env=on) == []
    (one,) = found_in(tmp_path, root, "env", env=off)
    assert (one.line, one.code) == (5, "unknown-resource")


def test_an_entry_of_a_registry_that_leads_nowhere_is_told(tmp_path):
    env = "resource_registry: {'My::Thing': there/is_none.yaml}\n"
    (one,) = found_in(tmp_path, HOT, "env", env=env)
    assert (one.file, one.code) == (str(tmp_path / "env.yaml"), "missing-file")


def test_environments_are_merged_as_their_strategies_say(tmp_path):
    root = HOT + (
        "parameters: {l: {type: comma_delimited_list, constraints: [{length: {max: 2}}]}}\n"
        "outputs: {o: {value: {get_param: l}}}\n"
    )
    one = "parameters: {l: 'a,b'}\nparameter_merge_strategies: {l: merge}\n"
    two = "parameters: {l: 'c'}\n"
    other = "parameters: {l: 'c'}\nparameter_merge_strategies: {l: deep_merge}\n"
    (found,) = found_in(tmp_path, root, "one", "two", one=one, two=two)
    assert (found.line, "length 3" in found.message) == (2, True)
    (found,) = found_in(tmp_path, root, "one", "other", one=one, other=other)
    assert (found.file, found.code) == (str(tmp_path / "other.yaml"), "wrong-environment")


def test_an_environment_alone_is_looked_at_too(tmp_path):
    text = (
        "resource_registry:\n  My::Thing: none.yaml\n"
        "  resources: {web: {hooks: pre-creat}}\nparameters: {p: 1}\n"
    )
    assert [(one.line, one.code) for one in found_in(tmp_path, text)] == [
        (2, "missing-file"),
        (3, "wrong-environment"),
    ]


def test_files_of_another_checkout_are_no_mistake(tmp_path):
    text = HOT + (
        "outputs:\n  a: {value: {get_file: ../../agents/hook.sh}}\n"
        "  b: {value: {get_file: no.sh}}\n"
    )
    found = found_in(tmp_path, text)
    assert [(one.line, one.code) for one in found] == [(3, "not-read"), (4, "missing-file")]


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe", b"a: [", b"\x00", "\ud800".encode("utf-8", "surrogatepass"), b"- 1", b"1"],
    ids=repr,
)
def test_what_is_no_template_is_one_finding(text, tmp_path):
    path = tmp_path / "t.yaml"
    path.write_bytes(text)
    assert len(lint(path)) == 1


def test_a_text_in_an_editor_counts_instead_of_the_file(tmp_path):
    path = tmp_path / "t.yaml"
    path.write_text(HOT)
    assert [one.code for one in lint(path, open_texts={path: HOT + "resorces: {}\n"})] == [
        "unknown-section"
    ]


EXAMPLES = sorted(Path(hearth.resources.__file__).parent.glob("*/examples/*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_of_every_type_is_without_errors(example):
    assert [one for one in lint(example) if one.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    "resource",
    [
        "{type: c.yaml}",
        "{type: OS::Heat::ResourceGroup, properties: {resource_def: {type: c.yaml}}}",
        "{type: OS::Heat::ResourceGroup,"
        " properties: {resource_def: {type: c.yaml, properties: {other: 1}}}}",
    ],
)
def test_what_parameter_defaults_may_give_to_a_child_is_a_doubt(tmp_path, resource):
    head = "heat_template_version: 2018-08-31\n"
    (tmp_path / "web.yaml").write_text(f"{head}resources:\n  a: {resource}\n")
    (tmp_path / "c.yaml").write_text(
        f"{head}parameters: {{key: {{type: string}}, other: {{type: string, default: x}}}}\n"
        "outputs: {o: {value: [{get_param: key}, {get_param: other}]}}\n"
    )
    (tmp_path / "given.yaml").write_text("parameter_defaults: {key: k}\n")
    (tmp_path / "other.yaml").write_text("parameter_defaults: {nobody: k}\n")

    def told(*environments):
        found = lint(tmp_path / "web.yaml", [tmp_path / one for one in environments])
        return [(one.code, str(one.severity)) for one in found]

    assert told() == [("missing-property", "warning")]
    assert told("given.yaml") == []
    assert told("other.yaml") == [("missing-property", "error")]


def test_a_tab_is_named_as_one(tmp_path):
    path = tmp_path / "web.yaml"
    path.write_text("heat_template_version: 2021-04-16\nresources:\n\ta: {type: OS::Heat::None}\n")
    [one] = lint(path)
    assert (one.line, one.column, one.code) == (3, 1, "syntax")
    assert "a tab cannot indent; use spaces" in one.message


def test_a_missing_child_is_never_the_file_itself(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("heat_template_version: 2021-04-16\nresources: {r: {type: aa.yaml}}\n")
    [one] = lint(path)
    assert one.suggestion is None


def test_a_folder_stands_for_all_templates_below_it(tmp_path, capsys):
    below = tmp_path / "below"
    below.mkdir()
    (below / "wrong.yaml").write_text("heat_template_version: 2021-04-16\nresorces: {}\n")
    (tmp_path / "right.yaml").write_text("heat_template_version: 2021-04-16\n")
    (tmp_path / "other.yaml").write_text("just: data\n")
    assert run([tmp_path], [], "text", strict=False) == 1
    assert "below/wrong.yaml:2:1" in capsys.readouterr().out
    (below / "wrong.yaml").unlink()
    assert run([tmp_path], [], "text", strict=False) == 0
    assert capsys.readouterr().out == "No problems found in 1 file\n"


def test_a_misspelt_function_in_data_of_any_kind_is_a_doubt(tmp_path):
    path = tmp_path / "web.yaml"
    path.write_text(
        "heat_template_version: 2021-04-16\nparameters: {size: {type: number}}\nresources:\n"
        "  a: {type: OS::Heat::Value, properties: {value: {get_parm: size}}}\n"
        "  b: {type: OS::Heat::Value, properties: {value: {size: {get_param: size}}}}\n"
        "  c: {type: OS::Heat::Value, properties: {value: {iff: 1}}}\n"
    )
    [one] = lint(path)
    assert (one.line, one.code, one.severity, one.suggestion) == (
        4, "unknown-function", Severity.WARNING, "get_param",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "meant"),
    [("2021-04-61", "2021-04-16"), ("2018-8-31", "2018-08-31"), ("wallby", "wallaby")],
)
def test_a_misspelt_version_has_a_suggestion(tmp_path, version: str, meant: str):
    [found] = found_in(tmp_path, f"heat_template_version: {version}\n")
    assert (found.code, found.suggestion) == ("unknown-version", meant)
    assert f"did you mean {meant}?" in found.message


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("OS::Nova:::Server", "OS::Nova::Server"),
        ("OS::::Nova::Server", "OS::Nova::Server"),
        ("OS:Nova:Server", "OS::Nova::Server"),
        ("[template]", None),
    ],
)
def test_a_suggestion_is_like_what_was_misspelt(tmp_path, written: str, meant: str | None):
    text = (
        "heat_template_version: 2021-04-16\nresources:\n  web:\n"
        f"    type: {written}\n    properties: {{image: i, flavor: m1.tiny}}\n"
    )
    assert [one.suggestion for one in found_in(tmp_path, text)] == [meant]


@pytest.mark.parametrize(
    ("environment", "severity"),
    [("parameters: {n: 3}", "warning"), ("parameter_defaults: {n: 3}", "warning"), (None, "error")],
)
def test_a_default_of_the_wrong_type_counts_where_no_value_takes_its_place(
    tmp_path, environment, severity
):
    text = (
        "heat_template_version: 2021-04-16\nparameters: {n: {type: number, default: many}}\n"
        "outputs: {o: {value: {get_param: n}}}\n"
    )
    given = {"one": environment} if environment else {}
    [found] = found_in(tmp_path, text, *given, **given)
    assert (found.code, found.severity) == ("wrong-default", severity)


@pytest.mark.parametrize("name", sorted(RETIRED))
def test_a_retired_type_is_found_with_the_type_to_write_or_the_reason(tmp_path, name):
    (tmp_path / "old.yaml").write_text(f"{HOT}resources:\n  r: {{type: {name}}}\n")
    (found,) = lint(tmp_path / "old.yaml")
    assert found.code == "deprecated"
    assert found.message.startswith(f"{name} is retired and creates nothing: {advice(name)}")
    assert advice(name)


@pytest.mark.parametrize(
    ("path", "warned"),
    [
        ("addresses", True),
        ("addresses, private, 0, port", False),
        ("addresses, {get_param: net}, 0, port", False),
        ("addresses, private, {get_param: number}, port", False),
        ("{get_param: net}", False),
    ],
)
def test_the_type_of_an_attribute_says_nothing_about_what_a_path_reads(tmp_path, path, warned):
    text = HOT + (
        "parameters: {net: {type: string}, number: {type: number}}\n"
        "resources:\n"
        "  server: {type: OS::Nova::Server, properties: {image: i, flavor: f}}\n"
        "  ip:\n    type: OS::Neutron::FloatingIP\n    properties:\n"
        f"      floating_network: public\n      port_id: {{get_attr: [server, {path}]}}\n"
    )
    file = tmp_path / "t.yaml"
    file.write_text(text)
    found = [one.code for one in lint(file)]
    assert ("attribute-type" in found) is warned


SLOW = "a" * 60 + "b"


def slow_patterns(form: str) -> dict[str, str]:
    """A template or an environment with many patterns, each of which needs the longest time that a
    match may take, with the values to match.
    """
    names = [f"p{number}" for number in range(20)]
    tries = {
        name: f"  {name}: {{type: string, constraints: [{{allowed_pattern: '(a|aa)+{name}$'}}]"
        for name in names
    }
    value = "resources: {v: {type: OS::Heat::Value, properties: {value: 1}}}\n"
    declared = "".join(f"{one}}}\n" for one in tries.values())
    if form == "environment":
        given = "".join(f"  {name}: {SLOW}\n" for name in names)
        return {"root": f"{HOT}parameters:\n{declared}{value}", "env": f"parameters:\n{given}"}
    if form == "defaults":
        declared = "".join(f"{one}, default: {SLOW}}}\n" for one in tries.values())
        return {"root": f"{HOT}parameters:\n{declared}{value}"}
    given = ", ".join(f"{name}: {SLOW}" for name in names)
    children = "".join(f"  c{n}: {{type: child.yaml, properties: {{{given}}}}}\n" for n in range(5))
    return {
        "root": f"{HOT}resources:\n{children}",
        "child": f"{HOT}parameters:\n{declared}{value}",
    }


@pytest.mark.parametrize("form", ["defaults", "environment", "nested"])
def test_all_patterns_of_a_check_share_one_budget(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(patterns, "PATIENCE_S", 0.2)
    files = slow_patterns(form)
    texts = {name: text for name, text in files.items() if name != "root"}
    begun = process_time()
    findings = found_in(tmp_path, files["root"], *({"env"} & texts.keys()), **texts)
    assert process_time() - begun < 2  # each match alone may take half a second
    assert sum("needs more than" in one.message for one in findings) >= 20


def test_a_command_has_a_limit_of_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    names = range(1000)
    unknown = "".join(
        f"  a_resource_{n}: {{type: OS::Heat::Value, properties: {{value: "
        f"{{get_resource: a_resuorce_{n}x}}}}}}\n"
        for n in names
    )
    (tmp_path / "a.yaml").write_text(f"{HOT}parameters: {{unused: {{type: string}}}}\n")
    (tmp_path / "b.yaml").write_text(f"{HOT}resources:\n{unknown}")
    (tmp_path / "c.yaml").write_text(f"{HOT}resorces: {{}}\n")
    monkeypatch.setattr("hearth.cli.lint.CPU_S", 0.3)
    monkeypatch.setattr("hearth.cli.lint.CHARACTERS_A_SECOND", 1_000_000)
    assert run([tmp_path], [], "text", strict=False) == 2
    told = capsys.readouterr()
    assert re.search(
        r"b\.yaml: the checks need more than [0-9]+ s of CPU time; this file", told.err
    )
    assert "a.yaml:2" in told.out  # what was found before
    assert "c.yaml" not in told.out
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert run([tmp_path / "a.yaml"], [], "text", strict=False) == 0

import pytest

from hearth.authoring.lsp.choice import Sort
from tests.authoring.lsp.desk import CFN, HOT, Desk

SERVER = "resources:\n  web:\n    type: OS::Nova::Server\n    properties:\n"
CHILD = (
    HOT + "parameters:\n  size: {type: number, description: How much}\n"
    "  name: {type: string, default: x}\n"
    "resources:\n  inner: {type: OS::Heat::Value}\noutputs:\n"
    "  address: {value: 1, description: Where it is}\n"
)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def test_each_choice_is_described_by_text(desk):
    body = HOT + "parameters:\n  p: {type: json}\nconditions:\n  c: true\nresources:\n  r:\n    "
    for tail in ("|", "type: |", "condition: |", "metadata: {get_param: |}", "depends_on: |"):
        found = desk.choices(body + tail + "\n  s: {type: OS::Heat::Value}\n")
        assert found
        for choice in found.values():
            assert type(choice.word.text) is str
            assert type(choice.word.detail) is str


def test_hidden_types_are_not_offered(desk):
    hidden = [
        name
        for name in desk.schemas.catalog.names()
        if (support := desk.schemas.catalog.find(name).support) is not None and support.hidden
    ]

    assert hidden
    assert not set(hidden) & desk.choices(HOT + "resources:\n  r: {type: |}\n").keys()


def test_sections_that_are_not_there_yet(desk):
    found = desk.choices(HOT + "parameters: {}\n|\n")

    assert {"resources", "outputs", "conditions", "description"} <= found.keys()
    assert not {"parameters", "heat_template_version", "Resources"} & found.keys()
    assert "conditions" not in desk.choices("heat_template_version: 2015-10-15\n|")
    assert {"Resources", "Mappings", "Conditions"} <= desk.choices(CFN + "|").keys()


def test_a_new_file_can_begin_with_a_version(desk):
    assert "heat_template_version" in desk.choices("heat|")
    assert desk.choices("services: {}\nheat|") == {}


def test_types_by_name_and_the_templates_beside(desk):
    (desk.folder / "child.yaml").write_text(CHILD)
    (desk.folder / "notes.txt").write_text("x")
    (desk.folder / "lib").mkdir()
    (desk.folder / "lib" / "deep.template").write_text(CHILD)
    found = desk.choices(HOT + "resources:\n  web:\n    type: OS::|")

    assert {"OS::Nova::Server", "OS::Neutron::Port", "AWS::EC2::Instance"} <= found.keys()
    assert found["child.yaml"].word.sort is Sort.FILE
    assert found["lib/"].word.sort is Sort.FOLDER
    assert not {"notes.txt", "main.yaml", "<template>"} & found.keys()
    assert found["OS::Nova::Server"].word.detail == ""
    assert "lib/deep.template" in desk.choices(HOT + "resources:\n  web:\n    type: lib/|")


def test_a_type_replaces_what_has_been_typed_of_it(desk):
    text = HOT + "resources:\n  web:\n    type: OS::No|\n    properties: {}\n"

    assert "type: OS::Nova::Server\n    properties" in desk.typed(text, "OS::Nova::Server")


def test_properties_that_are_not_given_required_ones_first(desk):
    found = desk.choices(HOT + SERVER + "      image: x\n      |\n      key_name: y\n")

    assert next(iter(found)) == "flavor"
    assert "networks" in found
    assert not {"image", "key_name"} & found.keys()
    assert not {"get_param", "get_attr"} & found.keys()
    assert "required" in found["flavor"].word.detail
    assert found["flavor"].insert == "flavor: "


def test_properties_inside_properties(desk):
    found = desk.choices(HOT + SERVER + "      networks:\n        - port: x\n          |\n")

    assert {"network", "subnet", "fixed_ip"} <= found.keys()
    assert "port" not in found
    flow = desk.choices(HOT + SERVER + "      networks: [{port: x}, {sub|}]\n")
    assert {"network", "subnet", "port"} <= flow.keys()
    first = desk.choices(HOT + SERVER + "      networks:\n        - |\n")
    assert {"network", "get_param"} <= first.keys()


def test_the_properties_of_a_resource_inside_a_property(desk):
    group = "resources:\n  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n"
    group += "      resource_def:\n"

    assert {"type", "properties"} <= desk.choices(HOT + group + "        |\n").keys()
    found = desk.choices(HOT + group + "        type: |\n")
    assert "OS::Nova::Server" in found
    inner = "        type: OS::Nova::Server\n        properties:\n          |\n"
    assert "flavor" in desk.choices(HOT + group + inner)


def test_parameters_outputs_and_resources_of_a_child_template(desk):
    (desk.folder / "child.yaml").write_text(CHILD)
    use = HOT + "resources:\n  c:\n    type: child.yaml\n    properties:\n      |\n"
    found = desk.choices(use)

    assert list(found) == ["size", "name"]
    assert "How much" in found["size"].word.text
    read = (
        HOT + "resources:\n  c: {type: child.yaml}\noutputs:\n  o:\n    value: {get_attr: [c, |]}\n"
    )
    assert list(desk.choices(read)) == ["address", "resource.inner", "show"]


def test_a_type_of_an_environment_is_the_template_that_it_stands_for(desk):
    (desk.folder / "lib").mkdir()
    (desk.folder / "lib" / "child.yaml").write_text(CHILD)
    (desk.folder / "env.yaml").write_text("resource_registry:\n  My::Disk: lib/child.yaml\n")
    use = HOT + "resources:\n  c:\n    type: My::Disk\n    properties:\n      |\n"

    assert list(desk.choices(use)) == ["size", "name"]
    assert "My::Disk" in desk.choices(HOT + "resources:\n  c:\n    type: |\n")


def test_the_text_of_an_open_child_counts_and_not_the_disk(desk):
    (desk.folder / "child.yaml").write_text(CHILD)
    desk.open(HOT + "parameters:\n  other: {type: string}\n", "child.yaml")
    use = HOT + "resources:\n  c:\n    type: child.yaml\n    properties:\n      |\n"

    assert list(desk.choices(use)) == ["other"]


def test_names_of_parameters_in_get_param(desk):
    text = HOT + "parameters:\n  size: {type: number}\n" + SERVER + "      name: {get_param: |}\n"
    found = desk.choices(text)

    assert next(iter(found)) == "size"
    assert found["size"].word.detail == "number"
    assert "OS::stack_name" in found
    assert "web" not in found
    assert "name: {get_param: size}\n" in desk.typed(text, "size")


def test_completion_offers_other_resources_but_not_the_resource_itself(desk):
    text = HOT + "resources:\n  a: {type: A}\n  b:\n    type: B\n    depends_on: [|]\n"

    assert list(desk.choices(text)) == ["a"]
    other = HOT + "resources:\n  a: {type: A}\noutputs:\n  o: {value: {get_resource: |}}\n"
    assert list(desk.choices(other)) == ["a"]


def test_attributes_of_the_resource_that_is_named(desk):
    text = HOT + SERVER + "      flavor: x\noutputs:\n  o: {value: {get_attr: [web, |]}}\n"
    found = desk.choices(text)

    assert {"addresses", "networks", "show"} <= found.keys()
    assert found["addresses"].word.sort is Sort.ATTRIBUTE
    assert desk.choices(text.replace("[web", "[nothing")) == {}


def test_conditions_by_name_and_functions_of_conditions(desk):
    text = HOT + "conditions:\n  big: {equals: [1, 1]}\n" + SERVER + "      a: {if: [|, 1, 2]}\n"
    found = desk.choices(text)

    assert next(iter(found)) == "big"
    assert {"equals", "not"} <= found.keys()
    assert "get_attr" not in found


@pytest.mark.parametrize(
    ("version", "there", "missing"),
    [
        ("2013-05-23", {"get_param", "Fn::Select", "Ref"}, {"yaql", "if", "repeat"}),
        ("2015-10-15", {"str_split", "digest"}, {"map_merge", "Fn::Select", "Ref"}),
        ("2018-08-31", {"yaql", "if", "contains"}, {"Ref", "equals"}),
    ],
)
def test_functions_are_those_of_the_version(desk, version, there, missing):
    head = f"heat_template_version: {version}\n"
    found = desk.choices(head + "outputs:\n  o: {value: {|}}\n")

    assert there <= found.keys()
    assert not missing & found.keys()


def test_a_function_in_place_of_a_value_comes_with_braces(desk):
    text = HOT + SERVER + "      name: |\n"

    assert desk.choices(text, snippets=True)["get_attr"].insert == "{get_attr: [$1]\\}"
    assert desk.choices(text)["get_param"].insert == "{get_param: }"
    block = HOT + SERVER + "      name:\n        |\n"
    assert desk.choices(block)["get_param"].insert == "get_param: "


def test_values_that_a_property_may_have(desk):
    found = desk.choices(HOT + SERVER + "      user_data_format: |\n")
    assert {"HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG"} <= found.keys()
    assert {"true", "false"} <= desk.choices(HOT + SERVER + "      config_drive: |\n").keys()


def test_words_that_yaml_reads_as_something_else_are_quoted(desk):
    text = HOT + "parameters:\n  yes: {type: string}\noutputs:\n  o: {value: {get_param: |}}\n"
    assert desk.choices(text)["yes"].insert == '"yes"'
    quoted = text.replace("|", "'|'")
    assert desk.choices(quoted)["yes"].insert == "yes"


def test_keys_of_parameters_and_what_may_be_given_for_them(desk):
    head = HOT + "parameters:\n  p:\n"

    assert next(iter(desk.choices(head + "    |\n"))) == "type"
    assert "tags" not in desk.choices(head.replace("2018-08-31", "2017-09-01") + "    |\n")
    types = ["boolean", "comma_delimited_list", "json", "number", "string"]
    assert list(desk.choices(head + "    type: |\n")) == types
    assert list(desk.choices(head + "    hidden: |\n")) == ["false", "true"]
    constraints = desk.choices(head + "    constraints:\n      - |\n")
    assert {"range", "length", "allowed_values", "modulo"} <= constraints.keys()
    assert list(desk.choices(head + "    constraints:\n      - range: {|}\n")) == ["max", "min"]
    custom = desk.choices(head + "    constraints:\n      - custom_constraint: |\n")
    assert {"nova.flavor", "neutron.network"} <= custom.keys()


def test_keys_of_resources_and_outputs(desk):
    assert list(desk.choices(HOT + "resources:\n  r:\n    |\n"))[:2] == ["type", "properties"]
    old = desk.choices("heat_template_version: 2015-10-15\nresources:\n  r:\n    |\n")
    assert "condition" not in old
    assert next(iter(desk.choices(HOT + "outputs:\n  o:\n    |\n"))) == "value"
    assert "retain" in desk.choices(HOT + "resources:\n  r:\n    deletion_policy: |\n")


def test_versions_newest_first(desk):
    found = desk.choices("heat_template_version: |\nresources: {}\n")

    assert {"2021-04-16", "queens", "2013-05-23"} <= found.keys()
    aws = desk.choices("AWSTemplateFormatVersion: |\n")
    assert list(aws) == ["2010-09-09"]


def test_files_for_get_file_by_folder(desk):
    (desk.folder / "scripts").mkdir()
    (desk.folder / "scripts" / "boot.sh").write_text("x")
    (desk.folder / "motd").write_text("x")
    head = HOT + SERVER + "      user_data: {get_file: "

    assert {"motd", "scripts/"} <= desk.choices(head + "|}\n").keys()
    assert "scripts/boot.sh" in desk.choices(head + "scripts/|}\n")
    assert "{get_file: scripts/boot.sh}" in desk.typed(head + "scripts/b|}\n", "scripts/boot.sh")
    assert desk.choices(head + "http://x/|}\n") == {}


def test_keys_that_functions_take(desk):
    text = HOT + "outputs:\n  o: {value: {str_replace: {template: x, |}}}\n"

    assert list(desk.choices(text)) == ["params"]
    assert "sha256" in desk.choices(HOT + "outputs:\n  o: {value: {digest: [|, x]}}\n")
    assert "metadata" in desk.choices(HOT + "outputs:\n  o: {value: {resource_facade: |}}\n")


CFN_BODY = CFN + (
    "Mappings:\n  m:\n    k: {n: 1, o: 2}\nParameters:\n  p: {Type: String}\n"
    "Resources:\n  a: {Type: 'OS::Heat::Value'}\nOutputs:\n  o:\n    Value: "
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{Ref: |}", {"p", "a", "AWS::Region"}),
        ("{'Fn::GetAtt': [a, |]}", {"value", "show"}),
        ("{'Fn::FindInMap': [|]}", {"m"}),
        ("{'Fn::FindInMap': [m, |]}", {"k"}),
        ("{'Fn::FindInMap': [m, k, |]}", {"n", "o"}),
        ("{|}", {"Ref", "Fn::Join", "Fn::If"}),
    ],
)
def test_the_other_flavour_has_its_own_choices(desk, text, names):
    assert names <= desk.choices(CFN_BODY + text + "\n").keys()


def test_json_gets_quotes_where_they_are_missing(desk):
    head = '{"AWSTemplateFormatVersion": "2010-09-09",\n"Resources": {"a": {'

    assert '{"a": {"Type": ' in desk.typed(head + "|}}}", "Type")
    assert '{"a": {"Type": }' in desk.typed(head + '"|"}}}', "Type")
    assert '"Type": "OS::Nova::Server"}' in desk.typed(head + '"Type": "|"}}}', "OS::Nova::Server")
    assert '"Type": "OS::Nova::Server"}' in desk.typed(head + '"Type": |}}}', "OS::Nova::Server")
    assert '"Type": "OS::Nova::Server"\n' in desk.typed(head + '"Type": "OS|\n', "OS::Nova::Server")


def test_environments(desk):
    (desk.folder / "child.yaml").write_text(CHILD)
    env = "resource_registry:\n  My::Disk: child.yaml\n"

    assert {"parameters", "parameter_defaults"} <= desk.choices(env + "|", "env.yaml").keys()
    assert "resource_registry" not in desk.choices(env + "|", "env.yaml")
    parameters = desk.choices(env + "parameters:\n  |\n", "env.yaml")
    assert list(parameters) == ["name", "size"]
    assert "child.yaml" in desk.choices("resource_registry:\n  A: |\n", "env.yaml")
    assert "OS::Nova::Server" in desk.choices("resource_registry:\n  |\n", "env.yaml")
    hooks = desk.choices("resource_registry:\n  resources: {a: {hooks: |}}\n", "env.yaml")
    assert "pre-create" in hooks
    strategies = "resource_registry: {}\nparameter_merge_strategies:\n  a: |\n"
    assert list(desk.choices(strategies, "env.yaml")) == ["deep_merge", "merge", "overwrite"]


@pytest.mark.parametrize(
    "text",
    [
        "services:\n  web:\n    type: |\n",
        HOT + "resources:\n  # type: |\n",
        HOT + SERVER + "      user_data: |\n        {get_param: ¦}\n",
        HOT + "description: |\n",
        HOT + "parameters:\n  |\n",
        HOT + "resources:\n  |\n",
        HOT + "outputs:\n  o: {value: *|}\n",
    ],
)
def test_nothing_is_offered_where_anything_may_stand(desk, text):
    if "¦" in text:
        text = text.replace("|", "\0").replace("¦", "|")
        source, offset = text.replace("|", "").replace("\0", "|"), text.index("|")
        assert desk.completion.at(desk.open(source), offset) == []
    else:
        assert desk.choices(text) == {}

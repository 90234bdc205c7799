"""Template texts of any size."""

from typing import Protocol

HEAD = "heat_template_version: 2018-08-31\nresources:\n"


def wide(count: int, *, changed: bool = False, plus: int = 0) -> str:
    """Independent values; with `changed` the one in the middle has another value, with `plus` all
    have."""
    lines = [
        f" r{i}: {{type: OS::Heat::Value, properties: {{value: {i + plus}}}}}\n"
        for i in range(count)
    ]
    if changed:
        lines[count // 2] = lines[count // 2].replace("value: ", "value: 9")
    return HEAD + "".join(lines)


def chain(count: int) -> str:
    """Values each of which reads the one before."""
    lines = [" r0: {type: OS::Heat::Value, properties: {value: 0}}\n"]
    for i in range(1, count):
        read = f"{{get_attr: [r{i - 1}, value]}}"
        lines.append(f" r{i}: {{type: OS::Heat::Value, properties: {{value: {read}}}}}\n")
    return HEAD + "".join(lines)


def levels(count: int, depth: int) -> str:
    """Values in so many levels of equal width; each reads one of the level before."""
    width = count // depth
    lines = []
    for i in range(count):
        value = f"{{get_attr: [r{i - width}, value]}}" if i >= width else str(i)
        lines.append(f" r{i}: {{type: OS::Heat::Value, properties: {{value: {value}}}}}\n")
    return HEAD + "".join(lines)


def crossed(width: int, depth: int) -> str:
    """Values in so many layers, each reading the whole layer before."""
    lines = []
    for layer in range(depth):
        before = [f"{{get_attr: [r{layer - 1}_{i}, value]}}" for i in range(width)]
        value = f"[{', '.join(before)}]" if layer else "0"
        if layer:  # as long as one value, or the last layer would hold all paths
            value = f"{{str_replace: {{template: x, params: {{y: {value}}}}}}}"
        lines += [
            f" r{layer}_{i}: {{type: OS::Heat::Value, properties: {{value: {value}}}}}\n"
            for i in range(width)
        ]
    return HEAD + "".join(lines)


CHILD = (
    "heat_template_version: 2018-08-31\nparameters: {p: {type: string}}\nresources:\n"
    " a: {type: OS::Heat::Value, properties: {value: {get_param: p}}}\n"
    " b: {type: OS::Heat::Value, properties: {value: {get_attr: [a, value]}}}\n"
    " c: {type: OS::Heat::Value, properties: {value: {get_attr: [b, value]}}}\n"
    "outputs: {it: {value: {get_attr: [c, value]}}}\n"
)


def nested(
    count: int, *, changed: bool = False, chained: bool = False
) -> tuple[str, dict[str, str]]:
    """Nested stacks of three values each, all of one template; `chained`, each reads the one
    before."""
    value = 9 if changed else 1
    lines = []
    for i in range(count):
        given = f"{{get_attr: [n{i - 1}, it]}}" if chained and i else value
        lines.append(f" n{i}: {{type: child.yaml, properties: {{p: {given}}}}}\n")
    return HEAD + "".join(lines), {"child.yaml": CHILD}


def trios(count: int, *, changed: bool = False) -> str:
    """What is in the nested stacks of `nested`, in one stack."""
    value = 9 if changed else 1
    lines = [
        f" a{i}: {{type: OS::Heat::Value, properties: {{value: '{value}'}}}}\n"
        f" b{i}: {{type: OS::Heat::Value, properties: {{value: {{get_attr: [a{i}, value]}}}}}}\n"
        f" c{i}: {{type: OS::Heat::Value, properties: {{value: {{get_attr: [b{i}, value]}}}}}}\n"
        for i in range(count)
    ]
    return HEAD + "".join(lines)


class Group(Protocol):
    """Makes a group of so many nested stacks, with what they are made of; with `batch` it is
    updated by so many at a time."""

    def __call__(
        self, count: int, *, changed: bool = False, batch: int | None = None
    ) -> tuple[str, dict[str, str]]: ...


def counted(
    count: int, *, changed: bool = False, batch: int | None = None
) -> tuple[str, dict[str, str]]:
    """A resource group of the nested stacks of `nested`."""
    member = f"{{type: child.yaml, properties: {{p: {9 if changed else 1}}}}}"
    return _grouped(count, member, batch), {"child.yaml": CHILD}


def _grouped(count: int, member: str, batch: int | None) -> str:
    policy = f"  update_policy: {{rolling_update: {{max_batch_size: {batch}}}}}\n" if batch else ""
    return HEAD + (
        f" g:\n  type: OS::Heat::ResourceGroup\n{policy}  properties:\n   count: {count}\n"
        f"   resource_def: {member}\n"
    )


def scaling(
    count: int, *, changed: bool = False, batch: int | None = None
) -> tuple[str, dict[str, str]]:
    """A scaling group of the nested stacks of `nested`."""
    value = 9 if changed else 1
    pace = f"   rolling_updates: {{max_batch_size: {batch}}}\n" if batch else ""
    return HEAD + (
        " g:\n  type: OS::Heat::AutoScalingGroup\n  properties:\n"
        f"   min_size: 0\n   max_size: {count}\n   desired_capacity: {count}\n{pace}"
        f"   resource: {{type: child.yaml, properties: {{p: {value}}}}}\n"
    ), {"child.yaml": CHILD}


GROUPS: dict[str, Group] = {"group": counted, "scaling group": scaling}


def network() -> str:
    """A network called `wide`, with room for many servers."""
    return HEAD + (
        " net: {type: OS::Neutron::Net, properties: {name: wide}}\n"
        " subnet:\n  type: OS::Neutron::Subnet\n"
        "  properties: {network: {get_resource: net}, cidr: 10.8.0.0/16}\n"
    )


def ported(count: int) -> str:
    """Servers on the network `wide`, each with a port of its own: two resources for each."""
    lines = [
        f" p{i}: {{type: OS::Neutron::Port, properties: {{network: wide}}}}\n"
        f" s{i}:\n  type: OS::Nova::Server\n  properties:\n"
        f"   {{image: cirros, flavor: m1.tiny, networks: [{{port: {{get_resource: p{i}}}}}]}}\n"
        for i in range(count)
    ]
    return HEAD + "".join(lines)


MACHINE = (
    "heat_template_version: 2018-08-31\nparameters: {name: {type: string}}\nresources:\n"
    " port: {type: OS::Neutron::Port, properties: {network: wide, name: {get_param: name}}}\n"
    " server:\n  type: OS::Nova::Server\n  properties:\n"
    "   {image: cirros, flavor: m1.tiny, networks: [{port: {get_resource: port}}]}\n"
    " volume: {type: OS::Cinder::Volume, properties: {size: 1}}\n"
)


def machines(
    count: int, *, named: str = "web", batch: int | None = None
) -> tuple[str, dict[str, str]]:
    """A resource group of nested stacks on the network `wide`: a server, its port, a volume. No two
    are the same; with `batch` they are updated so many at a time."""
    member = f"{{type: machine.yaml, properties: {{name: '{named}-%index%'}}}}"
    return _grouped(count, member, batch), {"machine.yaml": MACHINE}


def parts(count: int, *, renamed: int = 0) -> str:
    """What is in the nested stacks of `machines`, in one stack; the first `renamed` have another
    name."""
    lines = [
        f" p{i}:\n  type: OS::Neutron::Port\n"
        f"  properties: {{network: wide, name: '{'app' if i < renamed else 'web'}-{i}'}}\n"
        f" s{i}:\n  type: OS::Nova::Server\n  properties:\n"
        f"   {{image: cirros, flavor: m1.tiny, networks: [{{port: {{get_resource: p{i}}}}}]}}\n"
        f" v{i}: {{type: OS::Cinder::Volume, properties: {{size: 1}}}}\n"
        for i in range(count)
    ]
    return HEAD + "".join(lines)


def servers(count: int) -> str:
    """Servers on the network `wide`."""
    lines = [
        f" s{i}:\n  type: OS::Nova::Server\n  properties:\n"
        "   {image: cirros, flavor: m1.tiny, networks: [{network: wide}]}\n"
        for i in range(count)
    ]
    return HEAD + "".join(lines)


def referring(count: int) -> str:
    """Generators of text and values that read them: parameters, conditions, functions, outputs."""
    lines = [
        "heat_template_version: 2021-04-16\n",
        "parameters:\n  name: {type: string, default: web}\n  size: {type: number, default: 8}\n",
        "  big: {type: boolean, default: false}\n",
        "conditions:\n  large: {equals: [{get_param: big}, true]}\n",
        "resources:\n",
    ]
    for i in range(0, count, 2):
        before = f"{{get_attr: [v{i - 2}, value]}}" if i >= 2 else "first"
        lines.append(
            f"  r{i}:\n    type: OS::Heat::RandomString\n    properties:\n"
            "      length: {if: [large, 64, {get_param: size}]}\n"
            f"      salt: {{list_join: ['-', [{{get_param: name}}, 's{i}']]}}\n"
            f"  v{i}:\n    type: OS::Heat::Value\n    properties:\n      type: string\n"
            "      value:\n        str_replace:\n          template: $n of $b is $v\n"
            f"          params: {{$n: {{get_param: name}}, $b: {before}, "
            f"$v: {{get_attr: [r{i}, value]}}}}\n"
            f"    metadata: {{rank: {i}}}\n"
        )
    lines.append(f"outputs:\n  last: {{value: {{get_attr: [v{count - 2}, value]}}}}\n")
    return "".join(lines)

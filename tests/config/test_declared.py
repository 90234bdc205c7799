"""Settings as fields of structs: what a field says of its option, and what a reload replaces."""

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Struct, field
from oslo_config import cfg

from hearth.config.options.declared import options_of, read_struct, reloaded
from hearth.config.options.register import register
from hearth.config.wrong import WrongSetting
from hearth.model.option import Network, Option, networks_of


class Inner(Struct, frozen=True):
    near: Annotated[
        tuple[Network, ...], Option("Networks.", group="inner", live=True, convert=networks_of)
    ] = ()


class Outer(Struct, frozen=True):
    computed: str
    limit: Annotated[int | None, Option("A limit.", minimum=1, live=True)] = None
    wait_s: Annotated[float, Option("A time.", name="wait")] = 60
    roles: Annotated[tuple[str, ...], Option("Roles.")] = ("a", "b")
    constant: int = 3
    inner: Inner = field(default_factory=Inner)


def conf(folder: Path, text: str) -> cfg.ConfigOpts:
    path = folder / "x.conf"
    path.write_text(text)
    loaded = cfg.ConfigOpts()
    register(loaded, options_of(Outer))
    loaded([], project="x", default_config_files=[str(path)])
    return loaded


def test_a_field_gives_name_type_and_default_of_its_option():
    options = [(one.place, one.kind, one.default) for one in options_of(Outer)]
    assert options == [
        ("limit", int, None),
        ("wait", float, 60),
        ("roles", list, ["a", "b"]),
        ("[inner] near", list, []),
    ]


def test_a_struct_has_the_values_that_are_set_and_its_own_defaults(tmp_path: Path):
    loaded = conf(tmp_path, "[DEFAULT]\nwait = 1.5\n[inner]\nnear = 10.0.0.0/8, ::1/128\n")
    near = (ip_network("10.0.0.0/8"), ip_network("::1/128"))
    found = read_struct(Outer, loaded, computed="x")
    assert found == Outer("x", wait_s=1.5, inner=Inner(near))


def test_a_value_that_cannot_be_converted_is_refused_by_name(tmp_path: Path):
    loaded = conf(tmp_path, "[inner]\nnear = ten\n")
    with pytest.raises(WrongSetting, match=r"^\[inner\] near: 'ten' does not appear"):
        read_struct(Outer, loaded, computed="x")


def test_a_reload_takes_over_what_is_live_and_nothing_else():
    near = (ip_network("10.0.0.0/8"),)
    after = Outer("y", 7, 1.0, ("c",), 4, Inner(near))
    assert reloaded(Outer("x"), after) == Outer("x", 7, inner=Inner(near))

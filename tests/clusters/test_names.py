"""Names of stacks, clusters and templates."""

import re

import pytest

from hearth.clusters.names import GENERATED, clean, generated_name, id12, stack_name

BITS = 0b01010 << 55 | 31


def test_an_id_has_a_character_for_each_five_bits():
    assert id12(0) == "a" * 12
    assert id12(2**60 - 1) == "7" * 12
    assert id12(BITS) == "k" + "a" * 10 + "7"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("Prod_7.web", "prod-7-web"), ("ä b/c", "bc"), ("A-B", "a-b"), ("", "")],
)
def test_a_clean_name_is_a_host_name(given: str, expected: str):
    assert clean(given) == expected


def test_the_name_is_cut_before_it_is_cleaned():
    name = "a" * 28 + "é_" + "z" * 10
    assert stack_name(name, 0) == "a" * 28 + "-" + "-" + "a" * 12


def test_the_stack_of_a_group_has_both_names():
    found = stack_name("Build.Farm-of-the-whole-company", 0, "GPU_nodes-large")
    assert found == "build-farm-of-the-wh-gpu-nodes-" + "a" * 12


def test_names_of_servers_are_short_enough():
    longest = stack_name("x" * 242, 2**60 - 1, "y" * 255)
    assert len(f"{longest}-master-99999") <= 63
    assert len(stack_name("x" * 242, 0) + "-node-99999999") <= 63


def test_generated_names_differ_and_are_valid():
    names = {generated_name(number, "cluster") for number in range(GENERATED)}
    assert len(names) == GENERATED
    assert all(re.fullmatch(r"[a-z]+-([1-9]|1[0-9]|2[0-4])-cluster", name) for name in names)
    assert generated_name(GENERATED, "template") == "alpha-1-template"

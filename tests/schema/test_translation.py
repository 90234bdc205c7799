from hearth.schema import Add, Delete, Replace, Resolve, ordered


def test_rules_run_kind_by_kind_and_else_as_declared():
    rules = [
        Resolve(["network"], "neutron.network"),
        Delete(["old"]),
        Replace(["network"], value_path=["network_id"]),
        Add(["networks"], ["a"]),
        Resolve(["image"], "glance.image"),
    ]
    kinds = [type(rule) for rule in ordered(rules)]
    assert kinds == [Add, Replace, Resolve, Resolve, Delete]
    assert [rule.finder for rule in ordered(rules) if isinstance(rule, Resolve)] == [
        "neutron.network",
        "glance.image",
    ]

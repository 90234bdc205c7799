"""Answers of the policy, cached for callers of equal rights unless a rule names somebody."""

import os
import time
from pathlib import Path

import pytest
from oslo_config import cfg

from hearth.service.caller import Caller
from hearth.service.policy import Policy, WrongRules

RULE = "stacks:index"


def policy(folder: Path, rule: str | None) -> Policy:
    """Return a policy with a file of one rule."""
    file = folder / "policy.yaml"
    file.write_text("{}" if rule is None else f'"{RULE}": "{rule}"\n')
    settings = folder / "heat.conf"
    settings.write_text(f"[oslo_policy]\npolicy_file = {file}\n")
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(settings)], default_config_dirs=[])
    return Policy(conf)


def asked(policy: Policy, monkeypatch: pytest.MonkeyPatch, *callers: Caller) -> tuple[list, int]:
    """Return the answers about the callers, and how many of them were not cached."""
    count = 0
    enforced = policy._enforced

    def counted(rule: str, caller: Caller) -> bool:
        nonlocal count
        count += 1
        return enforced(rule, caller)

    monkeypatch.setattr(policy, "_enforced", counted)
    return [policy.allows(RULE, one) for one in callers], count


A = Caller("a", "", "p", frozenset({"reader"}), token="1")
B = Caller("b", "", "q", frozenset({"reader"}), token="2")
GUEST = Caller("b", "", "q", frozenset({"heat_stack_user"}))


def test_callers_of_equal_roles_share_an_answer(tmp_path, monkeypatch):
    assert asked(policy(tmp_path, None), monkeypatch, A, B, A, GUEST) == (
        [True, True, True, False], 2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "answers"),
    [
        ("user_id:a", [True, False]),
        ("project_id:q", [False, True]),
        ("role:reader and user_domain_id:d", [False, False]),
        ("'a':%(user_id)s", None),
    ],
)
def test_a_rule_that_names_somebody_is_asked_about_each(rule, answers, tmp_path, monkeypatch):
    found, count = asked(policy(tmp_path, rule), monkeypatch, A, B)
    assert count == 2
    assert answers is None or found == answers


def test_an_alias_leads_to_the_rule_that_names_somebody(tmp_path, monkeypatch):
    made = policy(tmp_path, "rule:mine")
    (tmp_path / "policy.yaml").write_text(f'"mine": "user_id:a"\n"{RULE}": "rule:mine"\n')
    assert asked(made, monkeypatch, A, B) == ([True, False], 2)


@pytest.mark.parametrize("text", ["- a list\n", "word\n", "1\n", "a: [1\n"])
def test_a_file_without_rules_is_refused_at_the_start_and_ignored_later(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "fresh").mkdir()
    fresh = policy(tmp_path / "fresh", None)
    (tmp_path / "fresh" / "policy.yaml").write_text(text)
    with pytest.raises(WrongRules, match=r"\[oslo_policy\]: .*"):
        fresh.load()
    running = policy(tmp_path, "role:reader")
    assert running.allows(RULE, A)
    file = tmp_path / "policy.yaml"
    file.write_text(text)
    os.utime(file, (time.time() + 10, time.time() + 10))
    running.allows(RULE, Caller("c", "", "p", frozenset({"member"}), token="3"))
    assert "its previous rules remain in effect" in caplog.text

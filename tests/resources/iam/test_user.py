"""Users of a template's own: their keys, and what they may reach."""

import asyncio

import pytest
from msgspec.structs import replace

from hearth.cloud import CloudFault
from hearth.model.problem import Rejected
from hearth.resources.iam.user import admits
from hearth.resources.registry import builtin_types, default_catalog
from hearth.template import Environment, compile_template
from tests.resources.fake import context_of
from tests.resources.heat.test_wait_conditions import Desk

KEY = "AWS::IAM::AccessKey"
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  policy:
    type: OS::Heat::AccessPolicy
    properties: {AllowedResources: [policy]}
  user:
    type: AWS::IAM::User
    properties: {Policies: [%s, {Effect: Allow}]}
"""


class Keys(Desk):
    """Remembers the key pairs that were given out."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs = {}

    async def named(self, name):
        return "user-id" if name == "reader" else None

    async def keep_key_pair(self, user_id, access, secret):
        self.pairs[access] = (user_id, secret)

    async def key_pairs(self, user_id):
        return [access for access, (owner, _) in self.pairs.items() if owner == user_id]

    async def drop_key_pair(self, user_id, access):
        self.pairs.pop(access, None)


def test_a_key_pair_is_the_same_at_every_attempt_and_found_again():
    async def story():
        users = Keys()
        ctx = context_of(KEY, {"UserName": "reader"}, users=users)
        (step,) = ctx.kind.create_steps(ctx)
        assert await step.find(ctx) is None
        made = [await step.do(ctx), await step.do(ctx), await step.find(ctx)]
        ctx = replace(ctx, physical_id=made[0].physical_id, data=made[0].data)
        secret = await ctx.kind.attribute(ctx, "SecretAccessKey")
        there = dict(users.pairs)
        (drop,) = ctx.kind.delete_steps(ctx)
        await drop.do(ctx)
        return made, secret, there, ctx.kind.reference(ctx), users.pairs

    made, secret, there, reference, left = asyncio.run(story())
    assert made[0] == made[1] == made[2]
    assert there == {reference: ("user-id", secret)}
    assert left == {}


def test_a_key_for_nobody_is_refused():
    ctx = context_of(KEY, {"UserName": "nobody"}, users=Keys())
    with pytest.raises(CloudFault, match="this stack has no user nobody"):
        asyncio.run(ctx.kind.make_keys(ctx))


@pytest.mark.parametrize(
    ("policies", "name", "may"),
    [
        ([], "anything", True),
        (["readers"], "server", True),
        (["readers"], "secret", False),
        (["readers", "others"], "server", False),
        (["nobody knows"], "server", False),
        ([{"Effect": "Deny"}], "server", True),
    ],
)
def test_a_user_reaches_what_all_its_policies_name(policies, name, may):
    known = {"readers": ["server"], "others": ["disk"]}
    assert admits({"Policies": policies}, name, known) == may


def test_a_policy_by_name_comes_first_and_must_be_there():
    def requires(name):
        module = compile_template(
            TEMPLATE % name, files={}, environment=Environment.parse({}), catalog=default_catalog()
        )
        return module.specialise({}, stack_name="s", project_id="p").requires["user"]

    assert requires("policy") == frozenset({"policy"})
    with pytest.raises(Rejected) as refused:
        requires("polcy")
    assert [(p.name, p.nearest) for p in refused.value.problems] == [("polcy", "policy")]


def test_the_password_of_a_login_profile_is_the_users():
    kind = builtin_types()["AWS::IAM::User"]
    given = context_of(kind.type_name, {"LoginProfile": {"Password": "one"}})
    assert kind.password(given) == "one"
    assert kind.password(context_of(kind.type_name, {})) not in ("", "one")

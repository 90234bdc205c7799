"""AWS::IAM::User and AWS::IAM::AccessKey: users of the stack's project, and their keys."""

import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from hearth.cloud.fault import NotFound
from hearth.model.problem import InvalidTemplateReference, Rejected, nearest
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import IntentKey, MakesObject, UsesUsers
from hearth.resources.ec2.not_implemented import not_implemented
from hearth.resources.heat.access_policy import may_be_list
from hearth.resources.heat.password import password_of
from hearth.resources.heat.stack_user import StackUser, users_of
from hearth.resources.neutron.order import at
from hearth.schema import INTEGER, LIST, MAP, STRING, AllowedValues, Attr, Prop
from hearth.template.expr import Const

POLICIES = "Policies"
KEY_CHARACTERS = 32


class User(StackUser):
    """A user that may read all resources of this stack, or only those that its policies name."""

    type_name = "AWS::IAM::User"
    properties = {
        "Groups": Prop(LIST, "Accepted for compatibility: the users of a stack have no groups."),
        "LoginProfile": Prop(
            MAP,
            "Password of the user.",
            schema={"Password": Prop(STRING, "Its password; generated when not given.")},
        ),
        "Path": Prop(STRING, "Accepted for compatibility: users have no paths."),
        POLICIES: Prop(
            LIST, "Access policies of this stack, by name; values that are not text are ignored."
        ),
    }
    known_by = "the name and description of its user in the stack's domain project"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (*self.user_steps(ctx), Step("name", self.settle))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.drop_user_steps(ctx)

    def password(self, ctx: ResourceContext) -> str:
        profile_password = (ctx.given("LoginProfile") or {}).get("Password")
        return str(profile_password) if profile_password else password_of(ctx)

    async def settle(self, ctx: ResourceContext) -> Made:
        """Set the user's name as the physical id, because access keys refer to it."""
        return Made(physical_id=ctx.physical_name)

    def implicit_requires(self, name: str, definition: Any, program: Any) -> Iterable[str]:
        """Return the names of the policies in the properties, which must exist first.

        Raises Rejected if the template does not contain one of them. A value that is no list has no
        names; the check of the properties reports it.
        """
        if not may_be_list(definition.properties, POLICIES):
            return ()
        constants = [
            end.value for end in at(POLICIES)(definition.properties) if isinstance(end, Const)
        ]
        policies = [policy for policy in constants if isinstance(policy, str)]
        undefined = [policy for policy in policies if policy not in program.resources]
        if undefined:
            span = definition.span.under("properties").under(POLICIES)
            raise Rejected(
                [
                    InvalidTemplateReference(span, policy, nearest(policy, program.resources))
                    for policy in undefined
                ]
            )
        return policies


class AccessKey(MakesObject, UsesUsers):
    """A key pair of a user; its reference is the access key."""

    type_name = "AWS::IAM::AccessKey"
    properties = {
        "Serial": not_implemented(INTEGER),
        "Status": not_implemented(STRING, AllowedValues(["Active", "Inactive"])),
        "UserName": Prop(STRING, "The user of this stack, by its reference.", required=True),
    }
    attributes = {
        "SecretAccessKey": Attr(STRING, "The secret.", cached=False, secret=True),
        "UserName": Attr(STRING, "The user.", cached=False),
    }
    identified_by = IntentKey.OWN_ID
    known_by = "the access key, which is derived from the record"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("key-pair", self.make_keys, self.find),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("drop", self.drop),) if ctx.physical_id else ()

    async def make_keys(self, ctx: ResourceContext) -> Made:
        """Add the key pair to the user. It is derived from the record's secret, so each attempt
        adds the same.
        """
        access, secret = pair_of(ctx)
        user = await owner(ctx)
        if user is None:
            message = f"UserName: this stack has no user {ctx.given('UserName')}"
            raise NotFound("identity", message, "UserNotFound")
        await users_of(ctx).keep_key_pair(user, access, secret)
        return Made(physical_id=access, data={"secret_key": secret})

    async def find(self, ctx: ResourceContext) -> Made | None:
        access, secret = pair_of(ctx)
        user = await owner(ctx)
        access_keys = await users_of(ctx).key_pairs(user) if user else []
        return (
            Made(physical_id=access, data={"secret_key": secret}) if access in access_keys else None
        )

    async def drop(self, ctx: ResourceContext) -> Made | None:
        """Delete the key pair; "not found" is success, because the user may already be deleted."""
        user = await owner(ctx)
        if user is not None:
            await users_of(ctx).drop_key_pair(user, ctx.physical)
        return None

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        match name:
            case "SecretAccessKey":
                return ctx.data.get("secret_key")
            case "UserName":
                return ctx.given("UserName")
            case _:
                return None


def admits(
    properties: Mapping[str, Any], name: str, policies: Mapping[Any, Collection[Any]]
) -> bool:
    """Return whether a user with these properties may access the resource `name`.

    `policies` maps each policy's reference to the resources that it allows. Every policy of the
    user must allow the resource. A user without policies may access all resources.
    """
    names = [policy for policy in properties.get(POLICIES) or [] if isinstance(policy, str)]
    return all(name in policies.get(policy, ()) for policy in names)


def pair_of(ctx: ResourceContext) -> tuple[str, str]:
    """Return (access key, secret key), derived from the record's secret."""
    seed = (ctx.secret() or ctx.key).encode()
    digests = [hmac.new(seed, use, hashlib.sha256).hexdigest() for use in (b"access", b"secret")]
    return digests[0][:KEY_CHARACTERS], digests[1][:KEY_CHARACTERS]


async def owner(ctx: ResourceContext) -> str | None:
    """Return the id of the user named by the property `UserName`, or None if there is none."""
    return await users_of(ctx).named(str(ctx.properties["UserName"]))

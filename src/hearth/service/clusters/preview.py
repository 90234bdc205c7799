"""Preview a cluster: run all checks of a create request, and preview the cluster's stack."""

import secrets
from collections.abc import Awaitable
from typing import TypeVar

from msgspec import Struct

from hearth.cloud.fault import CloudFault
from hearth.clusters.definition import stack_request
from hearth.clusters.names import STACK_BITS, stack_name
from hearth.clusters.requests import ClusterRequest
from hearth.model.problem import Problem, Rejected
from hearth.service.caller import Caller
from hearth.service.clusters.cloud_checks import cluster_findings
from hearth.service.clusters.create import CHECKS, Draft, draft_of, room, template_of
from hearth.service.clusters.stack import facts_of_cluster, requested
from hearth.service.clusters.template_files import template_files
from hearth.service.services import Services
from hearth.service.stacks.prediction import StackPrediction
from hearth.service.stacks.preview import plan_create

T = TypeVar("T")


class CheckResult(Struct, frozen=True):
    """The result of one check: the problems that it found."""

    name: str
    problems: tuple[Problem | CloudFault, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether the check found no problem."""
        return not self.problems


class Preview(Struct, frozen=True):
    """The result of a preview.

    `draft` and `stack` are None if they are unknown because a check failed.
    """

    checks: tuple[CheckResult, ...]
    draft: Draft | None = None
    stack: StackPrediction | None = None


async def preview_cluster(services: Services, caller: Caller, request: ClusterRequest) -> Preview:
    """Return the results of all checks, the cluster that would be stored, and the preview of its
    stack.

    If the template is not found, only the quota and the template are checked. The stack is
    previewed only if the image is known. Nothing is stored or created.
    """
    quota, _ = await _result("quota", room(services, caller))
    template_check, template = await _result("template", template_of(services, caller, request))
    if template is None:
        return Preview((quota, template_check))
    draft = draft_of(services, caller, template, request)
    local_checks = [_checked(name, draft, services, caller) for name in CHECKS]
    of_cloud = [
        CheckResult(name, () if problem is None else _problems(problem))
        for name, problem in (
            await cluster_findings(services, caller, template, draft.cluster)
        ).items()
    ]
    checks = (quota, template_check, *local_checks, *of_cloud)
    if any(check.name == "image" and not check.passed for check in checks):
        return Preview(checks, draft)
    last, stack = await _result("stack", _stack(services, caller, draft))
    return Preview((*checks, last), draft, stack)


async def _stack(services: Services, caller: Caller, draft: Draft) -> StackPrediction:
    request = stack_request(
        draft.template,
        draft.cluster,
        draft.groups,
        files=template_files(),
        config=services.clusters,
        facts=await facts_of_cluster(services, caller, draft.template, draft.cluster),
    )
    name = stack_name(draft.cluster.name, secrets.randbits(STACK_BITS))
    return await plan_create(services, caller, name, requested(request))


def _checked(name: str, draft: Draft, services: Services, caller: Caller) -> CheckResult:
    try:
        CHECKS[name](services, caller, draft)
    except Rejected as rejected:
        return CheckResult(name, rejected.problems)
    return CheckResult(name)


async def _result(name: str, awaited: Awaitable[T]) -> tuple[CheckResult, T | None]:
    try:
        return CheckResult(name), await awaited
    except (Rejected, CloudFault) as problem:
        return CheckResult(name, _problems(problem)), None


def _problems(reason: Rejected | CloudFault) -> tuple[Problem | CloudFault, ...]:
    return reason.problems if isinstance(reason, Rejected) else (reason,)

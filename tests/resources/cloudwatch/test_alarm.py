"""AWS::CloudWatch::Alarm: the alarm of Aodh that it stands for, and what it cannot express."""

import asyncio
import json
from fnmatch import fnmatchcase

import pytest

from hearth.engine.core.naming import physical_name
from hearth.model.span import dotted
from hearth.resources.cloudwatch.metrics import METRICS, STATISTICS
from hearth.resources.described import beside
from hearth.resources.registry import builtin_types
from hearth.schema import Violation
from tests.resources.fake import context_of

TYPE = "AWS::CloudWatch::Alarm"
BUSY = {
    "MetricName": "CPUUtilization",
    "Statistic": "Average",
    "Period": "300",
    "EvaluationPeriods": "2",
    "ComparisonOperator": "GreaterThanThreshold",
    "Threshold": "80",
}
NETWORK = {**BUSY, "MetricName": "NetworkIn"}


def alarm(names=None, **properties):
    """The properties of the alarm in the nested stack; `names` are those of groups by reference."""
    ctx = context_of(TYPE, {**BUSY, **properties}, read_name=(names or {}).get)
    asyncio.run(ctx.kind.prepare(ctx))
    return ctx.kind.child(ctx).template["resources"]["alarm"]["properties"]


def query(**more):
    return json.loads(alarm(**more)["query"])


def dimension(name, value):
    return {"Name": name, "Value": value}


def test_percent_of_a_processor_is_time_in_a_period():
    found = alarm(Period="60", Threshold="50")
    assert (found["metric"], found["resource_type"]) == ("cpu", "instance")
    assert (found["aggregation_method"], found["granularity"]) == ("rate:mean", "60")
    assert found["threshold"] == 30 * 10**9
    assert found["evaluation_periods"] == "2"


@pytest.mark.parametrize(
    ("statistic", "of_total", "of_other"),
    [
        ("Average", "rate:mean", "mean"),
        ("Maximum", "rate:max", "max"),
        ("Minimum", "rate:min", "min"),
        ("Sum", "rate:sum", "sum"),
        ("SampleCount", "count", "count"),
    ],
)
def test_totals_are_compared_by_their_growth(statistic, of_total, of_other):
    total = alarm(MetricName="NetworkIn", Statistic=statistic)
    other = alarm(MetricName="memory.usage", Statistic=statistic)
    assert total["aggregation_method"] == of_total
    assert total["resource_type"] == "instance_network_interface"
    assert total["threshold"] == 80.0
    assert other["aggregation_method"] == of_other
    assert (other["metric"], other["resource_type"]) == ("memory.usage", "instance")


@pytest.mark.parametrize(
    ("comparison", "operator"),
    [
        ("GreaterThanOrEqualToThreshold", "ge"),
        ("GreaterThanThreshold", "gt"),
        ("LessThanThreshold", "lt"),
        ("LessThanOrEqualToThreshold", "le"),
    ],
)
def test_comparisons_have_other_names(comparison, operator):
    assert alarm(ComparisonOperator=comparison)["comparison_operator"] == operator


@pytest.mark.parametrize(
    ("metric", "name", "field"),
    [
        ("CPUUtilization", "InstanceId", "id"),
        ("CPUUtilization", "ImageId", "image_ref"),
        ("CPUUtilization", "InstanceType", "flavor_name"),
        ("CPUUtilization", "AutoScalingGroupName", "server_group"),
        ("CPUUtilization", "host", "host"),
        ("NetworkIn", "InstanceId", "instance_id"),
        ("DiskReadBytes", "InstanceId", "instance_id"),
    ],
)
def test_a_dimension_is_a_field_of_the_resource(metric, name, field):
    found = query(MetricName=metric, Dimensions=[dimension(name, "one")])
    assert found == {"=": {field: "one"}}


def test_all_dimensions_must_be_met():
    both = [dimension("InstanceType", "m1.tiny"), dimension("ImageId", "i")]
    assert query(Dimensions=both) == {
        "and": [{"=": {"flavor_name": "m1.tiny"}}, {"=": {"image_ref": "i"}}]
    }


@pytest.mark.parametrize("limit", [255, 53, 43])
def test_servers_of_a_group_are_found_by_their_names_however_long(limit):
    names = {"ref": physical_name("a-stack-with-a-long-name", "WebServerGroup", "a" * 30)}
    others = physical_name("a-stack-with-a-long-name", "WebServerGroup", "b" * 30)
    found = query(names=names, Dimensions=[dimension("AutoScalingGroupName", "ref")])
    pattern = found["like"]["display_name"].replace("%", "*")
    assert fnmatchcase(physical_name(names["ref"], "abcdefghijkl", "c" * 30, limit), pattern)
    assert not fnmatchcase(physical_name(others, "abcdefghijkl", "c" * 30, limit), pattern)


def test_without_a_dimension_it_is_about_the_project():
    asked = alarm()["query"]["str_replace"]
    assert json.loads(asked["template"]) == {"=": {"project_id": "PROJECT"}}
    assert asked["params"] == {"PROJECT": {"get_param": "OS::project_id"}}


def test_actions_and_description_are_passed_on_if_there_are_some():
    found = alarm(AlarmActions=["http://up"], OKActions=[], AlarmDescription="Busy")
    assert found["alarm_actions"] == ["http://up"]
    assert found["description"] == "Busy"
    assert found.keys().isdisjoint({"ok_actions", "insufficient_data_actions"})


def test_actions_that_are_no_urls_are_left_out():
    found = alarm(AlarmActions=["http://up", "restarter", None], OKActions=["restarter"])
    assert found["alarm_actions"] == ["http://up"]
    assert "ok_actions" not in found


@pytest.mark.parametrize(
    ("wrong", "place", "words"),
    [
        ({"Period": "five"}, "Period", "whole number"),
        ({"EvaluationPeriods": "1.5"}, "EvaluationPeriods", "whole number"),
        ({"Threshold": "much"}, "Threshold", "a number"),
        ({"Dimensions": ["one"]}, "Dimensions[0]", "Name and Value"),
        ({"Dimensions": [{"Name": "one"}]}, "Dimensions[0]", "Name and Value"),
        (
            {**NETWORK, "Dimensions": [dimension("AutoScalingGroupName", "g")]},
            "Dimensions[0]",
            "NetworkIn can be selected by InstanceId only",
        ),
    ],
)
def test_what_it_cannot_express_is_refused(wrong, place, words):
    (found,) = builtin_types()[TYPE].conflicts({**BUSY, **wrong})
    assert isinstance(found, Violation)
    assert dotted(found.path) == place
    assert words in found.message


def test_its_page_has_every_metric_and_statistic():
    page = beside(builtin_types()[TYPE], "md")
    for name, metric in METRICS.items():
        row = next(row for row in page.splitlines() if row.startswith("|") and f"`{name}`" in row)
        assert f"`{metric.name}`" in row
        assert f"`{metric.resource_type}`" in row
    assert all(f"`{name}`" in page for name in STATISTICS)

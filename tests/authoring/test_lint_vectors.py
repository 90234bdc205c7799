"""The recorded answers of the original against lint: no false alarm, and what is not found yet."""

import pytest

from tests.authoring.judged import errors_of, vectors, works

NOT_FOUND = {
    "cond-getresource-disabled": "whether a condition holds is known with values only",
    "join-number-param-item": "of the items of a list nothing is known before there are values",
    "url-port-param-bad": "a parameter's default may be overridden",
    "nest-inner-unknown": "a resource inside of a child, read by an output",
    "nest-missing-param": "an environment may give what a child lacks: a warning",
    "facade-in-root": "a child template is looked at alone too",
    "nest-depth-limit": "the limit of the vector is not the default",
    "limit-resources-root": "the limit of the vector is not the default",
    "limit-template-size": "the limit of the vector is not the default",
    "prop-unknown-until-created": "the value is random",
}
"""Templates that fail, at the latest when an output is read, and in which lint sees nothing."""

VECTORS = vectors()


@pytest.mark.parametrize("vector", [v for v in VECTORS if works(v)], ids=lambda v: v["name"])
def test_what_works_is_without_errors(vector, tmp_path):
    assert errors_of(vector, tmp_path) == []


@pytest.mark.parametrize("vector", [v for v in VECTORS if not works(v)], ids=lambda v: v["name"])
def test_what_fails_is_found(vector, tmp_path):
    assert bool(errors_of(vector, tmp_path)) is (vector["name"] not in NOT_FOUND)

"""The signed text of a poll, taken from its query string."""

from urllib.parse import parse_qsl, quote, urlencode

from hypothesis import example, given
from hypothesis import strategies as st

from hearth.agent.agent import signature
from hearth.api.cfn.polls import _params, poll_of, proves

SECRET = "s" * 32
TEXTS = st.text(st.sampled_from("aZ09-_.~ :/+%&=é\0"), max_size=6)
RAW = st.text(st.sampled_from("aZ0-_.~%2Bb&&==+é;"), max_size=30)


def plainly(query: str) -> dict[str, str] | None:
    try:
        return dict(parse_qsl(query, keep_blank_values=True, errors="strict"))
    except ValueError:
        return None


@given(st.dictionaries(TEXTS, TEXTS, max_size=5))
def test_what_is_encoded_as_it_is_signed_is_taken_as_it_is(params: dict[str, str]) -> None:
    query = "&".join(f"{quote(k, safe='')}={quote(v, safe='-_~')}" for k, v in params.items())
    found, signed = _params(query)
    assert found == plainly(query)
    if signed is not None:
        keys = sorted(key for key in params if key != "Signature")
        assert signed == "&".join(f"{key}={quote(params[key], safe='-_~')}" for key in keys)


@given(RAW)
@example("&0=")
def test_any_query_string_is_read_as_before(query: str) -> None:
    try:
        found, _ = _params(query)
    except ValueError:
        found = None
    assert found == plainly(query)


@given(TEXTS, st.booleans())
def test_the_signature_of_an_agent_is_valid_in_both_encodings(name: str, plus: bool) -> None:
    params = {
        "Action": "DescribeStackResource", "StackName": f"web{name}", "LogicalResourceId": "s",
        "AWSAccessKeyId": "key", "SignatureVersion": "2", "SignatureMethod": "HmacSHA256",
    }  # fmt: skip
    params["Signature"] = signature("GET", "http://x/v1/", params, SECRET)
    query = urlencode(params) if plus else urlencode(params, quote_via=quote, safe="-_~")
    for asked, valid in ((query, True), (query.replace("web", "wee"), False)):
        poll = poll_of(
            {"query_string": asked.encode(), "headers": [(b"host", b"x")], "path": "/v1/",
             "method": "GET"}
        )  # fmt: skip
        assert poll is not None
        assert proves(SECRET, poll, 0.0) is valid

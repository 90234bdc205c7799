"""The signatures of servers that poll."""

from urllib.parse import parse_qsl, quote, urlencode

from hypothesis import given
from hypothesis import strategies as st

from hearth.agent.agent import signature
from hearth.api.cfn.accepted_keys import proves

SECRET = "s" * 32
TEXTS = st.text(st.sampled_from("aZ09-_.~ :/+%&=é\0"), max_size=6)


@given(TEXTS, st.booleans())
def test_the_signature_of_an_agent_is_valid_in_both_encodings(name: str, plus: bool) -> None:
    params = {
        "Action": "DescribeStackResource", "StackName": f"web{name}", "LogicalResourceId": "s",
        "AWSAccessKeyId": "key", "SignatureVersion": "2", "SignatureMethod": "HmacSHA256",
    }  # fmt: skip
    sent = signature("GET", "http://x/v1/", params, SECRET)
    query = urlencode(params) if plus else urlencode(params, quote_via=quote, safe="-_~")
    for asked, valid in ((query, True), (query.replace("web", "wee"), False)):
        credentials = {
            "signature": sent, "host": "x", "verb": "GET", "path": "/v1/",
            "params": dict(parse_qsl(asked, keep_blank_values=True)),
        }  # fmt: skip
        assert proves(SECRET, credentials, 0.0) is valid

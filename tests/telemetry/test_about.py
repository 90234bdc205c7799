"""Positions in traces, as headers write them, and what log lines know about the work."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.telemetry.about import About, Trace, about, new_trace, trace_of, working_on

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
IDS = st.integers(1, 2**128 - 1)


def test_a_header_is_read_and_written():
    found = trace_of(f"00-{TRACE}-{SPAN}-01")
    assert found == Trace(TRACE, SPAN, 1)
    assert found.header == f"00-{TRACE}-{SPAN}-01"


def test_a_later_version_may_be_longer():
    assert trace_of(f"01-{TRACE}-{SPAN}-01-more") == Trace(TRACE, SPAN, 1)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",  # not in this version
        f"01-{TRACE}-{SPAN}-01more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-0g",
        f"00_{TRACE}_{SPAN}_01",
        f"00-{TRACE}-{SPAN}-01\n",
    ],
)
def test_what_is_no_position_is_ignored(header: str):
    assert trace_of(header) is None


@given(st.text())
def test_whatever_a_client_sends_is_survived(header: str):
    found = trace_of(header)
    assert found is None or trace_of(found.header) == found


@given(IDS, st.integers(1, 2**64 - 1), st.integers(0, 1))
def test_what_is_written_is_read(trace: int, span: int, flags: int):
    one = Trace(f"{trace:032x}", f"{span:016x}", flags)
    assert trace_of(one.header) == one


def test_a_child_has_the_trace_and_a_span_of_its_own():
    one = new_trace()
    assert trace_of(one.header) == one
    child = one.child()
    assert child.trace_id == one.trace_id
    assert child.span_id != one.span_id
    assert child.flags == one.flags


def test_only_what_is_known_has_words():
    assert About().words() == {}
    one = About(request_id="req-1", stack="s", trace=Trace(TRACE, SPAN))
    assert one.words() == {"request_id": "req-1", "stack": "s", "trace_id": TRACE}


def test_a_task_inherits_the_subject_and_keeps_its_own():
    async def child(name: str) -> tuple[str, str]:
        before = about().stack
        working_on(About(stack=name))
        await asyncio.sleep(0)
        return before, about().stack

    async def parent() -> None:
        working_on(About(stack="parent"))
        assert await asyncio.gather(child("a"), child("b")) == [("parent", "a"), ("parent", "b")]
        assert about().stack == "parent"

    asyncio.run(parent())

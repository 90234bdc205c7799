"""The generated suite: every type through its life, on devcloud or on a cloud that is there.

    python -m tests.types.run [--real CLOUD] [--json FILE] [--at-once N] [TYPE…]

Prints a line per type and what went wrong; the exit status is 1 when anything did. `--real` takes
the name of an administrator's entry in clouds.yaml whose cloud has a project and a plain user
`demo` as well; see docs/real-cloud.md.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.types.case import kinds, subject
from tests.types.cloud import Place, in_a_box, real
from tests.types.story import Story, tell

AT_ONCE = 6


def lives(place: Place, names: Iterable[str], at_once: int = AT_ONCE) -> list[Story]:
    """The stories of these types, several at once; those marked `alone` after all others."""
    names = list(names)
    alone = [name for name in names if subject(name, there=place.there).case.get("alone")]
    with ThreadPoolExecutor(at_once) as pool:
        others = [name for name in names if name not in alone]
        return [*pool.map(lambda name: _life(place, name), others),
                *(_life(place, name) for name in alone)]  # fmt: skip


def _life(place: Place, name: str) -> Story:
    one = subject(name, there=place.there)
    reason = place.lacks(name) or one.case.get("elsewhere", "")
    if reason:
        story = Story(name, unavailable=reason)
    else:
        story = tell(one, place.heat(one.case.get("caller", "demo")), f"t-{one.slug}")
    tell_of(story)
    return story


def tell_of(story: Story) -> None:
    """A line, and what went wrong."""
    state = "unavailable" if story.unavailable else "WRONG" if story.wrong else "ok"
    lines = [f"{state:12} {story.type_name}  {len(story.verbs)} verbs {story.unavailable}"]
    lines += [f"    {wrong}" for wrong in story.wrong]
    print("\n".join(lines), flush=True)


def as_json(place: Place, stories: Sequence[Story], left: Sequence[str]) -> dict[str, Any]:
    """The result: what was done with each type and what went wrong."""
    types = {}
    for story in stories:
        counts: dict[str, int] = {}
        for verb in story.verbs:
            counts[verb.verb] = counts.get(verb.verb, 0) + 1
        types[story.type_name] = {
            **({"unavailable": story.unavailable} if story.unavailable else {}),
            "verbs": counts,
            "wrong": story.wrong,
            "seconds": round(sum(verb.seconds for verb in story.verbs), 1),
        }
    verbs = [verb for story in stories for verb in story.verbs]
    return {
        "cloud": place.name,
        "types": len([s for s in stories if not s.unavailable]),
        "unavailable": len([s for s in stories if s.unavailable]),
        "verbs": len(verbs),
        "wrong": len([verb for verb in verbs if verb.wrong]),
        "left_over": list(left),
        "by_type": types,
    }


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="Every type in generated templates.")
    parser.add_argument("--real", metavar="CLOUD", help="an administrator's entry in clouds.yaml")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("-v", "--verbose", action="store_true", help="show every verb")
    parser.add_argument("types", nargs="*")
    given = parser.parse_args()
    names = given.types or sorted(set(kinds()) - {"<template>"})
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        with real(given.real, Path(folder)) if given.real else in_a_box(Path(folder)) as place:
            stories = lives(place, names, given.at_once)
            left = place.left_over()
        result = as_json(place, stories, left)
    for verb in (verb for story in stories for verb in story.verbs if given.verbose):
        print(f"    {verb.start}: {verb.verb} {verb.of} {verb.seconds} s {verb.wrong}")
    print(f"left over: {left}")
    print(f"{result['types']} types, {result['unavailable']} unavailable, {result['verbs']} verbs, "
          f"{result['wrong']} wrong, {time.monotonic() - began:.0f} s")  # fmt: skip
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if result["wrong"] or left else 0


if __name__ == "__main__":
    sys.exit(main())

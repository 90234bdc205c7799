"""The page of all settings, from their tables."""

from collections.abc import Iterator
from itertools import groupby

from hearth.cli.options import OPTIONS, without_meaning
from hearth.cli.options.cloud import SERVICES
from hearth.cli.options.option import Option

HEAD = """# Settings

<!-- made by `hearth docs options`; do not edit -->

`hearth serve` reads files in the form of heat.conf: those of `--config`, else `/etc/heat/heat.conf` and then
`/etc/hearth/hearth.conf`, of which the later counts. Sections, names and meanings are those of Heat and of the OpenStack
libraries it uses, so the file of an existing installation serves as it is. `hearth serve --check-config` says what a file comes
to. What is set and does nothing here is named in one warning, and so is what nobody knows.

*live*: it may change while a process runs, with SIGHUP. *own*: Heat has no such setting.
"""


def page() -> str:
    """The page, as Markdown."""
    parts = [HEAD, *_sections()]
    parts.append("## Known, and without meaning here\n\n" + "\n".join(_idle()) + "\n")
    return "\n".join(parts)


def _sections() -> Iterator[str]:
    usual = [option for option in OPTIONS if not _repeated(option)]
    usual.sort(key=lambda option: (option.group != "DEFAULT", option.group))
    for group, found in groupby(usual, key=lambda option: option.group):
        head = "| setting | default | what it does |\n| --- | --- | --- |\n"
        more = ""
        if group == "clients":
            services = ", ".join(f"`[clients_{name}]` {of}" for name, of in SERVICES.items())
            more = f"\nThe same settings for one service alone: {services}.\n"
        elif group == "ec2authtoken":
            more = "\nSections `[ec2authtoken.NAME]` hold the same.\n"
        yield f"## [{group}]\n\n{head}{''.join(map(_row, found))}{more}"


def _repeated(option: Option) -> bool:
    own = option.name in ("auth_uri", "url", "http_log_debug")
    return option.group.startswith("clients_") and not own


def _row(option: Option) -> str:
    marks = [word for word in ("live", "own") if getattr(option, word)]
    marked = f" *{', '.join(marks)}*" if marks else ""
    told = option.does
    if option.choices and not option.name.endswith("_auth_method"):
        told += f" One of {', '.join(one for one in option.choices if one)}."
    if option.formerly:
        older = (
            name if group == "DEFAULT" else f"[{group}] {name}" for group, name in option.formerly
        )
        told += f" Once `{'`, `'.join(older)}`, which still counts."
    if option.differs:
        told += f" Not Heat's default: {option.differs}."
    return f"| `{option.name}`{marked} | {_default(option)} | {told} |\n"


def _default(option: Option) -> str:
    value = option.default
    if value is None or value in ("", [], ()):
        return ""
    if isinstance(value, list):
        return f"`{', '.join(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _idle() -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for group, found in without_meaning.OPTIONS.items():
        for name, why in found.items():
            place = name if group == "DEFAULT" else f"[{group}] {name}"
            by_reason.setdefault(why, []).append(place)
    for group, why in without_meaning.GROUPS.items():
        by_reason.setdefault(why, []).append(f"[{group}]")
    yield "| why | settings |\n| --- | --- |"
    for why, places in sorted(by_reason.items()):
        yield f"| {why} | {', '.join(f'`{place}`' for place in sorted(places))} |"

"""The documentation page of all settings, generated from the option tables."""

from collections.abc import Iterator
from itertools import groupby

from hearth.config.options import OPTIONS, no_effect
from hearth.config.options.cloud import SERVICES
from hearth.model.option import Option

HEAD = """# Settings

<!-- made by `hearth docs options`; do not edit -->

After reading this page you know the effect of each setting of your `heat.conf`. To see the values in force:

    hearth serve --check-config --config /etc/heat/heat.conf

`hearth serve` reads the files of `--config`. Without `--config` it reads `/etc/heat/heat.conf` and then
`/etc/hearth/hearth.conf`; the second file wins. Sections, names and meanings are those of Heat and of the OpenStack
libraries that Heat uses, so an existing file works as it is. At start, one warning names the settings that have no effect,
and another one the settings that are unknown.

| mark | meaning |
| --- | --- |
| *live* | SIGHUP applies a change while the process runs |
| *own* | Heat does not have this setting |
"""


def page() -> str:
    """Return the page as Markdown."""
    parts = [HEAD, *_sections()]
    parts.append("## Settings without effect\n\n" + "\n".join(_idle()) + "\n")
    return "\n".join(parts)


def _sections() -> Iterator[str]:
    usual = [option for option in OPTIONS if not _repeated(option)]
    for group, options in groupby(usual, key=lambda option: option.group):
        head = "| setting | default | effect |\n| --- | --- | --- |\n"
        note = ""
        if group == "clients":
            services = ", ".join(f"`[clients_{name}]` {of}" for name, of in SERVICES.items())
            note = f"\nThe same settings for a single service: {services}.\n"
        elif group == "ec2authtoken":
            note = "\nSections `[ec2authtoken.NAME]` have the same settings.\n"
        yield f"## [{group}]\n\n{head}{''.join(map(_row, options))}{note}"


def _repeated(option: Option) -> bool:
    specific = option.name in ("auth_uri", "url", "http_log_debug")
    return option.group.startswith("clients_") and not specific


def _row(option: Option) -> str:
    flags = {"live": option.live, "own": option.hearth_only}
    marks = [mark for mark, is_set in flags.items() if is_set]
    marked = f" *{', '.join(marks)}*" if marks else ""
    text = option.does
    if option.choices and not option.name.endswith("_auth_method"):
        text += f" One of {', '.join(choice for choice in option.choices if choice)}."
    if option.formerly:
        older = (
            name if group == "DEFAULT" else f"[{group}] {name}" for group, name in option.formerly
        )
        text += f" The older name `{'`, `'.join(older)}` still works."
    if option.differs:
        text += f" Differs from Heat: {option.differs}."
    return f"| `{option.name}`{marked} | {default_of(option)} | {text} |\n"


def default_of(option: Option) -> str:
    """Return the default of an option as Markdown; empty if it has none."""
    value = option.default
    if value is None or value in ("", [], ()):
        return ""
    if isinstance(value, list):
        return f"`{', '.join(value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _idle() -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for group, reasons in no_effect.OPTIONS.items():
        for name, reason in reasons.items():
            label = name if group == "DEFAULT" else f"[{group}] {name}"
            by_reason.setdefault(reason, []).append(label)
    for group, reason in no_effect.GROUPS.items():
        by_reason.setdefault(reason, []).append(f"[{group}]")
    yield "| reason | settings |\n| --- | --- |"
    for reason, places in sorted(by_reason.items()):
        yield f"| {reason} | {', '.join(f'`{label}`' for label in sorted(places))} |"

"""Which kills there are to be: every kind of call in every window first, then what luck gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tests.crash.deployed import deployed
from tests.crash.outer import outer
from tests.crash.shelf import shelf
from tests.crash.story import Story
from tests.crash.tiers import tiers
from tests.crash.windows import ALONE, RANDOM, STOPPED, WAITING, WINDOWS

KILLS_PER_ACT = 2  # an operation whose owner died three times is failed by design
LATE = "lands after the restart"  # others go on before it is known what landed: one kill per act
VERBS = ("create", "check", "suspend", "resume", "rollback", "update", "delete")
BESIDES = (
    "check",
    "suspend",
    "resume",
    "rollback",
)  # a life has them only where it is to die there
RANDOM_SHARE = 0.5  # of the kills by luck
STORIES = (tiers, shelf, outer, deployed)
PAIRED = (tiers, shelf)  # also with two engines, and by luck


@dataclass(frozen=True)
class Kill:
    """A kill to be made: in which act, in which window, at which calls of a wave."""

    window: str
    verb: str
    wave: int
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Life:
    """A stack and its kills."""

    name: str
    story: Story
    kills: tuple[Kill, ...]
    seed: int
    pair: bool = False  # two engines on one PostgreSQL
    abandoned: bool = False  # deleted as soon as Hearth is there again, not completed

    def of(self, verb: str) -> list[Kill]:
        """The kills of one act, in their order."""
        return sorted((kill for kill in self.kills if kill.verb == verb), key=lambda k: k.wave)


def plan(count: int, seed: int, *, pairs: bool = True) -> list[Life]:
    """Lives with `count` kills or a few more; the first of them cover everything there is."""
    luck = random.Random(seed)
    lives: list[Life] = []
    for story, kills, pair in _all(luck, pairs=pairs):
        if sum(len(life.kills) for life in lives) < count:
            lives.append(_life(lives, story, kills, seed, pair=pair))
    while sum(len(life.kills) for life in lives) < count:
        story, kills = _by_luck(luck)
        abandoned = luck.random() < 0.2
        if abandoned:
            kills = tuple(kill for kill in kills if kill.verb in ("create", "delete"))
        lives.append(_life(lives, story, kills, seed, abandoned=abandoned))
    return lives


def _life(
    before: list[Life], story: Story, kills: tuple[Kill, ...], seed: int, **more: bool
) -> Life:
    number = len(before)
    return Life(f"{story.name}-{number}", story, kills, seed * 100_003 + number, **more)


def _all(luck: random.Random, *, pairs: bool) -> Iterator[tuple[Story, tuple[Kill, ...], bool]]:
    """Every wave of every act in every window, as many in a life as may be, in any order."""
    everything = []
    for story in STORIES:
        for window in WINDOWS:
            everything += [(story, kills, False) for kills in _covering(story, window)]
        waits = tuple(story.waits)
        if waits:
            everything.append((story, (Kill(WAITING, "create", 0, waits),), False))
    everything += list(_stopped(luck, pairs=pairs))
    luck.shuffle(everything)
    yield from everything


def _stopped(luck: random.Random, *, pairs: bool) -> Iterator[tuple[Story, tuple[Kill, ...], bool]]:
    """Engines that stand still: every wave with two engines, some alone; a few die as well."""
    (alone,) = ALONE
    for story in PAIRED:
        chosen = luck.choice(list(_covering(story, alone)))
        yield story, tuple(k for k in chosen if k.verb == "create")[:1], False
        for i in range(max(len(story.act(verb).waves) for verb in VERBS) if pairs else 0):
            window = STOPPED[i % len(STOPPED)]
            kills = [
                Kill(window, verb, i, tuple(waves[i]))
                for verb in ("create", "delete")
                if i < len(waves := story.act(verb).waves)
            ]
            yield story, tuple(kills), True
        if pairs:
            dies = luck.choice(list(_covering(story, "killed, the other engine goes on")))
            yield story, tuple(kill for kill in dies if not kill.wave % KILLS_PER_ACT), True


def _covering(story: Story, window: str) -> Iterator[tuple[Kill, ...]]:
    """Lives that between them kill at all waves of all acts."""
    waves = {verb: list(enumerate(story.act(verb).waves)) for verb in VERBS}
    number = 1 if window == LATE else KILLS_PER_ACT
    while any(waves.values()):
        kills: list[Kill] = []
        for verb, left in waves.items():
            kills += [Kill(window, verb, i, tuple(wave)) for i, wave in left[:number]]
            del left[:number]
        yield tuple(kills)


def _by_luck(luck: random.Random) -> tuple[Story, tuple[Kill, ...]]:
    """One or two kills in some acts of a story, each at some calls of some wave."""
    story = luck.choice(PAIRED)
    kills: list[Kill] = []
    while not kills:
        for verb in VERBS:
            waves = story.act(verb).waves
            number = luck.choice((0, 0, 0, 1) if verb in BESIDES else (0, 1, 1, 2))
            for wave in sorted(luck.sample(range(len(waves)), min(number, len(waves)))):
                window = RANDOM if luck.random() < RANDOM_SHARE else luck.choice((*WINDOWS,))
                kinds = sorted(waves[wave])
                some = luck.sample(kinds, luck.randint(1, len(kinds)))
                targets = () if window == RANDOM else tuple(some)
                kills.append(Kill(window, verb, wave, targets))
    return story, tuple(kills)

"""Reloads the settings at SIGHUP. Live settings take effect; an invalid file changes nothing."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hearth.config.configuration import Configuration
from hearth.config.options import OPTIONS
from hearth.config.options.declared import reloaded
from hearth.config.policies import Policies, policies
from hearth.config.settings import Settings
from hearth.config.wrong import WrongSetting
from hearth.process.logs import checked_levels, levels
from hearth.process.wiring import RunningProcess
from hearth.service.policy import WrongRules

log = logging.getLogger(__name__)

LIVE = frozenset(option.place for option in OPTIONS if option.live)
Read = Callable[[], tuple[Configuration, Settings]]


class Reloading:
    """Reloads the configuration of the process `running`.

    `configuration` is the one that is in effect now. `read_settings` is the function that reads it
    again and raises WrongSetting.
    """

    def __init__(
        self, configuration: Configuration, running: RunningProcess, read_settings: Read
    ) -> None:
        self._configuration = configuration
        self._running = running
        self._read = read_settings

    async def __call__(self) -> None:
        """Read the configuration in a thread, then apply the live settings and log what has
        changed.
        """
        thread = ThreadPoolExecutor(1, "settings")
        try:
            loop = asyncio.get_running_loop()
            configuration, settings, rules = await loop.run_in_executor(thread, self._looked)
        except (WrongSetting, WrongRules) as problem:
            log.error("the settings remain unchanged: %s", problem)
            return
        finally:
            thread.shutdown(wait=False)
        former = self._configuration
        before, after = former.values(), configuration.values()
        changes = {setting for setting, value in after.items() if before.get(setting) != value}
        self._configuration = configuration
        put(self._running, settings, rules)
        levels(configuration.conf)
        configuration.tell(former)
        in_effect = ", ".join(sorted(changes & LIVE)) or "nothing but policies"
        log.warning("the settings were reloaded; now in effect: %s", in_effect)
        if fixed := sorted(changes - LIVE):
            log.warning("these settings take effect at the next start: %s", ", ".join(fixed))

    def _looked(self) -> tuple[Configuration, Settings, Policies]:
        configuration, settings = self._read()
        checked_levels(configuration.conf)
        owner_only = settings.clusters.owner_only_certificates
        rules = policies(configuration.conf, owner_only_certificates=owner_only)
        rules.load()
        return configuration, settings, rules


def put(running: RunningProcess, settings: Settings, rules: Policies) -> None:
    """Apply the live settings and the policy rules to a running process."""
    services, store = running.services, running.services.store
    services.limits = reloaded(services.limits, settings.limits)
    services.fetching = reloaded(services.fetching, settings.fetching)
    services.clusters = reloaded(services.clusters, settings.clusters)
    services.policy, services.cluster_policy = rules.stacks, rules.clusters
    services.programs.limits = reloaded(services.programs.limits, settings.templates)
    store.config = reloaded(store.config, settings.store)
    running.front.settings = reloaded(running.front.settings, settings.front)

"""Every command of the orchestration service is run by some test of this folder."""

from tests.clients.covered import COMMANDS, GROUP, said_by_tests


def test_each_command_that_the_client_offers_is_run_by_a_test():
    assert len(COMMANDS) > 40, f"is there no entry point of {GROUP}?"
    assert COMMANDS - said_by_tests() == set()

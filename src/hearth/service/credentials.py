"""What an operation may use of its caller."""

from hearth.service.caller import Caller
from hearth.service.house import House


def token_of(house: House, caller: Caller) -> tuple[str, str, dict[str, str]]:
    """The caller's token as a credential to be stored."""
    facts = {"auth_url": caller.auth_url, "token": caller.token, "user_id": caller.user_id}
    return house.new_id(), "token", facts


def fresh_credential(house: House, caller: Caller) -> tuple[str, str, dict[str, str]] | None:
    """Without trusts an operation needs the token of whoever asked for it."""
    if house.clouds.pool.config.service_user is not None:
        return None
    return token_of(house, caller)

"""Reading a server's user data as its guest would."""

import asyncio
import base64

import pytest

from hearth.cli.demo.dev_server import DemoFailed
from hearth.cli.demo.guest import script_in, signal_in
from hearth.resources.nova.user_data import user_data
from tests.resources.fake import context_of

CURL = (
    "curl -i -X POST -H 'X-Auth-Token: abc' -H 'Content-Type: application/json' "
    "http://h/v1/p/stacks/s/i/resources/r/signal"
)


def test_the_script_is_found_in_the_user_data_of_a_server():
    live = context_of("OS::Nova::Server", {"flavor": "1", "user_data": "#!/bin/sh\necho hello\n"})
    sent = base64.b64decode(asyncio.run(user_data(live)) or "").decode()
    assert script_in(sent) == "#!/bin/sh\necho hello\n"


def test_user_data_without_a_script_is_trouble():
    with pytest.raises(DemoFailed, match="no part"):
        script_in("#!/bin/sh\n")


def test_the_call_of_curl_is_taken_apart():
    script = f'#!/bin/sh\nsetup "it\'s"\n{CURL} --data-binary \'{{"status": "SUCCESS"}}\'\n'
    found = signal_in(script)
    assert found.url == "http://h/v1/p/stacks/s/i/resources/r/signal"
    assert found.headers == {"X-Auth-Token": "abc", "Content-Type": "application/json"}
    assert found.data == '{"status": "SUCCESS"}'


def test_a_script_without_curl_is_trouble():
    with pytest.raises(DemoFailed, match="curl"):
        signal_in("#!/bin/sh\necho nothing\n")

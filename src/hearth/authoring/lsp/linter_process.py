"""The client of the linter process: it starts the process when needed, and runs one check at a
time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from typing import Any

from hearth.authoring.finding import Finding, Severity

ANSWER_S_MAX = 120.0
"""The maximum duration of a run in seconds. After that the process is killed."""

ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""The maximum size of the result of a run, in bytes."""


class NoAnswer(Exception):
    """A run of the linter has ended without a result. The message gives the reason."""


class LinterProcess:
    """The client of the linter process. If the process has ended, it is started again."""

    def __init__(self) -> None:
        self._process: Process | None = None

    async def ask(self, question: Mapping[str, Any]) -> list[Finding]:
        """Run the linter and return the findings; `question` is the argument of `run_linter`.

        Raises NoAnswer if the process ends, fails or takes too long, or if the file cannot be
        checked.
        """
        line = json.dumps(question).encode() + b"\n"
        process = await self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(line)
            await process.stdin.drain()
            answer = await asyncio.wait_for(process.stdout.readline(), ANSWER_S_MAX)
        except TimeoutError:
            await self.close()
            raise NoAnswer(f"the linter did not finish within {ANSWER_S_MAX:g} s") from None
        except (OSError, ValueError) as error:
            await self.close()
            raise NoAnswer(f"the linter process failed: {error}") from None
        if not answer:
            await self.close()
            raise NoAnswer("the linter process has ended")
        result = json.loads(answer)
        if result["failed"]:
            raise NoAnswer(result["failed"])
        return [_finding(facts) for facts in result["findings"]]

    async def close(self) -> None:
        """End the linter process if it is running."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()

    async def _started(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",  # the folder of the templates may hold modules of any name
                "-m",
                "hearth.authoring.lsp.linter",
                stdin=PIPE,
                stdout=PIPE,
                limit=ANSWER_BYTES_MAX,
            )
        return self._process


def _finding(fields: Mapping[str, Any]) -> Finding:
    return Finding(**{**fields, "severity": Severity(fields["severity"])})

"""The agent for servers, as a program or as user data that installs it."""

from pathlib import Path

AGENT = Path(__file__).parents[2] / "agent" / "agent.py"
_END = "END-OF-HEARTH-AGENT"
_USER_DATA = f"""#!/bin/sh
# Puts the agent of Hearth on this server and starts it, at each boot where systemd runs.
set -e
mkdir -p /usr/local/sbin /var/lib/hearth-agent 2>/dev/null || true
program=/usr/local/sbin/hearth-agent
[ -w /usr/local/sbin ] || program=/var/lib/hearth-agent/hearth-agent
cat > "$program" <<'{_END}'
%s{_END}
chmod 755 "$program"
if [ -d /run/systemd/system ]; then
  cat > /etc/systemd/system/hearth-agent.service <<UNIT
[Unit]
Description=Software configurations of Hearth
After=network-online.target
Wants=network-online.target
[Service]
ExecStart=$program
Restart=always
RestartSec=10
[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable --now --no-block hearth-agent.service
else
  setsid "$program" < /dev/null >> /var/log/hearth-agent.log 2>&1 &
fi
"""


def agent_text(*, user_data: bool) -> str:
    """Return the source text of the agent.

    If `user_data` is true, return a shell script that installs and starts the agent instead.
    """
    program = AGENT.read_text(encoding="utf-8")
    return _USER_DATA % program if user_data else program

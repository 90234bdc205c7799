"""An empty Keystone with its keys and its administrator, to be copied by tests that start one.

    .keystone-venv/bin/python tests/keystone/prepare.py FOLDER

`make keystone` runs it once: the tables take some seconds. Standard library only.
"""

import getpass
import grp
import os
import subprocess
import sys
from pathlib import Path

PASSWORD = "secret"
REGION = "RegionOne"
NOT_YET = "http://127.0.0.1:9/v3"  # whoever starts it tells the catalogue where it is

CONF = """
[database]
connection = sqlite:///{folder}/keystone.db
[token]
provider = fernet
[fernet_tokens]
key_repository = {folder}/fernet-keys
[fernet_receipts]
key_repository = {folder}/fernet-keys
[credential]
key_repository = {folder}/credential-keys
[cache]
enabled = true
backend = dogpile.cache.memory
[identity]
password_hash_rounds = 4
"""


def configure(folder: Path) -> None:
    """Write the keystone.conf of a Keystone whose files are in `folder`."""
    (folder / "keystone.conf").write_text(CONF.format(folder=folder.resolve()))


def prepare(folder: Path) -> None:
    """Tables, keys and the administrator."""
    for keys in ("fernet-keys", "credential-keys"):
        (folder / keys).mkdir(mode=0o700, parents=True, exist_ok=True)
    configure(folder)
    whose = ["--keystone-user", getpass.getuser(),
             "--keystone-group", grp.getgrgid(os.getgid()).gr_name]  # fmt: skip
    manage = Path(sys.executable).with_name("keystone-manage")
    for words in (
        ["db_sync"],
        ["fernet_setup", *whose],
        ["credential_setup", *whose],
        ["bootstrap", "--bootstrap-password", PASSWORD, "--bootstrap-region-id", REGION,
         *(word for kind in ("public", "internal", "admin")
           for word in (f"--bootstrap-{kind}-url", NOT_YET))],
    ):  # fmt: skip
        done = subprocess.run(
            [manage, "--config-file", folder / "keystone.conf", *words],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"keystone-manage {words[0]}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    prepare(Path(sys.argv[1]))

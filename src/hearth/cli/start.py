"""The entry point of the `hearth` command."""

import gc


def main() -> None:
    """Run the command that the arguments name.

    Imports create many objects and hardly any garbage, so collections during them are of no use,
    and later ones skip these objects.
    """
    gc.disable()
    from hearth.cli.main import main as run

    gc.freeze()
    gc.enable()
    run()

"""`python -m commsee run …` is `through run …`, of the package that this Python has."""

import importlib.metadata
import os
import sys


def through():
    """Where the package has put it: beside the scripts of this Python, or of the user."""
    for file in importlib.metadata.files("commsee") or []:
        if file.name == "through":
            return str(file.locate().resolve())
    sys.exit("commsee: the package has no command: install it by pip, or use `through` of the installation")


def main():
    program = through()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()

"""``python -m spanwise``: the command, where its program is not on the PATH."""

import sys

from spanwise.command.main import main

if __name__ == "__main__":
    sys.exit(main())

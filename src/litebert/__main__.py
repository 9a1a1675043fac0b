"""`python -m litebert` is the command `litebert`."""

import sys

from litebert.cli.main import main

sys.exit(main())

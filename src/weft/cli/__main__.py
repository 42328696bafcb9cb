"""`python -m weft.cli`, for when the `weft` command is not on the path."""

import sys

from weft.cli import main

sys.exit(main())

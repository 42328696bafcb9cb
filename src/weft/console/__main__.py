"""`python -m weft.console`, as `weft serve` and `weft run` start it."""

import sys

from weft.console.process import main

sys.exit(main())

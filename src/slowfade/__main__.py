"""``python -m slowfade``."""

import sys

from slowfade.cli import main

sys.exit(main())

"""python -m vramfit_record NETWORK: see ../README.md."""
import sys

from .cli import main

sys.exit(main())

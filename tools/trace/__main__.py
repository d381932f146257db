"""python tools/trace COMMAND: see README.md."""
import sys

from vramfit_trace.cli import main

sys.exit(main())

"""python tools/record NETWORK: see README.md."""
import sys

from vramfit_record.cli import main

sys.exit(main())

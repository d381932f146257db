"""python tools/record NETWORK: see README.md."""
import sys

from vramfit_record.cli import main
from vramfit_record.seed import run_with_fixed_seed

run_with_fixed_seed()
sys.exit(main())

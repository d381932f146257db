"""python -m vramfit_record NETWORK: see ../README.md."""
import sys

from .cli import main
from .seed import run_with_fixed_seed

run_with_fixed_seed()
sys.exit(main())

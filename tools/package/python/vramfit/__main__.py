"""`python -m vramfit` is the program."""

import os
import subprocess
import sys

from ._program import program

if os.name == "posix":
    os.execv(program(), ["vramfit", *sys.argv[1:]])
sys.exit(subprocess.run([program(), *sys.argv[1:]]).returncode)

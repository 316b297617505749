"""`python -m feedmill` is the command line."""

from feedmill.cli import main

main()

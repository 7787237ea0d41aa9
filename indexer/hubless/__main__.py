"""`python -m hubless`."""

from hubless.cli import main

main()

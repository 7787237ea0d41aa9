"""`python -m hubless`."""

from hubless.cli.application import main

main()

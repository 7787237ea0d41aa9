"""`python -m hubless_mcp`."""

from hubless_mcp import main

main()

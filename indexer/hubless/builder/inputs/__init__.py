"""The inputs of a build: opened, checked against each other, recorded, and read once. One file a kind."""

"""The lab: measures what a correction brings, on labelled queries and without a build."""

"""The words of filters besides their operators: names that mean something in their JSON."""

FIELD = "field"
COMBINATIONS = ("and", "or", "not")

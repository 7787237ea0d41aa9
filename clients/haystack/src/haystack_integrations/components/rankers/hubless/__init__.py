"""The component that leaves documents only where they answer the question."""

from haystack_integrations.components.rankers.hubless.cutoff import HublessCutoff

__all__ = ["HublessCutoff"]

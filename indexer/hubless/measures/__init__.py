"""Measures of ranking quality and of hubness, a file per family. Stands above `vectors` only.

Legend: m queries, n targets, k neighbours. Ranks start at 1. Tied targets share their average rank.
"""

from hubless.measures.distance import earth_movers_distance
from hubless.measures.drift import drift_advice, energy_drift
from hubless.measures.groups import Groups, as_groups, group_histogram, group_shares
from hubless.measures.likeness import reciprocity
from hubless.measures.occurrence import (
    antihub_occurrence,
    atkinson,
    entropy,
    gini,
    groupie_ratio,
    hub_occurrence,
    k_occurrence,
    k_occurrence_of_scores,
    kurtosis,
    mean_deviation,
    robin_hood,
    skewness,
    truncated_skewness,
)
from hubless.measures.ranking import (
    average_precision_at,
    geometric_mean_recall,
    median_rank,
    ndcg_at,
    precision_at,
    ranks,
    recall_at,
    relevant_ranks,
)
from hubless.measures.significance import (
    Interval,
    McNemar,
    PairedDifference,
    bootstrap_geometric_mean,
    bootstrap_interval,
    bootstrap_means,
    kolmogorov_smirnov,
    mcnemar,
    paired_difference,
    sign_flip_test,
)

__all__ = [
    "Groups",
    "Interval",
    "McNemar",
    "PairedDifference",
    "antihub_occurrence",
    "as_groups",
    "atkinson",
    "average_precision_at",
    "bootstrap_geometric_mean",
    "bootstrap_interval",
    "bootstrap_means",
    "drift_advice",
    "earth_movers_distance",
    "energy_drift",
    "entropy",
    "geometric_mean_recall",
    "gini",
    "group_histogram",
    "group_shares",
    "groupie_ratio",
    "hub_occurrence",
    "k_occurrence",
    "k_occurrence_of_scores",
    "kolmogorov_smirnov",
    "kurtosis",
    "mcnemar",
    "mean_deviation",
    "median_rank",
    "ndcg_at",
    "paired_difference",
    "precision_at",
    "ranks",
    "recall_at",
    "reciprocity",
    "relevant_ranks",
    "robin_hood",
    "sign_flip_test",
    "skewness",
    "truncated_skewness",
]

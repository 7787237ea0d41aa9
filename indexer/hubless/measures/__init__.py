"""Measures of ranking quality and of hubness: m queries, n targets, k neighbours. Ranks start at 1."""

from hubless.measures.distance import earth_movers_distance as earth_movers_distance
from hubless.measures.drift import drift_advice as drift_advice, energy_drift as energy_drift
from hubless.measures.groups import (
    Groups as Groups,
    as_groups as as_groups,
    group_histogram as group_histogram,
    group_shares as group_shares,
)
from hubless.measures.likeness import reciprocity as reciprocity
from hubless.measures.occurrence import (
    antihub_occurrence as antihub_occurrence,
    atkinson as atkinson,
    entropy as entropy,
    gini as gini,
    groupie_ratio as groupie_ratio,
    hub_occurrence as hub_occurrence,
    k_occurrence as k_occurrence,
    k_occurrence_of_scores as k_occurrence_of_scores,
    kurtosis as kurtosis,
    mean_deviation as mean_deviation,
    robin_hood as robin_hood,
    skewness as skewness,
    truncated_skewness as truncated_skewness,
)
from hubless.measures.ranking import (
    average_precision_at as average_precision_at,
    geometric_mean_recall as geometric_mean_recall,
    median_rank as median_rank,
    ndcg_at as ndcg_at,
    precision_at as precision_at,
    ranks as ranks,
    recall_at as recall_at,
    relevant_ranks as relevant_ranks,
)
from hubless.measures.significance import (
    Interval as Interval,
    McNemar as McNemar,
    PairedDifference as PairedDifference,
    bootstrap_geometric_mean as bootstrap_geometric_mean,
    bootstrap_interval as bootstrap_interval,
    bootstrap_means as bootstrap_means,
    kolmogorov_smirnov as kolmogorov_smirnov,
    mcnemar as mcnemar,
    paired_difference as paired_difference,
    sign_flip_test as sign_flip_test,
)

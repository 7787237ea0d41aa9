import pytest
from support.folder_models import FolderModels, Kind
from support.model_folders import write_static


class TestStatic(FolderModels):
    @pytest.fixture
    def kind(self):
        return Kind("static", write_static, "model.safetensors", "safetensors", quick=True)

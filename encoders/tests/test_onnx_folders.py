import pytest
from support.folder_models import FolderModels, Kind
from support.onnx_folders import write_onnx


class TestOnnx(FolderModels):
    @pytest.fixture
    def kind(self):
        return Kind("onnx", write_onnx, "model.onnx", "onnxruntime", quick=False, distribution="hubless-encoders")

from pydantic import BaseModel, SecretStr

from ..api import DBCaseConfig, DBConfig, MetricType


class HublessConfig(DBConfig):
    """Address of the server, and its key of role admin if it has keys."""

    url: str = "http://127.0.0.1:8000"
    api_key: SecretStr | None = None

    def to_dict(self) -> dict:
        return {"url": self.url, "api_key": self.api_key.get_secret_value() if self.api_key else None}


class HublessIndexConfig(BaseModel, DBCaseConfig):
    """The server chooses the kind of index by size; `search` has parameters of a query, such as {"nprobe": 16}."""

    metric_type: MetricType = MetricType.COSINE
    search: dict = {}

    def parse_metric(self) -> str:
        metrics = {MetricType.L2: "euclidean", MetricType.IP: "dot", MetricType.COSINE: "cosine"}
        if self.metric_type not in metrics:
            raise ValueError(f"hubless has no metric {self.metric_type}")
        return metrics[self.metric_type]

    def index_param(self) -> dict:
        return {"metric": self.parse_metric()}

    def search_param(self) -> dict:
        return self.search

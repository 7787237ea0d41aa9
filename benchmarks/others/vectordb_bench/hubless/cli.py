from typing import Annotated, Unpack

import click
from pydantic import SecretStr

from vectordb_bench.backend.clients import DB
from vectordb_bench.cli.cli import CommonTypedDict, cli, click_parameter_decorators_from_typed_dict, run


class HublessTypedDict(CommonTypedDict):
    url: Annotated[str, click.option("--url", type=str, help="Address of the server", default="http://127.0.0.1:8000")]
    api_key: Annotated[str, click.option("--api-key", type=str, help="Key of role admin", default="")]


@cli.command()
@click_parameter_decorators_from_typed_dict(HublessTypedDict)
def Hubless(**parameters: Unpack[HublessTypedDict]) -> None:
    from .config import HublessConfig, HublessIndexConfig

    key = SecretStr(parameters["api_key"]) if parameters["api_key"] else None
    run(
        db=DB.Hubless,
        db_config=HublessConfig(url=parameters["url"], api_key=key),
        db_case_config=HublessIndexConfig(),
        **parameters,
    )

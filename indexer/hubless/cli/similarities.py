"""Options for similarities in place of vectors, for models that give scores only."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hubless.lab.matrices import SimilarityMatrices

SimilaritiesOption = Annotated[
    Path | None,
    typer.Option("--similarities", metavar="FILE", help="Similarities in place of vectors: queries × targets."),
]
BankSimilaritiesOption = Annotated[
    Path | None, typer.Option("--bank-similarities", metavar="FILE", help="Similarities: bank queries × targets.")
]
TargetBankSimilaritiesOption = Annotated[
    Path | None,
    typer.Option("--target-bank-similarities", metavar="FILE", help="Similarities: bank queries × target bank."),
]
BetweenTargetsOption = Annotated[
    Path | None,
    typer.Option(
        "--between-targets",
        metavar="FILE",
        help="Similarities: target bank × targets; with --strict targets × targets.",
    ),
]


def similarities_from(
    queries: Path | None,
    bank: Path | None,
    target_bank: Path | None,
    between: Path | None,
    vectors: dict[str, Any],
) -> SimilarityMatrices | None:
    """Similarities, if there are any.

    Parameters
    ----------
    vectors : what cannot be given beside them, by the names of the options
    """
    given = {
        "similarities": queries,
        "bank-similarities": bank,
        "target-bank-similarities": target_bank,
        "between-targets": between,
    }
    found = [name for name, path in given.items() if path is not None]
    if not found:
        return None
    for name, value in vectors.items():
        if value:
            raise typer.BadParameter(f"cannot be combined with --{found[0]}", param_hint=f"--{name}")
    return SimilarityMatrices(queries, bank, target_bank, between)

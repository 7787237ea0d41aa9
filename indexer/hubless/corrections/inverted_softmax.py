"""`is`: inverted softmax."""

from dataclasses import dataclass
from typing import Literal

from hubless.corrections.base import Rows, check_banks
from hubless.corrections.softmax import FittedSoftmax
from hubless.corrections.temperature import check_temperature, resolve_temperature


@dataclass(frozen=True)
class InvertedSoftmax:
    """Inverted softmax: h(t) = τ · LSE_{q∈Bq}(q·t/τ).

    Parameters
    ----------
    temperature : τ in units of similarity, or "auto" for the one of the given perplexity (0.02 in the DBSN paper)
    perplexity : effective bank queries per target, for "auto"; None is clip(0.1·b, 20, 100)

    Source: Smith et al., ICLR 2017; with a query bank, Bogolin et al., "Cross Modal Retrieval with Querybank
    Normalisation" (QB-Norm), CVPR 2022, equation 1.
    """

    temperature: float | Literal["auto"] = "auto"
    perplexity: float | None = None

    def __post_init__(self) -> None:
        check_temperature(self.temperature, self.perplexity)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedSoftmax:
        bank, all_targets, _ = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        temperature = resolve_temperature(self.temperature, self.perplexity, bank, all_targets)
        return FittedSoftmax(bank, None, temperature.value, extra={"perplexity": temperature.perplexity})

"""mteb's search with our index (`make mteb`)."""

import numpy as np
import pytest
from support.labelled import pairs

from hubless_lab.experiments.trials import strict_trial

pytest.importorskip("mteb")

from benchmarks.others.mteb_tasks import StoredTask, model_of, scores
from mteb.models import SearchEncoderWrapper

import hubless
from hubless.errors import InputError
from hubless_lab.mteb_index import CorrectedIndex

TRIAL = strict_trial(pairs(600, noise=0.9), 0)
MODEL = model_of(TRIAL)
DOCUMENTS = [f"document {row}" for row in range(len(TRIAL.targets))]
FEW = {f"query {row}": DOCUMENTS[row : row + 7] for row in range(len(TRIAL.rows))}


def found(index, top_ranked=None):
    task = StoredTask(TRIAL)
    searched, data = SearchEncoderWrapper(MODEL, index_backend=index), task.dataset["default"]["test"]
    given = {"task_metadata": task.metadata, "hf_split": "test", "hf_subset": "default", "encode_kwargs": {}}
    searched.index(data["corpus"], **given)
    return searched.search(data["queries"], top_k=20, top_ranked=top_ranked, **given)


def test_without_correction_all_is_as_mteb_finds_it_and_a_correction_helps():
    measured = scores(TRIAL)
    assert measured["none"] == measured["mteb"]
    assert measured["auto"]["ndcg_at_10"] > measured["none"]["ndcg_at_10"]


@pytest.mark.parametrize("top_ranked", [None, FEW])
def test_scores_are_those_of_mteb_less_the_offsets_of_the_bank(top_ranked):
    raw = found(CorrectedIndex(MODEL), top_ranked)
    assert raw == found(None, top_ranked)
    index = CorrectedIndex(MODEL, "csls", strength=0.5)
    index.learn(StoredTask(TRIAL))
    np.testing.assert_array_equal(index.query_bank, TRIAL.query_bank)
    offsets = hubless.offsets(TRIAL.targets, TRIAL.query_bank, metric="cosine", correction="csls")
    h = dict(zip(DOCUMENTS, offsets, strict=True))
    corrected = found(index, top_ranked)
    assert corrected != raw
    for name, hits in corrected.items():
        both = hits.keys() & raw[name].keys()
        assert both
        expected = {each: raw[name][each] - h[each] / 2 for each in both}
        assert {each: hits[each] for each in both} == pytest.approx(expected, abs=1e-6)


def test_similarity_of_another_kind_is_refused():
    other = model_of(TRIAL)
    other.mteb_model_meta = MODEL.mteb_model_meta.model_copy(update={"similarity_fn_name": "MaxSim"})
    with pytest.raises(InputError, match="model: expected one whose similarity is cosine or dot, got MaxSim"):
        CorrectedIndex(other)

"""Collections of many tenants: each is corrected by its own queries, whatever brings the targets."""

import numpy as np
import pyarrow as pa
import pytest
from support import small
from support.problems import normal, with_hubs

import hubless
from hubless.builder.lifecycle import create, merge, refit
from hubless.errors import InputError
from hubless.search.writes import Put
from hubless.store.catalog import Catalog
from hubless.vectors.free_payload import free_table

SIZES = {"a": (160, 300), "b": (90, 150), "7": (40, 0)}
"""Of each tenant its targets and its queries. Nobody asks the last one."""
_OF = {
    name: with_hubs(targets=targets, bank=max(queries, 2), seed=seed)
    for seed, (name, (targets, queries)) in enumerate(SIZES.items())
}
TENANTS = np.concatenate([[name] * targets for name, (targets, _) in SIZES.items()])
ASKING = np.concatenate([[name] * queries for name, (_, queries) in SIZES.items()])
_ORDER, _TURN = np.random.default_rng(5).permutation(len(TENANTS)), np.random.default_rng(6).permutation(len(ASKING))
TARGETS = np.concatenate([_OF[name].targets for name in SIZES])[_ORDER]
BANK = np.concatenate([_OF[name].bank[:queries] for name, (_, queries) in SIZES.items()])[_TURN]
TENANTS, ASKING = TENANTS[_ORDER], ASKING[_TURN]
PAYLOAD = {"tenant": TENANTS, "price": np.arange(len(TENANTS)) / 7}
TINY = 1e-7


def asked(vectors=BANK, tenants=ASKING):
    """Return a bank with a column that names the tenant of each query."""
    return pa.table(
        {"vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]), "tenant": tenants}
    )


def expected(correction="auto", **parameters):
    """Return the offsets by the definition: each tenant alone, centred; 0 without queries."""
    offsets = np.zeros(len(TENANTS), np.float32)
    for name in ("a", "b"):
        rows = name == TENANTS
        offsets[rows] = hubless.offsets(
            TARGETS[rows], BANK[name == ASKING], metric="dot", correction=correction, parameters=parameters
        )
    return offsets


def build(catalog, **options):
    hubless.build(catalog, "c", TARGETS, asked(), metric="dot", payload=PAYLOAD, fit_by="tenant", **options)
    return hubless.open(catalog, "c")


@pytest.mark.parametrize(("correction", "parameters"), [("auto", {}), ("csls", {"k": 5}), ("sn", {}), ("dn", {})])
def test_each_tenant_is_corrected_by_its_own_queries(tmp_path, correction, parameters):
    index = build(tmp_path, correction=correction, parameters=parameters)
    np.testing.assert_allclose(index.offsets, expected(correction, **parameters), rtol=0, atol=2e-5)
    one = hubless.offsets(TARGETS, BANK, metric="dot", correction=correction, parameters=parameters)
    assert np.abs(index.offsets - one).max() > 0.01


def test_tenant_without_queries_and_targets_of_none_are_not_corrected_and_a_note_says_so(tmp_path, caplog):
    payload = {"tenant": [None if row == 3 else name for row, name in enumerate(TENANTS)]}
    hubless.build(tmp_path, "c", TARGETS, asked(), metric="dot", payload=payload, fit_by="tenant")
    index = hubless.open(tmp_path, "c")
    bare = (TENANTS == "7") | (np.arange(len(TENANTS)) == 3)
    assert np.abs(index.offsets[bare]).max() < TINY
    assert np.abs(index.offsets[~bare]).min() > TINY
    said = f"{bare.sum()} targets are not corrected, as their group has no or too few queries."
    assert said in index.manifest.notes
    assert said in caplog.messages


def test_whole_numbers_of_targets_are_the_texts_of_queries(tmp_path):
    numbers = {"tenant": np.where(TENANTS == "a", 1, 2)}
    bank = asked(tenants=np.where(ASKING == "a", "1", "2"))
    hubless.build(tmp_path, "c", TARGETS, bank, metric="dot", payload=numbers, fit_by="tenant")
    offsets = hubless.open(tmp_path, "c").offsets
    rows = TENANTS == "a"
    np.testing.assert_allclose(offsets[rows], expected()[rows], rtol=0, atol=2e-5)


def test_copies_count_once_in_each_tenant(tmp_path):
    twice = asked(np.concatenate([BANK, BANK[:50]]), np.concatenate([ASKING, ASKING[:50]]))
    hubless.build(tmp_path, "c", TARGETS, twice, metric="dot", payload=PAYLOAD, fit_by="tenant")
    index = hubless.open(tmp_path, "c")
    np.testing.assert_array_equal(index.offsets, build(tmp_path / "once").offsets)
    assert (index.manifest.bank.queries, index.manifest.bank.distinct) == (len(BANK) + 50, len(BANK))
    # the same query of another tenant is another one
    shared = asked(np.concatenate([BANK, BANK[:50]]), np.concatenate([ASKING, np.full(50, "7")]))
    hubless.build(tmp_path, "d", TARGETS, shared, metric="dot", payload=PAYLOAD, fit_by="tenant")
    assert np.abs(hubless.open(tmp_path, "d").offsets[TENANTS == "7"]).max() > 0.01


class TestLaterTargets:
    NEW = normal(3, 12, seed=8)

    def test_written_target_is_corrected_as_its_tenant(self, tmp_path):
        index = build(tmp_path)
        index.add(self.NEW, ids=[900, 901, 902], payload={"tenant": ["a", "7", None]})
        alone = hubless.Index(metric="dot").fit(BANK[ASKING == "a"], TARGETS[TENANTS == "a"])
        np.testing.assert_allclose(index.offsets[-3], alone.correction().offsets(self.NEW[:1])[0], atol=2e-5)
        assert np.abs(index.offsets[-2:]).max() < TINY

    def test_offsets_of_vectors_alone_are_refused(self, tmp_path):
        with pytest.raises(InputError, match="fit_by: expected the group of each target"):
            build(tmp_path).correction().offsets(self.NEW)


class TestRefit:
    def test_new_bank_keeps_the_groups_and_other_columns_are_refused(self, tmp_path):
        build(tmp_path)
        half = np.arange(0, len(BANK), 2)
        made = refit(tmp_path, "c", asked(BANK[half], ASKING[half]))
        assert made.fit_by == "tenant"
        offsets = hubless.open(tmp_path, "c").offsets
        rows = TENANTS == "a"
        own = half[ASKING[half] == "a"]
        alone = hubless.offsets(TARGETS[rows], BANK[own], metric="dot")
        np.testing.assert_allclose(offsets[rows], alone, atol=2e-5)
        with pytest.raises(InputError, match=r"payload of the query bank: expected a column tenant, .* got no columns"):
            refit(tmp_path, "c", BANK)

    def test_one_fit_comes_back_and_groups_later(self, tmp_path):
        build(tmp_path)
        assert refit(tmp_path, "c", BANK, fit_by="").fit_by is None
        one = hubless.offsets(TARGETS, BANK, metric="dot")
        np.testing.assert_allclose(hubless.open(tmp_path, "c").offsets, one, atol=2e-5)
        with pytest.raises(InputError, match="fit_by: expected a new bank, as the group of the queries"):
            refit(tmp_path, "c", fit_by="tenant")
        refit(tmp_path, "c", asked(), fit_by="tenant")
        np.testing.assert_allclose(hubless.open(tmp_path, "c").offsets, expected(), atol=2e-5)

    def test_free_payload_names_groups_too(self, tmp_path):
        create(tmp_path, "c", dim=12, metric="dot", id_type="int64")
        odd = [{"tenant": 1}, {"tenant": True}, {"tenant": ["a"]}, {}]
        payload = [{"tenant": name} for name in TENANTS.tolist()] + odd
        vectors = np.concatenate([TARGETS, normal(4, 12, seed=2)])
        small.record(Catalog(tmp_path).log("c"), Put(vectors, pa.array(range(len(vectors))), free_table(payload)))
        refit(tmp_path, "c", asked(), fit_by="tenant")
        offsets = hubless.open(tmp_path, "c").offsets
        np.testing.assert_allclose(offsets[:-4], expected(), atol=2e-5)
        assert np.abs(offsets[-4:]).max() < TINY
        assert merge(tmp_path, "c") is None

"""The work of a run: the targets of the next version → offsets → index → measurements, in checkpoints."""

import logging
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from hubless.builder.banks.bank_checks import COVERED, narrow_notes
from hubless.builder.banks.held_out import MeasuringQueries, hold_out
from hubless.builder.banks.live_strength import warnings
from hubless.builder.checkpoints import Arrays, StoredCheckpoints
from hubless.builder.enlarging import base_of, base_rows, enlarge, remake
from hubless.builder.live import check_live, chosen_strength
from hubless.builder.making import Made, checked_bank, make
from hubless.builder.places import Place
from hubless.builder.reading import Compared, read_source
from hubless.builder.refilling import Enlarged
from hubless.builder.reindex.files import same
from hubless.builder.reindex.job_bank import is_thinned, job_prior, open_bank, open_vectors
from hubless.builder.reindex.next_rows import NextRows
from hubless.builder.reindex.plan import Plan
from hubless.builder.writing import prior_record
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.prior import prior_offsets
from hubless.errors import InputError
from hubless.kernels.devices import on_device
from hubless.measures.coverage import coverage
from hubless.measures.evenness import ChosenStrength
from hubless.progress import Advance, Steps
from hubless.search.engines.base import StoredVectors
from hubless.search.parts import Parts
from hubless.search.priors import later_prior
from hubless.store import bundle
from hubless.store.bundle import BankRecord, PriorRecord, StrengthRecord
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.sources import VectorSource, in_memory, sample

log = logging.getLogger("hubless.banks")


@dataclass(frozen=True, eq=False)
class Built:
    """What was made, and how.

    Attributes
    ----------
    fitted : when the correction was fitted, ISO 8601
    frozen, grown : how many targets came after the fit, and after the training of the index
    why : what was decided on the way
    target_prior : what the correction was fitted with
    """

    made: Made
    bank: BankRecord | None
    strength: float
    strength_record: StrengthRecord | None
    fitted: str
    frozen: int
    grown: int
    notes: list[str]
    why: list[str] = field(default_factory=list)
    target_prior: PriorRecord | None = None


def build_version(plan: Plan, rows: NextRows, folder: Path, place: Place, steps: Steps) -> Built:
    """Make the next version of its targets.

    Parameters
    ----------
    folder : of the version
    place : for the vectors

    Raises
    ------
    InputError, StorageError
        as `hubless.build`.
    """
    checkpoints = StoredCheckpoints(plan.work)
    with on_device(plan.recipe.device):
        if plan.refit or rows.before is None:
            return _fitted(plan, rows, folder, place, checkpoints, steps)
        return _kept(plan, rows, rows.before, folder, place, checkpoints, steps)


def _fitted(
    plan: Plan, rows: NextRows, folder: Path, place: Place, checkpoints: StoredCheckpoints, steps: Steps
) -> Built:
    """Fit the correction anew, and train the index anew."""
    metric, job, recipe = plan.job.metric, plan.job, plan.recipe
    given: dict[str, VectorSource | None] = {"target_bank": None, "live_queries": None}
    for name in given:
        if path := getattr(job, name):
            opened, _ = open_vectors(path, name, name.replace("_", " "), plan)
            given[name], _ = read_source(opened, metric, folder, held=False)
    targets = rows.vectors(folder)
    opened_bank = open_bank(plan, targets)
    bank, _ = read_source(opened_bank.queries, metric, folder, held=True)
    for source in (bank, *given.values()):
        if source is not None:
            check_dim(source.shape[1], targets.shape[1], source.name, targets.name)
    prior = job_prior(job.target_prior, rows.payload, opened_bank)
    vectors = Compared(targets, bank, given["target_bank"], given["live_queries"], {}, prior)
    checked = checked_bank(vectors, recipe, job.bank_of_targets)
    check_live(vectors)
    made = make(vectors, recipe, steps, place, checkpoints)
    chosen = chosen_strength(vectors.live_queries, made, steps)
    return Built(
        made,
        checked.record,
        1.0 if chosen is None else chosen.strength,
        _record(chosen),
        datetime.now(UTC).isoformat(timespec="seconds"),
        0,
        0,
        [*checked.notes, *warnings(chosen)],
        opened_bank.notes,
        None if prior is None or job.target_prior is None else prior_record(prior, job.target_prior.column),
    )


def _kept(
    plan: Plan,
    rows: NextRows,
    before: Parts,
    folder: Path,
    place: Place,
    checkpoints: StoredCheckpoints,
    steps: Steps,
) -> Built:
    """Keep the fitted correction: new rows get their offsets from it."""
    manifest, offsets = before.manifest, before.offsets[rows.kept]
    if rows.put is not None:
        advance = steps.step("computing offsets", rows.put.shape[0])
        more = _offsets(before.correction(), rows.put, checkpoints, advance)
        payload = None if rows.payload is None else rows.payload.slice(len(rows.kept))
        if (prior := later_prior(manifest, payload)) is not None:
            more = (more + prior_offsets(before.correction().fitted, prior)).astype(np.float32)
        offsets = np.concatenate([offsets, more])
    if not len(offsets):
        raise InputError("targets", "at least one target", "none")
    stored = base_rows(before.targets)[rows.kept]
    in_index = stored[stored >= 0]
    came = rows.count - len(in_index)
    made, why, measuring = None, [], _measuring(plan)
    if not plan.retrain and not manifest.index.external:
        # what follows a log has no folder of its own
        file = plan.catalog.folder(plan.job.collection, manifest.version) / bundle.INDEX
        enlarged = Enlarged(base_of(before.targets), file, in_index, rows.more(len(in_index)), offsets)
        if (made := enlarge(before, enlarged, plan.recipe, folder / bundle.INDEX, steps, measuring)) is None:
            why = ["the index missed its recall with the rows that were added, and was trained anew"]
    if made is None:
        targets = rows.vectors(folder)
        made = remake(before, targets, offsets, plan.recipe, steps, place, checkpoints, measuring)
    frozen = min(rows.count, manifest.frozen + came)
    bank = bank_now(before, made)
    narrow = [] if bank is None else narrow_notes(bank)
    for each in narrow:
        log.warning(each)
    note = f"{frozen:,} of {rows.count:,} targets came after the fit of the correction, which gave them their offsets"
    return Built(
        made,
        bank,
        manifest.strength,
        manifest.strength_choice,
        manifest.job.fitted if manifest.job else manifest.created,
        frozen,
        0 if made.trained else manifest.grown + came,
        [*narrow, *([note] if frozen else [])],
        why,
        manifest.target_prior,
    )


def _offsets(correction: CentredCorrection, put: VectorSource, checkpoints: StoredCheckpoints, advance: Advance) -> F32:
    def of_piece(rows: VectorSource, here: slice, advance: Advance) -> Arrays:
        return {"h": correction.offsets(rows, advance)}

    pieces = checkpoints.pieces("offsets-put", put, of_piece, advance)
    return np.concatenate([np.empty(0, np.float32), *(piece["h"] for piece in pieces)])


def _measuring(plan: Plan) -> MeasuringQueries | None:
    """The queries that a fit on the bank would hold out, so that figures of all versions come from the same ones.

    The kept fit has seen them. None if the bank has changed since.
    """
    record = plan.base.job if plan.base else None
    names = [name for name in plan.banks if name.startswith("query_bank")]
    if record is None or not all(same(plan.banks[name], record.banks.get(name, [])) for name in names):
        return None
    if is_thinned(plan):  # what is left of it depends on the targets, and they were others
        return None
    bank, _ = read_source(open_bank(plan).queries, plan.job.metric, None, held=True)
    return MeasuringQueries(hold_out(bank, plan.job.seed)[1].queries, held_out=False)


def bank_now(before: Parts, made: Made) -> BankRecord | None:
    """What is known of the bank that the correction was fitted on, with its coverage of the targets that there are."""
    known, queries = before.manifest.bank, before.bank_sample
    if known is None or queries is None:
        return known
    some = in_memory(sample(StoredVectors(made.targets, "targets"), COVERED))
    found = coverage(queries, some)
    return known.model_copy(update={"coverage": None if found is None else float(f"{found:.3g}")})


def _record(chosen: ChosenStrength | None) -> StrengthRecord | None:
    return None if chosen is None else StrengthRecord(**asdict(chosen))

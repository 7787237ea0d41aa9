"""The command that brings a collection up to its job file. Parsing and printing only."""

from pathlib import Path
from typing import Annotated

import typer

from hubless.cli.options import CATALOG_VARIABLE, JsonOption, SetOption, parameters_of, read_settings
from hubless.cli.printing import beside_chance, empty_table, facts, print_json, print_table
from hubless.errors import TAKEN, JobRunning
from hubless.jobs.gates import GateResult, foresee_gates
from hubless.jobs.job_file import read_job, schema
from hubless.jobs.plan import JobPlan, make_plan
from hubless.jobs.run import Outcome, opened, reindex
from hubless.store.addressed import working

RUNNING, GATE, NOT_SWITCHED = 3, 4, 5
_KEYS = dict.fromkeys(("bank_of_targets", "skip_bad_rows"), "`{parameter}: {value}` in the job file")
_KEYS["payload_schema"] = '`payload_schema: {{"{key}": "{value}"}}` in the job file'
"""How a job file is given what its command is not."""


def reindex_command(
    job: Annotated[Path | None, typer.Argument(metavar="JOB.yaml", help="The job file.")] = None,
    catalog: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar=CATALOG_VARIABLE, help="Folder of the collections, instead of the job's."),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print what would be done, and do nothing.")] = False,
    schema_: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of a job file.")] = False,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> int:
    """Bring a collection up to its job file.

    Takes in what is new, changed or gone in the files, and what was written to the service. Publishes the new version
    if it passes the gates. If it is killed, run it again: it goes on where it was.

    With --set: full=true (fit and train anew), wait_for=URL (wait until this service serves the new version), and
    timeout=SECONDS.

    \b
    Exit codes:
      0  done, or nothing to do
      1  failed
      2  wrong usage
      3  another job changes the collection
      4  a gate failed, nothing was published
      5  published, but the service did not switch in time
    """
    TAKEN.set(_KEYS)
    values = read_settings(set_, parameters_of(reindex, skip=("job_file", "catalog")))
    if schema_:
        print_json(schema())
        return 0
    if job is None:
        raise typer.BadParameter("give a job file", param_hint="JOB.yaml")
    if catalog is None and read_job(job).catalog is None:
        raise typer.BadParameter(f"give it, or `catalog:` in {job.name}", param_hint=f"--catalog ({CATALOG_VARIABLE})")
    if plan:
        described, folder, where = opened(job, catalog)
        with working(where, described.collection, pull=True) as work:
            planned = make_plan(described, folder, work.catalog, full=values.get("full", False))
            foreseen = foresee_gates(planned)
        _print_plan(planned, foreseen, json_)
        return _told([each for each in foreseen if not each.passed])
    try:
        done = reindex(job, catalog=catalog, **values)
    except JobRunning as error:
        typer.echo(f"error: {error}", err=True)
        return RUNNING
    if json_:
        print_json(done.as_json())
    else:
        _print_outcome(done)
    if done.failed:
        return _told(done.failed)
    if done.waited is not None and not done.waited.switched:
        typer.echo(f"error: {values['wait_for']} did not switch; it said {done.waited.said}", err=True)
        return NOT_SWITCHED
    return 0


def _told(failed: list[GateResult]) -> int:
    for each in failed:
        typer.echo(f"error: gate {each}", err=True)
    return GATE if failed else 0


def _print_plan(plan: JobPlan, foreseen: list[GateResult], json_: bool) -> None:
    if json_:
        print_json({**plan.as_json(), "gates": [vars(each) for each in foreseen]})
        return
    title = f"{plan.job.collection}: {plan.base.version if plan.base else 'no version yet'}"
    table = empty_table("file", "", "targets", "new", "changed", "gone", title=title)
    for each in plan.rows.files:
        counts = (each.rows, each.new, each.changed, each.gone)
        table.add_row(each.path, each.state, *(f"{count:,}" if count else "" for count in counts))
    print_table(table)
    print_table(facts(_decisions(plan)))
    _print_gates(foreseen)


def _print_gates(measured: list[GateResult]) -> None:
    if measured:
        table = empty_table("gate", "measured", "bound", "")
        for each in measured:
            value = "" if each.value is None else f"{each.value:.4g}"
            table.add_row(each.gate, value, f"{each.bound:g}", "passed" if each.passed else "failed")
        print_table(table)


def _decisions(plan: JobPlan) -> dict[str, str]:
    if not plan.why:
        return {"to do": "nothing"}
    train = plan.refit or plan.retrain
    return {
        "because": "\n".join(plan.why),
        "correction": "fit anew" if plan.refit else "keep the fit; it gives new targets their offsets",
        "index": "train anew" if train else "add to it",
    }


def _print_outcome(done: Outcome) -> None:
    """Print what a job has made, why, and what its gates have measured."""
    made = done.manifest
    if done.failed and made is None:
        _print_gates(done.gates)
        return
    if made is None or made.job is None:
        typer.echo("nothing changed, so nothing was built")
        for each in done.corrected:
            typer.echo(f"{each.title}: {each.written:,} rows have the offsets now")
        return
    job = made.job
    measured = made.measured
    rows = {
        "collection": made.collection,
        "version": f"{made.version}{'' if done.published else ', not published'}",
        "targets": f"{made.count:,}: {job.new:,} new, {job.changed:,} changed, {job.gone:,} gone in the files",
        "writes": f"{job.written:,} folded in, up to {made.log_seq:,}" if job.written else "none since",
        "because": "\n".join(job.why),
        "correction": f"{made.correction.name}, {'fitted' if job.offsets == 'fitted' else 'kept from'} {job.fitted}",
        "frozen offsets": (
            f"{made.frozen:,}, {100 * made.frozen / made.count:.1f} % of the targets" if made.frozen else "none"
        ),
        "index": f"{made.index.type}, {'trained anew' if job.built == 'trained' else 'added to'}",
        "recall@10": f"{measured.recall_at_10:.3f}" if measured else "",
        "skewness of N_10": beside_chance(measured, lambda hubness: f"{hubness.skewness:.2f}") if measured else "",
        "corrected": ", ".join(f"{each.written:,} rows in {each.title}" for each in done.corrected),
        "deleted": ", ".join(done.deleted),
        "took": f"{done.seconds:,.1f} s",
    }
    print_table(facts(rows))
    _print_gates(done.gates)

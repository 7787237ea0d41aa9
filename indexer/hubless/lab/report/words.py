"""What the page says in words: headline, captions, and a glossary, for readers who do not know the field."""

from hubless.lab.diagnosis import Diagnosis
from hubless.lab.expected import ExpectedGain
from hubless.lab.experiments.measured import Row
from hubless.lab.report.contents import Report

OFTEN = 2
"""So many times the mean, an item is a hub in the projection."""
GLOSSARY = {
    "auto": "The default correction. It sets itself by the example searches and needs no labels.",
    "bank (query bank)": "Example searches, from which is measured how much of a hub each item is.",
    "chance": "What the number would be if every item were equally likely to be shown.",
    "correction": "Takes a number off each item's similarity: much for items that are shown too often.",
    "hub": "An item that is shown for far too many searches, whether it fits or not.",
    "item, target": "What can be found: a photo, a product, a page.",
    "interval (95 %)": "Other searches like these give a value in this range 95 times of 100.",
    "N_10": "How often an item is among the first 10 answers.",
    "offset": "The number that a correction takes off an item. Hubs have a positive one.",
    "R@1": "Share of the searches whose first answer is right.",
    "raw": "The answers without a correction.",
    "search, query": "What is searched for: a text, a picture.",
    "skewness": "How lopsided the counts are. 0 is even; well above chance means hubs.",
    "temperature": "How near an example search must be to count. auto chooses it from your data.",
}
"""Words on the page, for its foot."""


def headline(report: Report) -> str:
    """What the correction does, in searches that a reader can picture, and what to do next."""
    rows = {} if report.comparison is None else {row.label: row for row in report.comparison.rows}
    if "none" in rows and "auto" in rows:
        return _measured(rows["none"], rows["auto"])
    diagnosis = report.diagnosis
    if diagnosis.bank.unusable:
        return next(sentence for sentence in diagnosis.verdict if "unusable" in sentence)
    depth = diagnosis.main
    said = (
        f"The most shown item comes up in {depth.raw.most:,} of {diagnosis.held_out:,} searches, and with auto in "
        f"{depth.corrected.most:,}; chance would give {depth.chance.most:,}."
    )
    if diagnosis.expected is None:
        return (
            f"{said} But these searches are items themselves, so this tells little about what people see. "
            "Next: make the report again with example searches."
        )
    return f"{said} {_prospect(diagnosis.expected)} Next: build with auto, or measure its gain with labelled searches."


def _measured(none: Row, auto: Row) -> str:
    before, after = (round(1000 * row.quality["recall_at_1"]) for row in (none, auto))
    if auto.change is not None and auto.change.interval.above_zero:
        following = "Next: build with auto."
    elif auto.change is not None and auto.change.interval.high < 0:
        following = "Next: look for a bank like the live queries, or build with none."
    else:
        following = "The difference may be chance. Next: measure with more labelled searches."
    found = f"In {after:,} of 1,000 searches the right item comes first with auto; before it was {before:,}."
    return f"{found} {following}"


def _prospect(expected: ExpectedGain) -> str:
    return (
        f"Expect {_more(expected.points)} right first answers in 100 searches with auto "
        f"(between {expected.low:+.0f} and {expected.high:+.0f})."
    )


def _more(points: float) -> str:
    rounded = round(abs(points))
    if not rounded:
        return "about as many"
    return f"about {rounded} {'more' if points > 0 else 'fewer'}"


def occurrence_caption(diagnosis: Diagnosis) -> str:
    """What the picture of the k-occurrence shows."""
    depth = diagnosis.main
    count = diagnosis.targets
    never = [round(shape.antihubs * count) for shape in (depth.raw, depth.corrected, depth.chance)]
    even = diagnosis.held_out * depth.k / count
    return (
        f"Items from the most shown to the least, over {diagnosis.held_out:,} searches. Raw, one item is among the "
        f"first {depth.k} of {depth.raw.most:,} searches, and {never[0]:,} items are never shown. With auto it is "
        f"{depth.corrected.most:,} searches, and {never[1]:,} items; chance would leave {never[2]:,}. If all were "
        f"shown alike, each would come up {even:.3g} times. The flatter the line, the better."
    )


def bank_caption(report: Report) -> str:
    """What the picture of bank sizes shows."""
    tested = f"Measured on {report.curves.tested:,} searches"
    if report.curves.raw.recall is None:
        return f"{tested}. Skewness near chance is good. If a line still falls at its right end, more examples help."
    return f"{tested}. If a line still climbs at its right end, more example searches would help."


OFFSETS_CAPTION = (
    "How much is taken off each item's similarity. Items far to the right are hubs: they rank lower than before."
)
RECALLS_CAPTION = (
    "How often the right item comes first. The bars are 95 % intervals over searches. The table below has the change "
    "against raw, whose interval is narrower."
)
TEMPERATURE_CAPTION = (
    "A fixed temperature is easily wrong by a factor of ten. The upright line is the one that auto chose."
)
HEAT_CAPTION = (
    "Each row is a search, each column an item; dark is similar, compared with the rest of the row. The {hubs} largest "
    "hubs stand left of the line: dark stripes there mean that they are similar to everything."
)
RIGHT_CAPTION = " White dots mark right answers."
PROJECTION_CAPTION = (
    "Searches (grey) and items (pale) on the two directions in which they differ most, which hold {explained:.0%} of "
    "the differences. Blue are items that are shown at least twice as often as the mean: the larger, the more often."
)
EXAMPLES_CAPTION = "The first answers to chosen searches. The correction was made without these searches."
SOURCES_CAPTION = "The same searches, with auto made from each bank. The dotted line is raw."

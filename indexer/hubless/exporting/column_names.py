"""Names of columns and collections, as another database allows them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnNames:
    """Rules for the names that a database allows: patterns for any character and the first, and bytes in UTF-8."""

    allowed: str = r"."
    first: str = r"."
    most: int = 255
    fewest: int = 1

    def fitted(self, name: str) -> str:
        """Return a name as it is if it is allowed, and otherwise one like it."""
        found = re.sub(rf"(?s)(?!{self.allowed}).", "_", name) or "_"
        if not re.match(self.first, found):
            found = "c" + found
        return _cut(found, self.most).ljust(self.fewest, "0")

    def mapped(self, names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
        """Return the new name of each name: all different, none of them taken."""
        used = {name.casefold() for name in taken}
        found: dict[str, str] = {}
        for name in names:
            wanted = new = self.fitted(name)
            number = 2
            while new.casefold() in used:
                suffix = f"_{number}"
                new, number = _cut(wanted, self.most - len(suffix)) + suffix, number + 1
            used.add(new.casefold())
            found[name] = new
        return found


def _cut(name: str, most: int) -> str:
    return name.encode()[:most].decode(errors="ignore")


ANY = ColumnNames(most=2**31)

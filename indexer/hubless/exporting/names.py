"""Names of columns and collections, as another database allows them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """What names a database allows.

    Attributes
    ----------
    allowed, first : regular expressions for any character, and for the first
    most, fewest : bytes of a name in UTF-8
    reserved : names that nothing else may have
    lower, capital : whether all letters must be small, or the first one a capital
    """

    allowed: str = r"."
    first: str = r"."
    most: int = 255
    fewest: int = 1
    reserved: tuple[str, ...] = ()
    lower: bool = False
    capital: bool = False

    def fitted(self, name: str) -> str:
        """Return a name as it is if it is allowed, and otherwise one like it."""
        name = name.lower() if self.lower else name
        found = re.sub(rf"(?s)(?!{self.allowed}).", "_", name) or "_"
        if self.capital:
            found = found[0].upper() + found[1:]
        if not re.match(self.first, found):
            found = ("C" if self.capital else "c") + found
        return _cut(found, self.most).ljust(self.fewest, "0")

    def mapped(self, names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
        """Return the new name of each name: all different, none of them taken or reserved."""
        used = {name.casefold() for name in (*taken, *self.reserved)}
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


ANY = Names(most=2**31)

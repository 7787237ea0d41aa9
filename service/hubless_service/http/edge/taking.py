"""Whether a client takes its answers."""

LEAST_BYTES = 65_536
"""Bytes that a client has to take in each period, or all if less is left."""


class Taking:
    """Follows how many bytes of the answers wait to be taken by a client.

    Only a look at the end of a period decides. So a client may pause, and a line may be slow, but nobody can hold a
    long answer by taking one byte of it now and then.
    """

    __slots__ = ("_since", "_unsent")

    def __init__(self) -> None:
        self._unsent = 0
        self._since = 0.0

    def is_too_slow(self, unsent: int, now: float, period: float) -> bool:
        """Whether less was taken in the last period than has to be.

        Parameters
        ----------
        unsent : bytes that wait now
        now : seconds of any clock
        period : seconds
        """
        if not unsent or unsent > self._unsent or not self._unsent:  # nothing waits, or something new does
            self._unsent, self._since = unsent, now
            return False
        if now - self._since < period:
            return False
        taken = self._unsent - unsent
        self._unsent, self._since = unsent, now
        return taken < LEAST_BYTES

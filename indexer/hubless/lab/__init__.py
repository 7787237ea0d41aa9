"""What only an experiment can do: rankings of a whole matrix of queries × targets at once.

They see all test queries together, so none can answer one query in a service; they show what more could be had. Needs
the extra `lab` (`pip install 'hubless[lab]'`). Nothing else in the library imports it.
"""

import importlib.util

from hubless.errors import InputError

_NEEDED = {"ot": "POT", "scipy": "scipy"}

if missing := [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]:
    install = "pip install 'hubless[lab]'"
    raise InputError("lab", f"its extra packages ({install} installs them)", f"no {' and no '.join(missing)}")

from hubless.lab.plans import WHOLE_MATRIX, hn, l2n, otn, sn  # noqa: E402 - only once its packages are known to be there

__all__ = ["WHOLE_MATRIX", "hn", "l2n", "otn", "sn"]

"""The one table of refusals."""

from support.refusals.builds import ROWS_OF_BUILDS
from support.refusals.demand import ROWS_OF_DEMAND
from support.refusals.files import ROWS_OF_FILES
from support.refusals.filters import ROWS_OF_FILTERS
from support.refusals.ids import ROWS_OF_IDS
from support.refusals.jobs import ROWS_OF_JOBS
from support.refusals.payload import ROWS_OF_PAYLOAD
from support.refusals.queries import ROWS_OF_QUERIES
from support.refusals.requests import ROWS_OF_REQUESTS
from support.refusals.scores import ROWS_OF_SCORES
from support.refusals.vectors import ROWS_OF_VECTORS

TABLE = [
    *ROWS_OF_VECTORS,
    *ROWS_OF_FILES,
    *ROWS_OF_IDS,
    *ROWS_OF_PAYLOAD,
    *ROWS_OF_DEMAND,
    *ROWS_OF_BUILDS,
    *ROWS_OF_JOBS,
    *ROWS_OF_QUERIES,
    *ROWS_OF_FILTERS,
    *ROWS_OF_SCORES,
    *ROWS_OF_REQUESTS,
]

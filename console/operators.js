// The operators of filters: those of indexer/hubless/filters/operators.py, as a test of theirs writes them.
export const OPERATORS = [
  {"name": "eq", "sign": "=", "families": ["boolean", "ordered", "text"]},
  {"name": "ne", "sign": "≠", "families": ["boolean", "ordered", "text"]},
  {"name": "in", "sign": "is one of", "families": ["boolean", "ordered", "text"]},
  {"name": "gt", "sign": ">", "families": ["ordered", "text"]},
  {"name": "gte", "sign": "≥", "families": ["ordered", "text"]},
  {"name": "lt", "sign": "<", "families": ["ordered", "text"]},
  {"name": "lte", "sign": "≤", "families": ["ordered", "text"]},
  {"name": "contains", "sign": "contains", "families": ["list"]},
  {"name": "prefix", "sign": "begins with", "families": ["text"]},
  {"name": "suffix", "sign": "ends with", "families": ["text"]},
  {"name": "exists", "sign": "is there", "families": ["boolean", "ordered", "text", "list", "other"]}
];

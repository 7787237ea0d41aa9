"""The pipeline that makes every version: vectors → correction → offsets → index → measurements → files."""

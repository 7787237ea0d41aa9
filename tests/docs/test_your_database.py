"""The recipe for databases runs as written, and says what the database finds."""

import re
import subprocess
import sys

from support.pages import blocks


def test_recipe_runs_and_the_database_finds_what_hubless_finds(tmp_path):
    # one interpreter for all blocks, as their names go from one to the next
    code = "\n".join(block for language, block in blocks("your-database.md") if language == "python")
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "(2000, 80)" in ended.stdout
    agreement = float(re.search(r"([\d.]+)% of the hits are those of hubless", ended.stdout).group(1))
    assert agreement > 95

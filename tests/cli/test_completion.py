"""The completion that ``--shell-completion install=bash`` prints works in a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BASH = shutil.which("bash")
COMPLETE = """
eval "$(dpbench --shell-completion install=bash)"
[[ $(complete -p dpbench) == *"-F hydra_bash_completion dpbench" ]] || exit 3
while read -r -d ';' line; do
    COMP_LINE="$line"; COMP_POINT=${#line}; COMP_WORDS=($line)
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
    hydra_bash_completion
    echo "$line: ${COMPREPLY[*]}"
done
"""


@pytest.mark.slow
@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_subcommands_their_options_keys_values_and_presets(tmp_path: Path) -> None:
    program = tmp_path / "dpbench"
    program.write_text(f'#!{BASH}\nexec "{sys.executable}" -m dpbench "$@"\n')
    program.chmod(0o755)
    replies = {
        "dpbench pl": "plan plugins",
        "dpbench mechanism=fr": "mechanism=frank_wolfe",
        "dpbench -m mechanism=fm model=l": "model=lasso model=linear model=logistic",
        "dpbench plan mechanism=fm splits.r": "splits.repeats=",
        "dpbench experiment=fang2019/fig3": "experiment=fang2019/fig3 experiment=fang2019/fig3_adult",
        "dpbench report --u": "--uri",
    }
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": ":".join(filter(None, sys.path)), "HOME": str(tmp_path)}
    done = subprocess.run(
        [str(BASH), "--norc", "-c", COMPLETE],
        input="".join(f"{line};" for line in replies),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{line}: {reply}" for line, reply in replies.items()]

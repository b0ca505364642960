"""The flags of a run: what each means to dpbench and to Hydra, which values it takes, and what cannot stand together."""

from collections.abc import Mapping, Sequence

from dpbench.base.errors import Refused, check_known, near_names

SWITCHES = ("--profile", "--multirun", "--resolve", "--hydra-help", "--shell-completion")
CHOICES = {
    "--cfg": ("job", "hydra", "all"),
    "--info": ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
}
"""The values of flags that show the configuration instead of running it."""
VALUED_FLAGS = ("--cfg", "--config-dir", "--config-name", "--package")
CONFIG_FLAGS = ("--config-dir", "--config-name")
FLAGS = (*SWITCHES, *VALUED_FLAGS, "--info")
SHORT_FLAGS = {"-" + "".join(word[0] for word in flag[2:].split("-")): flag for flag in FLAGS}
"""Each flag by the initials of its words, which is how Hydra shortens them."""
SHELLS = ("bash", "fish", "zsh")
COMPLETION_COMMANDS = ("install", "uninstall", "query")


def split(argv: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the flags by their long names, with their values, and the overrides."""
    flags: dict[str, str] = {}
    overrides: list[str] = []
    rest = iter(argv)
    for argument in rest:
        if not argument.startswith("-"):
            overrides.append(argument)
            continue
        name, equals, value = argument.partition("=")
        flag = SHORT_FLAGS.get(name, name)
        if flag not in FLAGS:
            raise Refused(f"There is no flag {name!r}.{near_names(name, [*SHORT_FLAGS, *FLAGS])}")
        if flag in flags:
            raise Refused(f"The flag {flag} is given twice. Write it once.")
        if flag in SWITCHES and equals:
            raise Refused(f"The flag {flag} takes no value. Got {argument!r} instead.")
        flags[flag] = next(rest, "") if flag in VALUED_FLAGS and not equals else value
        if not flags[flag] and (flag in VALUED_FLAGS or equals):
            raise Refused(f"The flag {flag} needs a value.")
        if flag in CHOICES and flags[flag]:
            check_known(f"value of {flag}", [flags[flag]], CHOICES[flag])
    _check_together(flags, overrides)
    return flags, overrides


def for_hydra(flags: Mapping[str, str]) -> list[str]:
    """Return the flags as arguments of a Hydra application."""
    return [f"{flag}={value}" if value else flag for flag, value in flags.items()]


def _check_together(flags: Mapping[str, str], overrides: Sequence[str]) -> None:
    """Refuse flags that need another one or exclude each other, and a shell's completion without its shell."""
    if "--profile" in flags and (others := [flag for flag in flags if flag not in ("--profile", "--multirun", *CONFIG_FLAGS)]):
        raise Refused(f"The flag --profile needs a run, and {others[0]} runs nothing.")
    if "--shell-completion" in flags:
        command, _, shell = overrides[0].partition("=") if len(overrides) == 1 else ("", "", "")
        if command not in COMPLETION_COMMANDS or shell not in SHELLS:
            raise Refused(
                "The flag --shell-completion needs a shell, one of bash, fish and zsh, as in install=bash or uninstall=bash. "
                f"Got {' '.join(overrides) or 'nothing'} instead."
            )
    for flag in ("--cfg", "--info"):
        if "--multirun" in flags and flag in flags:
            raise Refused(f"{flag} shows the configuration of one cell: leave out -m and give one value a key.")
    for flag in ("--resolve", "--package"):
        if flag in flags and "--cfg" not in flags:
            raise Refused(f"The flag {flag} needs --cfg, whose output it changes.")
    modes = [flag for flag in ("--cfg", "--info", "--hydra-help", "--shell-completion") if flag in flags]
    if len(modes) > 1:
        raise Refused(f"The flags {' and '.join(modes)} each print something else: give one of them.")

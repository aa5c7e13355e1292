"""`barnabas completion`: a completion script for the shell, made from the commands themselves.

Commands, flags and choices are in the script: the shell looks them up, and no Python starts. For names of topics,
groups and profiles it calls `barnabas complete-names` (see `completion_names`).
"""

import importlib
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

from barnabas.cli.apps import single_app
from barnabas.cli.completion_names import COMMAND, GROUPS, KINDS, PROFILES, TOPICS

_FLAGS = {"--topic": TOPICS, "--group": GROUPS}
"""Of Kafka's scripts."""


class Words(NamedTuple):
    """What may come after a command."""

    fixed: list[str]
    """Commands below it, and flags."""
    argument: str = ""
    """What its arguments name: one of KINDS, or nothing."""
    values: tuple[tuple[str, str], ...] = ()
    """For each flag, what its value names, or its choices separated by blanks."""


WordsByCommand = dict[str, Words]
""" "" is `barnabas` itself, "topic create" a command in a group."""


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


_HOW = {
    Shell.bash: 'eval "$(barnabas completion bash)"    # in ~/.bashrc',
    Shell.zsh: 'eval "$(barnabas completion zsh)"    # in ~/.zshrc, after compinit',
    Shell.fish: "barnabas completion fish > ~/.config/fish/completions/barnabas.fish",
}


def completion(shell: Annotated[Shell, typer.Argument(help="The shell to complete for.")]) -> None:
    """Print a completion script: eval "$(barnabas completion bash)"."""
    words = collect_words()
    print(f"# {_HOW[shell]}")
    print({Shell.bash: bash_script, Shell.zsh: zsh_script, Shell.fish: fish_script}[shell](words), end="")


def collect_words() -> WordsByCommand:
    from typer.main import get_command

    from barnabas.cli.commands import COMMANDS, SERVE, VERSION
    from barnabas.cli.kafka.scripts import SCRIPTS, parser_of
    from barnabas.cli.serve import argument_parser

    flags = ["--bootstrap-server", "--help", "--profile", "--version"]
    found = {"": Words([*COMMANDS, *flags], values=(("--profile", PROFILES),)), VERSION: Words([])}
    found[SERVE] = _of_parser(argument_parser())
    for name in SCRIPTS:
        found[name] = _of_parser(parser_of(name))
    for name in COMMANDS:
        if name not in found:
            _walk(get_command(importlib.import_module(f"barnabas.cli.{name}").app), name, found)
    return found


def bash_script(words: WordsByCommand) -> str:
    return f"""\
_barnabas() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local path="" candidate word known="" kind=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) candidate="${{path:+$path }}${{word%.sh}}"
            case "$candidate" in {_commands(words)}) path="$candidate" ;; esac ;;
        esac
    done
{_choose(words)}
    [[ -z "$kind" ]] || known="$known $(barnabas {COMMAND} "$kind" "$COMP_LINE" 2>/dev/null)"
    COMPREPLY=($(compgen -W "$known" -- "$cur"))
    [[ ${{#COMPREPLY[@]}} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -F _barnabas barnabas
"""


def zsh_script(words: WordsByCommand) -> str:
    return f"""\
_barnabas() {{
    local cur="${{words[CURRENT]}}" before="${{words[CURRENT-1]}}" path_="" candidate word known="" kind=""
    for word in "${{words[@]:1:$((CURRENT - 2))}}"; do
        case "$word" in -*) ;; *) candidate="${{path_:+$path_ }}${{word%.sh}}"
            case "$candidate" in {_commands(words)}) path_="$candidate" ;; esac ;;
        esac
    done
{_choose(words, path="path_")}
    [[ -z "$kind" ]] || known="$known $(barnabas {COMMAND} "$kind" "${{(j: :)words}}" 2>/dev/null)"
    compadd -- ${{=known}} || _files
}}
compdef _barnabas barnabas
"""


def fish_script(words: WordsByCommand) -> str:
    lines = ["complete -c barnabas -f"]

    def add(condition: str, offered: str) -> None:
        if offered in KINDS:
            offered = f"(barnabas {COMMAND} {offered} (commandline -cp))"
        lines.append(f"complete -c barnabas -n '{condition}' -a '{offered}'")

    for path, found in words.items():
        parts = path.split()
        condition = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in parts) or "__fish_use_subcommand"
        for flag, offered in found.values:
            add(f"{condition}; and __fish_prev_arg_in {flag}", offered)
        if found.argument:
            add(condition, found.argument)
        deeper = [other.split()[len(parts)] for other in words if parts and other.startswith(f"{path} ")]
        if deeper:
            condition += f"; and not __fish_seen_subcommand_from {' '.join(deeper)}"
        add(condition, " ".join(found.fixed))
    return "\n".join(lines) + "\n"


def _walk(command: Any, path: str, found: WordsByCommand) -> None:
    options = [each for each in command.params if each.param_type_name == "option"]
    flags = {flag for option in options for flag in option.opts if flag.startswith("--")}
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    below = getattr(command, "commands", {})
    values = ((flag, _value(path, option)) for option in options for flag in option.opts)
    found[path] = Words(
        sorted(below) + sorted({*flags, "--help"}) + [word for each in arguments for word in _choices(each).split()],
        next((kind for each in arguments if (kind := _kind(each.metavar))), ""),
        tuple((flag, value) for flag, value in values if value),
    )
    for name, child in below.items():
        _walk(child, f"{path} {name}", found)


def _of_parser(parser: Any) -> Words:
    """Of argparse."""
    actions = [(flag, action) for action in parser._actions for flag in action.option_strings]
    values = ((flag, _FLAGS.get(flag) or " ".join(action.choices or ())) for flag, action in actions)
    flags = sorted(flag for flag, _ in actions if flag.startswith("--"))
    return Words(flags, values=tuple((flag, value) for flag, value in values if value))


def _value(path: str, option: Any) -> str:
    if "--profile" in option.opts and not path.startswith("pipeline"):  # there it is one of pipeline.yaml
        return PROFILES
    return _kind(option.metavar) or _choices(option)


def _kind(metavar: str | None) -> str:
    """By the placeholder of the help page: TOPIC, [GROUP]..., TOPIC[:P,P]."""
    name = (metavar or "").strip("[").partition("[")[0].rstrip("].,")
    return {"TOPIC": TOPICS, "GROUP": GROUPS}.get(name, "")


def _choices(parameter: Any) -> str:
    return " ".join(str(choice.value) for choice in parameter.type_descriptor.choices or ())


def _commands(words: WordsByCommand) -> str:
    return "|".join(f'"{path}"' for path in words if path)


def _choose(words: WordsByCommand, path: str = "path") -> str:
    """Shell code that sets `known` to the possible words, and `kind` to the kind of names to look up."""
    by_command = "\n".join(f'    "{each}") known="{" ".join(found.fixed)}" ;;' for each, found in words.items())
    by_flag: dict[str, list[str]] = {}
    for each, found in words.items():
        for flag, offered in found.values:
            by_flag.setdefault(offered, []).append(f'"{each} {flag}"')
    after_flags = "\n".join(f"    {'|'.join(where)}) {_offer(offered)} ;;" for offered, where in by_flag.items())
    arguments = "\n".join(
        f"        {'|'.join(where)}) kind={kind} ;;"
        for kind in KINDS
        if (where := [f'"{each}"' for each, found in words.items() if found.argument == kind])
    )
    return f"""\
    case "${path}" in
{by_command}
    esac
    case "${path} $before" in
{after_flags}
    *) case "${path}" in
{arguments}
        esac
        case "$cur" in -*) kind="" ;; esac ;;
    esac"""


def _offer(offered: str) -> str:
    return f'known=""; kind={offered}' if offered in KINDS else f'known="{offered}"'


app = single_app(completion)

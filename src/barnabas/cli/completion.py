"""`barnabas completion`: a completion script for the shell, made from the commands themselves.

The script is static: words are looked up by the shell, and no Python starts while somebody types.
"""

from enum import StrEnum
from typing import Annotated, Any

import typer

from barnabas.cli.apps import single_app

Words = dict[str, list[str]]
"""What may follow, by the commands typed so far: "" is `barnabas` itself, "topic create" a command in a group."""


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


def collect_words() -> Words:
    import importlib

    from typer.main import get_command

    from barnabas.cli.commands import COMMANDS, SERVE, VERSION
    from barnabas.cli.kafka.scripts import SCRIPTS, parser_of
    from barnabas.cli.serve import argument_parser

    found: Words = {"": [*COMMANDS, "--bootstrap-server", "--help", "--profile", "--version"], VERSION: []}
    found[SERVE] = _flags_of(argument_parser())
    for name in SCRIPTS:
        found[name] = _flags_of(parser_of(name))
    for name in COMMANDS:
        if name not in found:
            _walk(get_command(importlib.import_module(f"barnabas.cli.{name}").app), name, found)
    return found


def bash_script(words: Words) -> str:
    return f"""\
_barnabas() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" path="" candidate word words=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$word" in -*) ;; *) candidate="${{path:+$path }}$word"
            case "$candidate" in {_paths(words)}) path="$candidate" ;; esac ;;
        esac
    done
    case "$path" in
{_cases(words)}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [[ ${{#COMPREPLY[@]}} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -F _barnabas barnabas
"""


def zsh_script(words: Words) -> str:
    return f"""\
_barnabas() {{
    local known="" candidate word list=""
    for word in "${{words[@]:1:$((CURRENT - 2))}}"; do
        case "$word" in -*) ;; *) candidate="${{known:+$known }}$word"
            case "$candidate" in {_paths(words)}) known="$candidate" ;; esac ;;
        esac
    done
    case "$known" in
{_cases(words, "list")}
    esac
    compadd -- ${{=list}} || _files
}}
compdef _barnabas barnabas
"""


def fish_script(words: Words) -> str:
    lines = ["complete -c barnabas -f"]
    for path, found in words.items():
        parts = path.split()
        condition = "__fish_use_subcommand"
        if parts:
            condition = "; and ".join(f"__fish_seen_subcommand_from {part}" for part in parts)
        deeper = [other.split()[len(parts)] for other in words if parts and other.startswith(f"{path} ")]
        if deeper:
            condition += f"; and not __fish_seen_subcommand_from {' '.join(deeper)}"
        lines += [f"complete -c barnabas -n '{condition}' -a '{' '.join(found)}'"]
    return "\n".join(lines) + "\n"


def _walk(command: Any, path: str, found: Words) -> None:
    flags = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
    below = getattr(command, "commands", {})
    found[path] = sorted(below) + sorted({*flags, "--help"})
    for name, child in below.items():
        _walk(child, f"{path} {name}".strip(), found)


def _flags_of(parser: Any) -> list[str]:
    return sorted(flag for action in parser._actions for flag in action.option_strings if flag.startswith("--"))


def _paths(words: Words) -> str:
    return "|".join(f'"{path}"' for path in words if path)


def _cases(words: Words, variable: str = "words") -> str:
    return "\n".join(f'    "{path}") {variable}="{" ".join(found)}" ;;' for path, found in words.items())


app = single_app(completion)

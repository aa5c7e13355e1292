"""From the command line of `barnabas serve` to a broker's properties."""

from pathlib import Path

import pytest

from barnabas.cli.errors import CommandFailed
from barnabas.cli.main import run
from barnabas.cli.serve import argument_parser, broker_properties


def properties(*arguments: str) -> dict[str, str]:
    return broker_properties(argument_parser().parse_args(arguments))


def test_without_options_it_listens_on_localhost_and_keeps_data_in_the_users_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert properties() == {
        "listeners": "PLAINTEXT://localhost:9092",
        "log.dirs": f"{tmp_path}/.local/share/barnabas",
    }
    monkeypatch.setenv("XDG_DATA_HOME", "/data/home")
    assert properties()["log.dirs"] == "/data/home/barnabas"


def test_options_win_over_the_file_and_set_wins_over_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "server.properties"
    config.write_text("listeners=PLAINTEXT://:1\nlog.dirs=/from/file\nnum.partitions=3\nnode.id=7\n")
    assert properties("--config", str(config)) == {
        "listeners": "PLAINTEXT://:1",
        "log.dirs": "/from/file",
        "num.partitions": "3",
        "node.id": "7",
    }
    found = properties(
        "--config",
        str(config),
        "--listen",
        "0.0.0.0:2",
        "--data-dir",
        "d",
        "--set",
        "num.partitions=9",
        "--set",
        "a=b=c",
    )
    assert found == {
        "listeners": "PLAINTEXT://0.0.0.0:2",
        "log.dirs": f"{tmp_path}/d",
        "num.partitions": "9",
        "node.id": "7",
        "a": "b=c",
    }


def test_data_dir_replaces_a_log_dir_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("log.dir=/old\n")
    assert "log.dirs" not in properties("--config", str(config))
    found = properties("--config", str(config), "--data-dir", "/new")
    assert found["log.dirs"] == "/new"
    assert "log.dir" not in found


@pytest.mark.parametrize("address", ["localhost", "localhost:", "localhost:http", "::1:9092"])
def test_an_address_that_is_none_is_explained(address: str) -> None:
    with pytest.raises(CommandFailed, match="HOST:PORT") as caught:
        properties("--listen", address)
    assert "localhost:9092" in caught.value.hint


@pytest.mark.parametrize("address", [":99999", "localhost:65536", "localhost:" + "9" * 5000])
def test_a_port_that_is_none_is_explained(address: str) -> None:
    with pytest.raises(CommandFailed, match="is not a port") as caught:
        properties("--listen", address)
    assert "65535" in caught.value.hint


@pytest.mark.parametrize("below", ["", "below"])
def test_a_file_is_no_data_directory(tmp_path: Path, capfd: pytest.CaptureFixture[str], below: str) -> None:
    file = tmp_path / "file"
    file.touch()
    assert run(["serve", "--listen", "127.0.0.1:0", "--data-dir", str(file / below)]) == 1
    stderr = capfd.readouterr().err
    assert f"{file / below} is not a directory" in stderr
    assert "--data-dir" in stderr


def test_a_listener_with_an_impossible_port_is_explained(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    settings = ["--set", "listeners=PLAINTEXT://:99999", "--data-dir", str(tmp_path)]
    assert run(["serve", *settings]) == 1
    assert "99999 is not a port; choose one from 0 to 65535" in capfd.readouterr().err


def test_ipv6_addresses_stand_in_brackets() -> None:
    assert properties("--listen", "[::1]:9092")["listeners"] == "PLAINTEXT://[::1]:9092"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--lisen", "x:1"], 2, "did you mean --listen?"),
        (["--set", "novalue"], 1, "--set needs KEY=VALUE, not 'novalue'"),
        (["--config", "/no/such/file"], 1, "cannot read the configuration /no/such/file: No such file or directory"),
        (["--log-level", "loud"], 2, "invalid choice: 'loud'"),
    ],
)
def test_a_mistake_says_what_to_type(
    arguments: list[str], status: int, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", *arguments]) == status
    printed = capfd.readouterr()
    assert words in printed.err
    assert "hint: " in printed.err
    assert printed.out == ""


def test_help_is_data() -> None:
    assert run(["serve", "--help"]) == 0

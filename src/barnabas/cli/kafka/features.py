"""`barnabas kafka-features`: Kafka's FeatureCommand. Flags may come before or after the command."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

from barnabas import __version__
from barnabas.cli.errors import CommandFailed
from barnabas.cli.kafka.admin import connect
from barnabas.cli.kafka.options import ScriptParser, UsageError, add_connection
from barnabas.cli.kafka.release_versions import DEPENDENCIES, LATEST, LEVELS, RELEASES, level_of, levels_of
from barnabas.cli.wire_client import Cluster
from barnabas.wire.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

COMMANDS: Final = ("describe", "upgrade", "downgrade", "disable", "version-mapping", "feature-dependencies")
METADATA: Final = "metadata.version"
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3


def parser() -> ScriptParser:
    found = ScriptParser("kafka-features", "Describe and change the features of the cluster.")
    found.command(*COMMANDS)
    add_connection(found)
    found.value("--node-id", "with describe: the broker to ask", metavar="ID", type=int)
    found.value("--metadata", "the metadata.version to go to, as in 4.3-IV0", metavar="RELEASE")
    found.value("--release-version", "the release whose features to go to, as in 4.3-IV0", metavar="RELEASE")
    found.values("--feature", "a feature and its level, as in share.version=1", metavar="NAME=LEVEL")
    found.switch("--unsafe", "downgrade even if metadata may be lost")
    found.switch("--dry-run", "show what would happen, and change nothing")
    return found


def run(arguments: Sequence[str]) -> int:
    reader = parser()
    options = reader.read(arguments)
    match options.command:
        case "version-mapping":
            return _version_mapping(options)
        case "feature-dependencies":
            return _dependencies(reader, options)
    reader.require(options, "--bootstrap-server")
    levels = {} if options.command == "describe" else _levels(reader, options)
    with connect(options) as cluster:
        if options.command == "describe":
            return _describe(cluster, options.node_id)
        return _update(cluster, options, levels)


def _describe(cluster: Cluster, node_id: int | None) -> int:
    if node_id is None:
        node_id = min(broker.broker_id for broker in cluster.brokers().brokers)
    else:
        cluster.brokers()
    software = ApiVersionsRequest(client_software_name="barnabas-cli", client_software_version=__version__)
    response = cluster.call("api_versions", software, node=node_id)
    finalised = {each.name: each.max_version_level for each in response.finalized_features}
    for each in sorted(response.supported_features, key=lambda feature: str(feature.name)):
        lowest, highest, level = (
            _shown(each.name, number) for number in (each.min_version, each.max_version, finalised.get(each.name, 0))
        )
        print(
            f"Feature: {each.name:<42}SupportedMinVersion: {lowest:<17}SupportedMaxVersion: {highest:<17}"
            f"FinalizedVersionLevel: {level:<17}Epoch: {response.finalized_features_epoch}"
        )
    return 0


def _shown(name: str, level: int) -> str:
    return RELEASES.get(level, f"UNKNOWN [{level}]") if name == METADATA and level else str(level)


def _levels(reader: ScriptParser, options: argparse.Namespace) -> dict[str, int]:
    if options.command == "disable":
        if not options.feature:
            reader.error("missing required argument --feature")
        return dict.fromkeys(options.feature, 0)
    chosen = [flag for flag in ("metadata", "release_version", "feature") if getattr(options, flag)]
    if options.release_version and len(chosen) > 1:
        reader.error("Can not specify `release-version` with other feature flags.")
    if not chosen:
        reader.error(f"You must specify at least one feature to {options.command}")
    if options.release_version:
        levels = levels_of(level_of(options.release_version))
        return dict(sorted(levels.items()))
    levels = {} if options.metadata is None else {METADATA: level_of(options.metadata)}
    return levels | dict(map(_parse, options.feature))


def _parse(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals or not level.strip().isdecimal():
        raise UsageError(
            f"Can't parse feature=level string {text}: equals sign or number not found.",
            hint="write --feature share.version=1",
        )
    return name.strip(), int(level)


def _update(cluster: Cluster, options: argparse.Namespace, levels: Mapping[str, int]) -> int:
    downgrade = _UNSAFE_DOWNGRADE if options.unsafe else _SAFE_DOWNGRADE
    kind = _UPGRADE if options.command == "upgrade" else downgrade
    request = UpdateFeaturesRequest(
        feature_updates=tuple(
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level in levels.items()
        ),
        validate_only=options.dry_run,
    )
    answer = cluster.call("update_features", request)
    failed = answer.error_code != ErrorCode.none
    for name, level in levels.items():
        target = "" if options.command == "disable" else f" to {level}"
        if failed:
            print(f"Could not {options.command} {name}{target}. {answer.error_message}")
        else:
            verb = "can be" if options.dry_run else "was"
            print(f"{name} {verb} {options.command.removesuffix('e')}ed{target}.")
    if failed:
        raise CommandFailed(f"{len(levels)} out of {len(levels)} operation(s) failed.")
    return 0


def _version_mapping(options: argparse.Namespace) -> int:
    level = LATEST if options.release_version is None else level_of(options.release_version)
    for name, number in levels_of(level).items():
        print(f"{name}={number} ({RELEASES[level]})" if name == METADATA else f"{name}={number}")
    return 0


def _dependencies(reader: ScriptParser, options: argparse.Namespace) -> int:
    reader.require(options, "--feature")
    for name, level in map(_parse, options.feature):
        lowest, highest = LEVELS.get(name, (0, -1))
        if name not in LEVELS:
            raise UsageError(f"Unknown feature: {name}")
        if not lowest <= level <= highest:
            raise UsageError(f"Feature version '{name}={level}' is not supported by this version")
        needed = DEPENDENCIES.get((name, level))
        if needed is None:
            print(f"{name}={level} has no dependencies.")
        else:
            print(f"{name}={level} requires:\n    {needed[0]}={needed[1]} ({RELEASES[needed[1]]})")
    return 0

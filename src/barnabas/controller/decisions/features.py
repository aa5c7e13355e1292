"""Decides UpdateFeatures requests.

A feature level applies to the whole cluster, so every broker must support the new one. A request must say explicitly
that it downgrades. The metadata version cannot be downgraded past a version that changed the record formats.
"""

from typing import Final

from barnabas.controller.decisions.decision import Decision
from barnabas.controller.decisions.elr_safety import elr_safety_records
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    QUORUM_FEATURES,
    SUPPORTED_FEATURES,
)
from barnabas.metadata.image import ClusterImage
from barnabas.metadata.records import FeatureLevelRecord, MetadataRecord
from barnabas.wire.errors import InvalidUpdateVersion
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3

_CHANGED_METADATA: Final = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30})
"""The metadata versions that changed record formats."""

_DEPENDENCIES: Final = {(ELIGIBLE_LEADER_REPLICAS_VERSION, 1): (METADATA_VERSION, 23)}


def decide_update_features(
    image: ClusterImage, request: UpdateFeaturesRequest, *, version: int, controller_id: int, configs: BrokerConfigs
) -> Decision[None]:
    """Raises InvalidUpdateVersion for the first feature that cannot be updated; then none is."""
    updates = {update.feature: update for update in request.feature_updates}
    levels = {name: update.max_version_level for name, update in updates.items()}
    changed = [
        update
        for update in updates.values()
        if _check(image, update, _upgrade_type(update, version), {**image.features, **levels}, controller_id)
    ]
    if request.validate_only:
        return Decision((), None)
    records: list[MetadataRecord] = [
        FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level) for update in changed
    ]
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > image.features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0):
        records += elr_safety_records(image, configs)
    return Decision(tuple(records), None)


def _upgrade_type(update: FeatureUpdateKey, version: int) -> int:
    if version == 0:
        return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
    return update.upgrade_type


def _check(
    image: ClusterImage, update: FeatureUpdateKey, upgrade_type: int, proposed: dict[str, int], controller_id: int
) -> bool:
    """Whether the level changes."""
    name, level = update.feature, update.max_version_level

    def invalid(reason: str) -> InvalidUpdateVersion:
        return InvalidUpdateVersion(f"Invalid update version {level} for feature {name}. {reason}")

    if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise invalid("The controller does not support the given upgrade type.")
    if level < 0:
        raise invalid("A feature version cannot be less than 0.")
    if reason := _why_unsupported(image, name, level, controller_id):
        raise invalid(reason)
    current = {**image.features, **QUORUM_FEATURES}.get(name, 0)
    if level < current and upgrade_type == UPGRADE:
        raise invalid(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe"
            " downgrade."
        )
    if level > current and upgrade_type != UPGRADE:
        raise invalid("Can't downgrade to a newer version.")
    if name == KRAFT_VERSION:
        if level != current:
            raise invalid("Can't downgrade the version of this feature.")
        return False
    if name == METADATA_VERSION:
        _check_metadata_downgrade(current, level, unsafe=upgrade_type == UNSAFE_DOWNGRADE)
    needed = _DEPENDENCIES.get((name, level))
    if needed is not None and proposed.get(needed[0], 0) < needed[1]:
        raise invalid(f"{name} could not be set to {level} because it depends on {needed[0]} level {needed[1]}")
    return level != current


def _why_unsupported(image: ClusterImage, name: str, level: int, controller_id: int) -> str | None:
    def complaint(who: str, supported: tuple[int, int] | None) -> str | None:
        if supported is None:
            return None if level == 0 else f"{who} does not support this feature."
        lowest, highest = supported
        return None if lowest <= level <= highest else f"{who} only supports versions {lowest}-{highest}"

    if ours := complaint(f"Local controller {controller_id}", SUPPORTED_FEATURES.get(name)):
        return ours
    theirs = (complaint(f"Broker {broker.id}", broker.features.get(name)) for broker in image.brokers.values())
    return next((each for each in theirs if each), None)


def _check_metadata_downgrade(current: int, level: int, *, unsafe: bool) -> None:
    if not any(level < changed <= current for changed in _CHANGED_METADATA):
        return
    reason = (
        "Unsafe metadata downgrade is not supported in this version."
        if unsafe
        else "Refusing to perform the requested downgrade because it might delete metadata information."
    )
    raise InvalidUpdateVersion(f"Unsupported metadata.version downgrade from {current} to {level}. {reason}")

"""Features: all brokers must support a level, and downgrades need a request."""

import pytest
from cluster_images import applied, cluster

from barnabas.controller.decisions.features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, decide_update_features
from barnabas.metadata.configs import BrokerConfigs
from barnabas.metadata.delta import replay
from barnabas.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION as ELR
from barnabas.metadata.features import METADATA_VERSION
from barnabas.metadata.image import BROKER, ClusterImage
from barnabas.metadata.records import ConfigRecord, FeatureLevelRecord
from barnabas.wire.errors import InvalidUpdateVersion
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


def update(
    image: ClusterImage,
    *updates: tuple[str, int, int],
    version: int = 2,
    validate_only: bool = False,
    configs: BrokerConfigs | None = None,
) -> ClusterImage:
    request = UpdateFeaturesRequest(
        feature_updates=tuple(
            FeatureUpdateKey(
                feature=name, max_version_level=level, upgrade_type=kind, allow_downgrade=kind == SAFE_DOWNGRADE
            )
            for name, level, kind in updates
        ),
        validate_only=validate_only,
    )
    decision = decide_update_features(
        image, request, version=version, controller_id=1, configs=configs or BrokerConfigs()
    )
    return applied(image, decision)


def at_level(name: str, level: int) -> ClusterImage:
    image = cluster(1)
    return replay(image, [FeatureLevelRecord(name=name, feature_level=level)], offset=image.offset + 1)[0]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_feature_is_lowered_and_raised(version: int) -> None:
    lowered = update(cluster(1), (ELR, 0, SAFE_DOWNGRADE), version=version)
    assert ELR not in lowered.features
    assert update(lowered, (ELR, 1, UPGRADE), version=version).features[ELR] == 1


def test_a_dry_run_changes_nothing() -> None:
    image = cluster(1)
    assert update(image, (ELR, 0, SAFE_DOWNGRADE), validate_only=True) == image


def test_what_is_so_already_is_not_written_again() -> None:
    image = cluster(1)
    assert update(image, (ELR, 1, UPGRADE), (METADATA_VERSION, 30, UPGRADE), ("kraft.version", 1, UPGRADE)) == image


def test_an_older_cluster_is_raised() -> None:
    assert update(at_level(METADATA_VERSION, 20), (METADATA_VERSION, 30, UPGRADE)).features[METADATA_VERSION] == 30


def test_the_metadata_version_goes_back_only_where_nothing_changed() -> None:
    image = at_level(METADATA_VERSION, 29)
    assert update(image, (METADATA_VERSION, 24, SAFE_DOWNGRADE)).features[METADATA_VERSION] == 24


def test_with_elr_the_minimum_of_replicas_is_the_clusters() -> None:
    image = update(cluster(1), (ELR, 0, SAFE_DOWNGRADE))
    records = [
        ConfigRecord(resource_type=BROKER, resource_name="", name="min.insync.replicas", value=None),
        ConfigRecord(resource_type=BROKER, resource_name="1", name="min.insync.replicas", value="3"),
    ]
    image = replay(image, records, offset=image.offset + 2)[0]
    after = update(image, (ELR, 1, UPGRADE), configs=BrokerConfigs(static={"min.insync.replicas": "2"}))
    assert after.configs.of(BROKER, "") == {"min.insync.replicas": "2"}
    assert after.configs.of(BROKER, "1") == {}


@pytest.mark.parametrize(
    ("updates", "complaint"),
    [
        ([(ELR, 0, UPGRADE)], "without setting the upgrade type"),
        ([(ELR, 2, UPGRADE)], "Local controller 1 only supports versions 0-1"),
        ([(ELR, -1, SAFE_DOWNGRADE)], "cannot be less than 0"),
        ([(ELR, 1, 7)], "does not support the given upgrade type"),
        ([("shoe.size", 1, UPGRADE)], "does not support this feature"),
        ([(METADATA_VERSION, 29, SAFE_DOWNGRADE)], "might delete metadata information"),
        ([(METADATA_VERSION, 29, UNSAFE_DOWNGRADE)], "Unsafe metadata downgrade is not supported"),
        ([(METADATA_VERSION, 6, UNSAFE_DOWNGRADE)], "only supports versions 7-30"),
        ([(METADATA_VERSION, 31, UPGRADE)], "only supports versions 7-30"),
        ([("kraft.version", 0, SAFE_DOWNGRADE)], "Can't downgrade the version of this feature"),
        ([(ELR, 0, SAFE_DOWNGRADE), ("shoe.size", 1, UPGRADE)], "shoe.size"),
    ],
)
def test_what_cannot_be_updated(updates: list[tuple[str, int, int]], complaint: str) -> None:
    with pytest.raises(InvalidUpdateVersion, match=complaint):
        update(cluster(1), *updates)


def test_a_downgrade_does_not_raise() -> None:
    with pytest.raises(InvalidUpdateVersion, match="Can't downgrade to a newer version"):
        update(at_level(ELR, 0), (ELR, 1, SAFE_DOWNGRADE))


def test_what_a_feature_needs_must_be_there() -> None:
    image = replay(at_level(METADATA_VERSION, 22), [FeatureLevelRecord(name=ELR, feature_level=0)])[0]
    with pytest.raises(InvalidUpdateVersion, match=r"depends on metadata\.version level 23"):
        update(image, (ELR, 1, UPGRADE))
    assert update(image, (ELR, 1, UPGRADE), (METADATA_VERSION, 30, UPGRADE)).features[ELR] == 1


def test_every_broker_must_support_the_level() -> None:
    image = update(cluster(1, 2), (ELR, 0, SAFE_DOWNGRADE))
    other = image.brokers[2]
    older = type(other)(id=2, epoch=other.epoch, features={METADATA_VERSION: other.features[METADATA_VERSION]})
    image = type(image)(brokers={1: image.brokers[1], 2: older}, features=image.features, offset=image.offset)
    with pytest.raises(InvalidUpdateVersion, match="Broker 2 does not support this feature"):
        update(image, (ELR, 1, UPGRADE))

"""The features in ApiVersions."""

import asyncio
from pathlib import Path

from admin_broker import AdminBroker

from barnabas.metadata.delta import replay
from barnabas.metadata.records import FeatureLevelRecord
from barnabas.wire.messages.api_versions import ApiVersionsRequest


def test_a_feature_that_another_server_finalised_is_kept_but_not_promised(tmp_path: Path) -> None:
    admin = AdminBroker(tmp_path)
    levels = {"metadata.version": 30, "streams.version": 1}
    records = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
    admin.image, _ = replay(admin.image, records, offset=len(records))

    async def scenario() -> dict[str, int]:
        await admin.register()
        request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
        answer = await admin.ask("api_versions", request)
        return {each.name: each.max_version_level for each in answer.finalized_features}

    assert asyncio.run(scenario()) == {"metadata.version": 30, "kraft.version": 1}
    assert admin.image.features == levels

"""Deleted records stay deleted after the answer, however the broker ends."""

import datetime
from pathlib import Path

from plain_requests import EARLIEST, list_offset, produce, read_all

from barnabas.testing import Broker
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic


def test_deleted_records_do_not_come_back_after_a_kill(tmp_path: Path) -> None:
    with Broker(process=True, data_dir=tmp_path / "data") as broker:
        broker.create_topic("t")
        with broker.connect() as client:
            produce(client, "t", [b"%d" % number for number in range(9)])
            asked = DeleteRecordsTopic(name="t", partitions=(DeleteRecordsPartition(partition_index=0, offset=4),))
            request = DeleteRecordsRequest(topics=(asked,), timeout=datetime.timedelta(seconds=5))
            (answer,) = client.call("delete_records", 2, request).topics[0].partitions
            assert answer.low_watermark == 4
        broker.kill()
        broker.start()
        with broker.connect() as client:
            assert list_offset(client, "t", EARLIEST) == 4
            assert [record.offset for record in read_all(client, "t")] == [4, 5, 6, 7, 8]

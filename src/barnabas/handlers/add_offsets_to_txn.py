"""AddOffsetsToTxn (0-4): add a group's partition of __consumer_offsets to a transaction.

Clients with transaction.version 2 do not send it: their TxnOffsetCommit adds the partition too.
"""

from barnabas.coordinator.group_coordinator import GroupCoordinator
from barnabas.coordinator.txn_coordinator import TransactionCoordinator
from barnabas.handlers.context import RequestContext
from barnabas.handlers.services import TopicMaker
from barnabas.handlers.transactional import code_of
from barnabas.model import OFFSETS_TOPIC, TopicPartition
from barnabas.wire.errors import KafkaError
from barnabas.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse


async def handle(
    topic_maker: TopicMaker,
    groups: GroupCoordinator,
    transactions: TransactionCoordinator,
    context: RequestContext,
    request: AddOffsetsToTxnRequest,
) -> AddOffsetsToTxnResponse:
    try:
        await topic_maker.ensure_internal(OFFSETS_TOPIC)
        partition = TopicPartition(OFFSETS_TOPIC, groups.partition_for(request.group_id))
        results = await transactions.add_partitions(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            (partition,),
            verify_only=False,
            client_version=0,
        )
    except KafkaError as error:
        return AddOffsetsToTxnResponse(error_code=error.code)
    error_or_none = results[partition]
    if error_or_none is None:
        return AddOffsetsToTxnResponse()
    return AddOffsetsToTxnResponse(error_code=code_of(error_or_none, context.api_version))

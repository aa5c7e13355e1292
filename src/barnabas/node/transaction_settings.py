"""Reads the transaction coordinator's settings from the broker configs."""

from barnabas.coordinator.txn.settings import TransactionSettings
from barnabas.metadata.configs import BrokerConfigs


def transaction_settings(configs: BrokerConfigs) -> TransactionSettings:
    return TransactionSettings(
        timeout_ms_max=configs.integer("transaction.max.timeout.ms"),
        timeout_check_interval_ms=configs.integer("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
        transactional_id_expiration_ms=configs.integer("transactional.id.expiration.ms"),
        expiration_check_interval_ms=configs.integer("transaction.remove.expired.transaction.cleanup.interval.ms"),
        two_phase_commit=configs.boolean("transaction.two.phase.commit.enable"),
        commit_timeout_ms=configs.integer("request.timeout.ms"),
        completion_wait_ms=configs.integer("add.partitions.to.txn.retry.backoff.max.ms"),
    )

"""Kafka's other broker configs: validated and described, so that existing properties files work unchanged.

They have no effect here; each group says why. The few at the end are refused unless they have their default values,
because ignoring them would be wrong: a policy would not be enforced, an authoriser not asked. This table is imported
when a config that has no effect is used, or when a broker is described.
"""

from typing import Final, NamedTuple

from barnabas.metadata.configs.definition import (
    AtLeast,
    Between,
    ConfigDef,
    ConfigType,
    Effect,
    OneOf,
    Update,
    Validator,
)

BOOLEAN, STRING, INT, SHORT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.SHORT
LONG, DOUBLE, LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST
CLASS, PASSWORD = ConfigType.CLASS, ConfigType.PASSWORD
CLUSTER_WIDE, PER_BROKER = Update.CLUSTER_WIDE, Update.PER_BROKER


_SHOWN_ONLY_IF_SET: Final = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "controller.performance.always.log.threshold.ms",
        "controller.performance.sample.period.ms",
        "follower.replication.throttled.rate",
        "group.share.persister.class.name",
        "internal.metadata.delete.delay.millis",
        "internal.metadata.log.segment.bytes",
        "internal.metadata.max.batch.size.in.bytes",
        "leader.replication.throttled.rate",
        "remote.log.index.file.cache.ttl.ms",
        "remote.log.manager.task.retry.backoff.max.ms",
        "remote.log.manager.task.retry.backoff.ms",
        "remote.log.manager.task.retry.jitter",
        "server.max.startup.time.ms",
        "super.users",
        "unclean.leader.election.interval.ms",
        "unstable.api.versions.enable",
        "unstable.feature.versions.enable",
    }
)
"""Internal in Kafka, or known only to a part of it, such as an authoriser."""


class _Row(NamedTuple):
    name: str
    type: ConfigType
    default: str | None
    validator: Validator | None = None
    update: Update = Update.READ_ONLY


def _definitions(reason: str, rows: tuple[_Row, ...], effect: Effect = Effect.ACCEPTED) -> tuple[ConfigDef, ...]:
    return tuple(
        ConfigDef(
            row.name,
            row.type,
            row.default,
            reason,
            row.validator,
            effect=effect,
            update=row.update,
            shown_only_if_set=row.name in _SHOWN_ONLY_IF_SET,
        )
        for row in rows
    )


_TIERED: Final = (
    _Row("follower.fetch.last.tiered.offset.enable", BOOLEAN, "false", None, CLUSTER_WIDE),
    _Row("log.local.retention.bytes", LONG, "-2", AtLeast(-2), CLUSTER_WIDE),
    _Row("log.local.retention.ms", LONG, "-2", AtLeast(-2), CLUSTER_WIDE),
    _Row("remote.fetch.max.wait.ms", INT, "500", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.list.offsets.request.timeout.ms", LONG, "30000", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.index.file.cache.total.size.bytes", LONG, "1073741824", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.index.file.cache.ttl.ms", LONG, "900000", AtLeast(-1)),
    _Row("remote.log.manager.copier.thread.pool.size", INT, "10", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.manager.copy.max.bytes.per.second", LONG, "9223372036854775807", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.manager.copy.quota.window.num", INT, "11", AtLeast(1)),
    _Row("remote.log.manager.copy.quota.window.size.seconds", INT, "1", AtLeast(1)),
    _Row("remote.log.manager.expiration.thread.pool.size", INT, "10", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.manager.fetch.max.bytes.per.second", LONG, "9223372036854775807", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.manager.fetch.quota.window.num", INT, "11", AtLeast(1)),
    _Row("remote.log.manager.fetch.quota.window.size.seconds", INT, "1", AtLeast(1)),
    _Row("remote.log.manager.follower.thread.pool.size", INT, "2", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.manager.task.interval.ms", LONG, "30000", AtLeast(1)),
    _Row("remote.log.manager.task.retry.backoff.max.ms", LONG, "30000", AtLeast(1)),
    _Row("remote.log.manager.task.retry.backoff.ms", LONG, "500", AtLeast(1)),
    _Row("remote.log.manager.task.retry.jitter", DOUBLE, "0.2", Between(0, 0.5)),
    _Row("remote.log.manager.thread.pool.size", INT, "2", AtLeast(1)),
    _Row("remote.log.metadata.custom.metadata.max.bytes", INT, "128", AtLeast(0)),
    _Row(
        "remote.log.metadata.manager.class.name",
        STRING,
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
    ),
    _Row("remote.log.metadata.manager.class.path", STRING, None),
    _Row("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config."),
    _Row("remote.log.metadata.manager.listener.name", STRING, None),
    _Row("remote.log.reader.max.pending.tasks", INT, "100", AtLeast(1)),
    _Row("remote.log.reader.threads", INT, "10", AtLeast(1), CLUSTER_WIDE),
    _Row("remote.log.storage.manager.class.name", STRING, None),
    _Row("remote.log.storage.manager.class.path", STRING, None),
    _Row("remote.log.storage.manager.impl.prefix", STRING, "rsm.config."),
)

_SECURITY: Final = (
    _Row("allow.everyone.if.no.acl.found", BOOLEAN, "false"),
    _Row("connection.failed.authentication.delay.ms", INT, "100", AtLeast(0)),
    _Row("connections.max.reauth.ms", LONG, "0"),
    _Row("delegation.token.expiry.check.interval.ms", LONG, "3600000", AtLeast(1)),
    _Row("delegation.token.expiry.time.ms", LONG, "86400000", AtLeast(1)),
    _Row("delegation.token.max.lifetime.ms", LONG, "604800000", AtLeast(1)),
    _Row("delegation.token.secret.key", PASSWORD, None),
    _Row(
        "principal.builder.class",
        CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        None,
        PER_BROKER,
    ),
    _Row("sasl.client.callback.handler.class", CLASS, None),
    _Row("sasl.enabled.mechanisms", LIST, "GSSAPI", None, PER_BROKER),
    _Row("sasl.jaas.config", PASSWORD, None, None, PER_BROKER),
    _Row("sasl.kerberos.kinit.cmd", STRING, "/usr/bin/kinit", None, PER_BROKER),
    _Row("sasl.kerberos.min.time.before.relogin", LONG, "60000", None, PER_BROKER),
    _Row("sasl.kerberos.principal.to.local.rules", LIST, "DEFAULT", None, PER_BROKER),
    _Row("sasl.kerberos.service.name", STRING, None, None, PER_BROKER),
    _Row("sasl.kerberos.ticket.renew.jitter", DOUBLE, "0.05", None, PER_BROKER),
    _Row("sasl.kerberos.ticket.renew.window.factor", DOUBLE, "0.8", None, PER_BROKER),
    _Row("sasl.login.callback.handler.class", CLASS, None),
    _Row("sasl.login.class", CLASS, None),
    _Row("sasl.login.connect.timeout.ms", INT, None),
    _Row("sasl.login.read.timeout.ms", INT, None),
    _Row("sasl.login.refresh.buffer.seconds", SHORT, "300", None, PER_BROKER),
    _Row("sasl.login.refresh.min.period.seconds", SHORT, "60", None, PER_BROKER),
    _Row("sasl.login.refresh.window.factor", DOUBLE, "0.8", None, PER_BROKER),
    _Row("sasl.login.refresh.window.jitter", DOUBLE, "0.05", None, PER_BROKER),
    _Row("sasl.login.retry.backoff.max.ms", LONG, "10000"),
    _Row("sasl.login.retry.backoff.ms", LONG, "100"),
    _Row("sasl.mechanism.controller.protocol", STRING, "GSSAPI"),
    _Row("sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI", None, PER_BROKER),
    _Row("sasl.oauthbearer.assertion.algorithm", STRING, "RS256"),
    _Row("sasl.oauthbearer.assertion.claim.aud", STRING, None),
    _Row("sasl.oauthbearer.assertion.claim.exp.seconds", INT, "300", Between(0, 86400)),
    _Row("sasl.oauthbearer.assertion.claim.iss", STRING, None),
    _Row("sasl.oauthbearer.assertion.claim.jti.include", BOOLEAN, "false"),
    _Row("sasl.oauthbearer.assertion.claim.nbf.seconds", INT, "60", Between(0, 3600)),
    _Row("sasl.oauthbearer.assertion.claim.sub", STRING, None),
    _Row("sasl.oauthbearer.assertion.file", STRING, None),
    _Row("sasl.oauthbearer.assertion.private.key.file", STRING, None),
    _Row("sasl.oauthbearer.assertion.private.key.passphrase", PASSWORD, None),
    _Row("sasl.oauthbearer.assertion.template.file", STRING, None),
    _Row("sasl.oauthbearer.client.credentials.client.id", STRING, None),
    _Row("sasl.oauthbearer.client.credentials.client.secret", PASSWORD, None),
    _Row("sasl.oauthbearer.clock.skew.seconds", INT, "30"),
    _Row("sasl.oauthbearer.expected.audience", LIST, ""),
    _Row("sasl.oauthbearer.expected.issuer", STRING, None),
    _Row("sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, "3600000"),
    _Row("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, "10000"),
    _Row("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, "100"),
    _Row("sasl.oauthbearer.jwks.endpoint.url", STRING, None),
    _Row(
        "sasl.oauthbearer.jwt.retriever.class",
        CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
    ),
    _Row(
        "sasl.oauthbearer.jwt.validator.class",
        CLASS,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    ),
    _Row("sasl.oauthbearer.scope", STRING, None),
    _Row("sasl.oauthbearer.scope.claim.name", STRING, "scope"),
    _Row("sasl.oauthbearer.sub.claim.name", STRING, "sub"),
    _Row("sasl.oauthbearer.token.endpoint.url", STRING, None),
    _Row("sasl.server.callback.handler.class", CLASS, None),
    _Row("sasl.server.max.receive.size", INT, "524288"),
    _Row(
        "security.inter.broker.protocol", STRING, "PLAINTEXT", OneOf("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
    ),
    _Row("security.providers", STRING, None),
    _Row("ssl.allow.dn.changes", BOOLEAN, "false"),
    _Row("ssl.allow.san.changes", BOOLEAN, "false"),
    _Row("ssl.cipher.suites", LIST, "", None, PER_BROKER),
    _Row("ssl.client.auth", STRING, "none", OneOf("required", "requested", "none"), PER_BROKER),
    _Row("ssl.enabled.protocols", LIST, "TLSv1.2,TLSv1.3", None, PER_BROKER),
    _Row("ssl.endpoint.identification.algorithm", STRING, "https", None, PER_BROKER),
    _Row("ssl.engine.factory.class", CLASS, None, None, PER_BROKER),
    _Row("ssl.key.password", PASSWORD, None, None, PER_BROKER),
    _Row("ssl.keymanager.algorithm", STRING, "SunX509", None, PER_BROKER),
    _Row("ssl.keystore.certificate.chain", PASSWORD, None, None, PER_BROKER),
    _Row("ssl.keystore.key", PASSWORD, None, None, PER_BROKER),
    _Row("ssl.keystore.location", STRING, None, None, PER_BROKER),
    _Row("ssl.keystore.password", PASSWORD, None, None, PER_BROKER),
    _Row("ssl.keystore.type", STRING, "JKS", None, PER_BROKER),
    _Row("ssl.principal.mapping.rules", STRING, "DEFAULT"),
    _Row("ssl.protocol", STRING, "TLSv1.3", None, PER_BROKER),
    _Row("ssl.provider", STRING, None, None, PER_BROKER),
    _Row("ssl.secure.random.implementation", STRING, None, None, PER_BROKER),
    _Row("ssl.trustmanager.algorithm", STRING, "PKIX", None, PER_BROKER),
    _Row("ssl.truststore.certificates", PASSWORD, None, None, PER_BROKER),
    _Row("ssl.truststore.location", STRING, None, None, PER_BROKER),
    _Row("ssl.truststore.password", PASSWORD, None, None, PER_BROKER),
    _Row("ssl.truststore.type", STRING, "JKS", None, PER_BROKER),
)

_TRANSACTIONS: Final = (
    _Row("add.partitions.to.txn.retry.backoff.ms", INT, "20", AtLeast(1)),
    _Row("transaction.state.log.load.buffer.size", INT, "5242880", AtLeast(1)),
)

_OTHER_GROUPS: Final = (
    _Row("group.share.assignors", LIST, "simple"),
    _Row("group.share.persister.class.name", STRING, "org.apache.kafka.server.share.persister.DefaultStatePersister"),
    _Row("group.streams.assignment.interval.ms", INT, "1000", AtLeast(0), CLUSTER_WIDE),
    _Row("group.streams.heartbeat.interval.ms", INT, "5000", AtLeast(1)),
    _Row("group.streams.initial.rebalance.delay.ms", INT, "3000", AtLeast(0)),
    _Row("group.streams.max.assignment.interval.ms", INT, "15000", AtLeast(0)),
    _Row("group.streams.max.heartbeat.interval.ms", INT, "15000", AtLeast(1)),
    _Row("group.streams.max.session.timeout.ms", INT, "60000", AtLeast(1)),
    _Row("group.streams.max.size", INT, "2147483647", AtLeast(1)),
    _Row("group.streams.max.standby.replicas", INT, "2", AtLeast(0)),
    _Row("group.streams.min.assignment.interval.ms", INT, "0", AtLeast(0)),
    _Row("group.streams.min.heartbeat.interval.ms", INT, "5000", AtLeast(1)),
    _Row("group.streams.min.session.timeout.ms", INT, "45000", AtLeast(1)),
    _Row("group.streams.num.standby.replicas", INT, "0", AtLeast(0)),
    _Row("group.streams.session.timeout.ms", INT, "45000", AtLeast(1)),
    _Row("share.coordinator.append.linger.ms", INT, "-1", AtLeast(-1)),
    _Row("share.coordinator.cached.buffer.max.bytes", INT, "1048588", AtLeast(524288), CLUSTER_WIDE),
    _Row("share.coordinator.load.buffer.size", INT, "5242880", AtLeast(1)),
    _Row("share.coordinator.state.topic.compression.codec", INT, "0"),
    _Row("share.coordinator.threads", INT, "1", AtLeast(1)),
    _Row("share.fetch.purgatory.purge.interval.requests", INT, "1000"),
)

_CLUSTER: Final = (
    _Row("alter.log.dirs.replication.quota.window.num", INT, "11", AtLeast(1)),
    _Row("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", AtLeast(1)),
    _Row("auto.leader.rebalance.enable", BOOLEAN, "true"),
    _Row("broker.heartbeat.interval.ms", INT, "2000"),
    _Row("broker.session.timeout.ms", INT, "9000"),
    _Row("controlled.shutdown.enable", BOOLEAN, "true"),
    _Row("controller.listener.names", LIST, None),
    _Row("controller.performance.always.log.threshold.ms", LONG, "2000", AtLeast(0)),
    _Row("controller.performance.sample.period.ms", LONG, "60000", AtLeast(100)),
    _Row("controller.quorum.append.linger.ms", INT, "25", AtLeast(0)),
    _Row("controller.quorum.auto.join.enable", BOOLEAN, "false"),
    _Row("controller.quorum.bootstrap.servers", LIST, ""),
    _Row("controller.quorum.election.backoff.max.ms", INT, "1000", AtLeast(0)),
    _Row("controller.quorum.election.timeout.ms", INT, "1000", AtLeast(0)),
    _Row("controller.quorum.fetch.max.bytes", INT, "1048576", AtLeast(1)),
    _Row("controller.quorum.fetch.snapshot.max.bytes", INT, "1048576", AtLeast(1)),
    _Row("controller.quorum.fetch.timeout.ms", INT, "2000", AtLeast(0)),
    _Row("controller.quorum.request.timeout.ms", INT, "2000", AtLeast(0)),
    _Row("controller.quorum.retry.backoff.ms", INT, "20", AtLeast(0)),
    _Row("controller.socket.timeout.ms", INT, "30000"),
    _Row("cordoned.log.dirs", LIST, "", None, PER_BROKER),
    _Row("early.start.listeners", LIST, None),
    _Row("follower.replication.throttled.rate", LONG, "9223372036854775807", AtLeast(0), CLUSTER_WIDE),
    _Row("initial.broker.registration.timeout.ms", INT, "60000"),
    _Row("inter.broker.listener.name", STRING, None),
    _Row("leader.imbalance.check.interval.seconds", LONG, "300", AtLeast(1)),
    _Row("leader.replication.throttled.rate", LONG, "9223372036854775807", AtLeast(0), CLUSTER_WIDE),
    _Row("log.dir.failure.timeout.ms", LONG, "30000", AtLeast(1)),
    _Row("metadata.max.idle.interval.ms", INT, "500", AtLeast(0)),
    _Row("num.replica.alter.log.dirs.threads", INT, None),
    _Row("num.replica.fetchers", INT, "1", AtLeast(1), CLUSTER_WIDE),
    _Row("replica.fetch.backoff.ms", INT, "1000", AtLeast(0)),
    _Row("replica.fetch.max.bytes", INT, "1048576", AtLeast(0)),
    _Row("replica.fetch.min.bytes", INT, "1"),
    _Row("replica.fetch.response.max.bytes", INT, "10485760", AtLeast(0)),
    _Row("replica.fetch.wait.max.ms", INT, "500"),
    _Row("replica.lag.time.max.ms", LONG, "30000"),
    _Row("replica.selector.class", STRING, None),
    _Row("replica.socket.receive.buffer.bytes", INT, "65536"),
    _Row("replica.socket.timeout.ms", INT, "30000"),
    _Row("replication.quota.window.num", INT, "11", AtLeast(1)),
    _Row("replication.quota.window.size.seconds", INT, "1", AtLeast(1)),
    _Row("request.timeout.ms", INT, "30000"),
    _Row("socket.connection.setup.timeout.max.ms", LONG, "30000"),
    _Row("socket.connection.setup.timeout.ms", LONG, "10000"),
    _Row("unclean.leader.election.enable", BOOLEAN, "false", None, CLUSTER_WIDE),
    _Row("unclean.leader.election.interval.ms", LONG, "300000", AtLeast(1)),
)

_MACHINERY: Final = (
    _Row("background.threads", INT, "10", AtLeast(1), CLUSTER_WIDE),
    _Row("delete.records.purgatory.purge.interval.requests", INT, "1"),
    _Row("fetch.purgatory.purge.interval.requests", INT, "1000"),
    _Row("group.coordinator.append.linger.ms", INT, "-1", AtLeast(-1)),
    _Row("group.coordinator.background.threads", INT, "2", AtLeast(1)),
    _Row("group.coordinator.cached.buffer.max.bytes", INT, "1048588", AtLeast(524288), CLUSTER_WIDE),
    _Row("group.coordinator.threads", INT, "4", AtLeast(1)),
    _Row("internal.metadata.delete.delay.millis", LONG, "60000"),
    _Row("internal.metadata.log.segment.bytes", INT, None),
    _Row("internal.metadata.max.batch.size.in.bytes", INT, "8388608"),
    _Row("kafka.metrics.polling.interval.secs", INT, "10", AtLeast(1)),
    _Row("kafka.metrics.reporters", LIST, ""),
    _Row("log.cleaner.io.buffer.load.factor", DOUBLE, "0.9", None, CLUSTER_WIDE),
    _Row("log.cleaner.io.buffer.size", INT, "524288", AtLeast(0), CLUSTER_WIDE),
    _Row("log.cleaner.threads", INT, "1", AtLeast(0), CLUSTER_WIDE),
    _Row("log.preallocate", BOOLEAN, "false", None, CLUSTER_WIDE),
    _Row("metric.reporters", LIST, "org.apache.kafka.common.metrics.JmxReporter", None, CLUSTER_WIDE),
    _Row("metrics.num.samples", INT, "2", AtLeast(1)),
    _Row("metrics.recording.level", STRING, "INFO"),
    _Row("metrics.sample.window.ms", LONG, "30000", AtLeast(1)),
    _Row("num.io.threads", INT, "8", AtLeast(1), CLUSTER_WIDE),
    _Row("num.network.threads", INT, "3", AtLeast(1), CLUSTER_WIDE),
    _Row("num.recovery.threads.per.data.dir", INT, "2", AtLeast(1), CLUSTER_WIDE),
    _Row("offsets.load.buffer.size", INT, "5242880", AtLeast(1)),
    _Row("offsets.topic.compression.codec", INT, "0"),
    _Row("producer.purgatory.purge.interval.requests", INT, "1000"),
    _Row("server.max.startup.time.ms", LONG, "9223372036854775807", AtLeast(0)),
    _Row("unstable.api.versions.enable", BOOLEAN, "false"),
    _Row("unstable.feature.versions.enable", BOOLEAN, "false"),
)

_POLICY: Final = (
    _Row("alter.config.policy.class.name", CLASS, None),
    _Row("authorizer.class.name", STRING, ""),
    _Row("client.quota.callback.class", CLASS, None),
    _Row("config.providers", LIST, ""),
    _Row("create.topic.policy.class.name", CLASS, None),
    _Row("remote.log.storage.system.enable", BOOLEAN, "false"),
    _Row("super.users", STRING, ""),
)

DEFINITIONS: Final = (
    *_definitions("Tiered storage is not part of this broker.", _TIERED),
    *_definitions("Security needs listeners other than PLAINTEXT, which this broker does not support yet.", _SECURITY),
    *_definitions("Nothing is polled, and partitions are read in chunks of a fixed size.", _TRANSACTIONS),
    *_definitions(
        "Streams groups are not supported yet; share groups need no threads, buffers or other assignors.", _OTHER_GROUPS
    ),
    *_definitions("It matters only with more than one broker.", _CLUSTER),
    *_definitions(
        "It tunes parts of Kafka that this broker does not have: thread pools, purgatories, buffers, metrics.",
        _MACHINERY,
    ),
    *_definitions("Refused unless empty, because this broker cannot enforce it.", _POLICY, Effect.REFUSED),
)

"""The names of Kafka's client properties (4.3), to tell a misspelling from a property that we do not use."""

_COMMON = """
    bootstrap.servers client.id client.dns.lookup client.rack connections.max.idle.ms default.api.timeout.ms
    request.timeout.ms metadata.max.age.ms metadata.recovery.strategy metadata.recovery.rebootstrap.trigger.ms
    reconnect.backoff.ms reconnect.backoff.max.ms retry.backoff.ms retry.backoff.max.ms
    send.buffer.bytes receive.buffer.bytes socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms
    metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms enable.metrics.push
    auto.include.jmx.reporter config.providers security.protocol security.providers
    sasl.mechanism sasl.jaas.config sasl.username sasl.password sasl.kerberos.service.name sasl.kerberos.kinit.cmd
    sasl.kerberos.min.time.before.relogin sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor
    sasl.client.callback.handler.class sasl.login.callback.handler.class sasl.login.class
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
    sasl.login.retry.backoff.ms sasl.login.retry.backoff.max.ms
    ssl.ca.location ssl.certificate.location ssl.key.location ssl.key.password
    ssl.keystore.location ssl.keystore.password
    ssl.keystore.type ssl.keystore.key ssl.keystore.certificate.chain ssl.truststore.location ssl.truststore.password
    ssl.truststore.type ssl.truststore.certificates ssl.protocol ssl.provider ssl.enabled.protocols ssl.cipher.suites
    ssl.endpoint.identification.algorithm ssl.keymanager.algorithm ssl.trustmanager.algorithm
    ssl.secure.random.implementation ssl.engine.factory.class
"""
COMMON = frozenset(_COMMON.split())

_CONSUMER = """
    group.id group.instance.id group.protocol group.remote.assignor isolation.level check.crcs
    fetch.min.bytes fetch.max.bytes fetch.max.wait.ms max.partition.fetch.bytes max.poll.records max.poll.interval.ms
    heartbeat.interval.ms session.timeout.ms auto.commit.interval.ms auto.offset.reset enable.auto.commit
    allow.auto.create.topics exclude.internal.topics partition.assignment.strategy
    key.deserializer value.deserializer interceptor.classes
    share.acknowledgement.mode share.acquire.mode
"""
CONSUMER = frozenset(_CONSUMER.split())

_PRODUCER = """
    acks batch.size buffer.memory compression.type compression.gzip.level compression.lz4.level compression.zstd.level
    delivery.timeout.ms enable.idempotence linger.ms max.block.ms max.in.flight.requests.per.connection max.request.size
    metadata.max.idle.ms partitioner.class partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms
    partitioner.ignore.keys retries transaction.timeout.ms transactional.id transaction.two.phase.commit.enable
    key.serializer value.serializer interceptor.classes
"""
PRODUCER = frozenset(_PRODUCER.split())

"""The names of all properties that Kafka's consumers, producers and admin clients know, up to Kafka 4.4.

A property in this list is accepted even if it has no effect here (a deserializer's class, how often metrics are
sampled), so that people can use the file that they have. Any other name is a mistake.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_JAVA: Final = """
acks allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset batch.size
bootstrap.controllers bootstrap.resolve.timeout.ms bootstrap.servers buffer.memory buffer.memory.allocation.strategy
check.crcs client.dns.lookup client.id client.rack compression.gzip.level compression.lz4.level compression.type
compression.zstd.level config.providers connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms
enable.auto.commit enable.idempotence enable.metrics.push exclude.internal.topics fetch.max.bytes fetch.max.wait.ms
fetch.min.bytes group.id group.instance.id group.protocol group.remote.assignor heartbeat.interval.ms
interceptor.classes isolation.level key.deserializer key.serializer linger.ms max.block.ms
max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records
max.request.size metadata.cluster.check.enable metadata.max.age.ms metadata.max.idle.ms
metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy metric.reporters metrics.num.samples
metrics.recording.level metrics.sample.window.ms partition.assignment.strategy
partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms partitioner.class
partitioner.ignore.keys partitioner.rack.aware receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms
request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms sasl.client.callback.handler.class sasl.jaas.config
sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.service.name
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism
sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.private.key.file
sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.template.file
sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
sasl.oauthbearer.scope sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
sasl.oauthbearer.token.endpoint.url security.protocol security.providers send.buffer.bytes session.timeout.ms
share.acknowledgement.mode share.acquire.mode socket.connection.setup.timeout.max.ms
socket.connection.setup.timeout.ms ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm
ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.key
ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider
ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location
ssl.truststore.password ssl.truststore.type transaction.timeout.ms transaction.two.phase.commit.enable
transactional.id value.deserializer value.serializer
"""
JAVA: Final = frozenset(_JAVA.split())

LIBRDKAFKA_NAMES: Final = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
"""librdkafka's names, and the Java clients' names for the same."""

OWN: Final = frozenset(
    {"sasl.username", "sasl.password", "sasl.oauthbearer.token", "ssl.certificate.location", "ssl.key.location"}
)
"""Instead of a JAAS configuration, or of one file with certificate and key. librdkafka has these names too."""

KNOWN: Final = JAVA | LIBRDKAFKA_NAMES.keys() | OWN


def unknown(names: Iterable[str]) -> dict[str, str | None]:
    """Those that no Kafka client knows, each with the name that was probably meant, if one is near."""
    found: dict[str, str | None] = {}
    for name in names:
        if name not in KNOWN:
            nearest = get_close_matches(name.lower(), KNOWN, n=1, cutoff=0.75)
            found[name] = nearest[0] if nearest else None
    return found

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Producers, consumers of both protocols, share consumers, transactions, and what an administrator sees of them. */
final class CaptureClients {
    private static final Duration SHORT = Duration.ofMillis(300);

    private final Capture capture;
    private final String topic;

    CaptureClients(Capture capture) {
        this.capture = capture;
        this.topic = capture.topic;
    }

    void all() {
        for (String codec : List.of("none", "lz4")) {
            capture.step("produce with " + codec, () -> produce(codec));
        }
        capture.step("a transaction", this::transaction);
        for (String protocol : List.of("classic", "consumer")) {
            capture.step("a group of the " + protocol + " protocol", () -> consume(protocol));
        }
        capture.step("a share group", this::share);
        capture.step("telemetry", this::telemetry);
    }

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> settings = capture.settings();
        settings.put("delivery.timeout.ms", "6000");
        settings.put("max.block.ms", "6000");
        settings.putAll(more);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(String protocol, String group) {
        Map<String, Object> settings = capture.settings();
        settings.put("group.id", group);
        settings.put("group.protocol", protocol);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        if (capture.round < 10) { // the first version of ListOffsets does not know of it
            settings.put("isolation.level", "read_committed");
        }
        settings.put("fetch.max.wait.ms", "100");
        settings.put("client.rack", "rack-1");
        if (protocol.equals("classic")) {
            settings.put("heartbeat.interval.ms", "100");
            if (capture.round < 2) {
                settings.put("group.instance.id", "instance-1");
            }
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private void produce(String codec) throws Exception {
        try (var producer = producer(Map.of("compression.type", codec))) {
            for (int number = 0; number < 6; number++) {
                producer.send(new ProducerRecord<>(topic, number % 3, "key " + number, "value " + number));
            }
            producer.flush();
        }
    }

    private void transaction() throws Exception {
        Map<String, Object> settings = Map.of("transactional.id", "transaction-" + capture.round);
        try (var producer = producer(settings); var consumer = consumer("classic", "in-transaction");
                Admin admin = Admin.create(capture.settings())) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 0, "key", "aborted")).get();
            capture.step("describe transactions", () -> {
                admin.listTransactions().all().get();
                admin.describeTransactions(List.of("transaction-" + capture.round, "none")).all().get();
            });
            capture.step("describe producers",
                () -> admin.describeProducers(List.of(new TopicPartition(topic, 0))).all().get());
            producer.abortTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, 1, "key", "committed"));
            var offsets = Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1, Optional.of(0), "metadata"));
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
            capture.step("fence", () -> admin.fenceProducers(List.of("transaction-" + capture.round)).all().get());
        }
    }

    private void consume(String protocol) throws Exception {
        String group = protocol + "-group-" + capture.round;
        try (Admin admin = Admin.create(capture.settings())) {
            try (var consumer = consumer(protocol, group)) {
                consumer.subscribe(List.of(topic));
                int seen = 0;
                for (int poll = 0; poll < 20 && seen < 12; poll++) {
                    seen += consumer.poll(SHORT).count();
                }
                consumer.commitSync();
                consumer.committed(consumer.assignment());
                consumer.beginningOffsets(consumer.assignment());
                capture.step("offsets by time", () -> consumer.offsetsForTimes(Map.of(new TopicPartition(topic, 0), 1L)));
                // An offset with an epoch is checked with the leader before it is fetched.
                consumer.seek(new TopicPartition(topic, 0), new OffsetAndMetadata(1, Optional.of(0), ""));
                consumer.poll(SHORT);
                consumer.poll(SHORT);
                describe(admin, group);
            }
            if (protocol.equals("classic")) {
                capture.step("remove members", () -> admin.removeMembersFromConsumerGroup(group,
                    new org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions()).all().get());
            }
            var offsets = Map.of(new TopicPartition(topic, 1), new OffsetAndMetadata(1));
            capture.step("alter offsets", () -> admin.alterConsumerGroupOffsets(group, offsets).all().get());
            capture.step("list offsets", () -> admin.listConsumerGroupOffsets(group).all().get());
            capture.step("delete offsets",
                () -> admin.deleteConsumerGroupOffsets(group, Set.of(new TopicPartition(topic, 1))).all().get());
            capture.step("delete groups", () -> admin.deleteConsumerGroups(List.of(group, "none")).all().get());
        }
    }

    private void describe(Admin admin, String group) {
        capture.step("list groups", () -> admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get());
        capture.step("describe groups", () -> admin.describeConsumerGroups(List.of(group)).all().get());
        capture.step("describe classic groups", () -> admin.describeClassicGroups(List.of(group)).all().get());
    }

    private void share() throws Exception {
        String group = "share-group-" + capture.round;
        Map<String, Object> settings = capture.settings();
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("share.acquire.mode", capture.round == 0 ? "record_limit" : "batch_optimized");
        try (Admin admin = Admin.create(capture.settings())) {
            var resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            var earliest = new AlterConfigOp(
                new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, List.of(earliest))).all().get();
            try (var consumer =
                    new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(topic));
                AcknowledgeType[] types = {AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT,
                    capture.round == 0 ? AcknowledgeType.RENEW : AcknowledgeType.ACCEPT};
                int seen = 0;
                for (int poll = 0; poll < 20 && seen < 8; poll++) {
                    ConsumerRecords<String, String> records = consumer.poll(SHORT);
                    for (ConsumerRecord<String, String> record : records) {
                        consumer.acknowledge(record, types[seen++ % types.length]);
                    }
                    consumer.commitSync();
                }
                capture.step("describe share groups", () -> admin.describeShareGroups(List.of(group)).all().get());
            }
            var partition = new TopicPartition(topic, 0);
            capture.step("list share offsets",
                () -> admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).all().get());
            capture.step("alter share offsets",
                () -> admin.alterShareGroupOffsets(group, Map.of(partition, 1L)).all().get());
            capture.step("delete share offsets",
                () -> admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get());
            capture.step("delete share groups", () -> admin.deleteShareGroups(List.of(group)).all().get());
        }
    }

    private void telemetry() throws Exception {
        Properties properties = new Properties();
        properties.putAll(new HashMap<>(capture.settings()));
        try (Admin admin = Admin.create(properties)) {
            var subscription = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "subscription");
            var metrics = new AlterConfigOp(
                new ConfigEntry("metrics", "org.apache.kafka.producer.connection.creation"), AlterConfigOp.OpType.SET);
            var interval = new AlterConfigOp(new ConfigEntry("interval.ms", "100"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(subscription, List.of(metrics, interval))).all().get();
            try (var producer = producer(Map.of())) {
                producer.partitionsFor(topic);
                producer.clientInstanceId(Duration.ofSeconds(6));
            }
        }
    }
}

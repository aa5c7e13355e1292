import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A queue with two workers. Of every ten records one is released once, one is rejected, one is renewed before it is
 * accepted. Prints how many records were accepted, rejected, accepted after a release, accepted after a renewal, and
 * how many came once too often.
 *
 * Arguments: bootstrap servers, topic, group, number of records, acquire mode.
 */
public final class ShareQueue {
    private static final AtomicInteger done = new AtomicInteger();
    private static final AtomicInteger tooOften = new AtomicInteger();
    private static final Set<String> accepted = ConcurrentHashMap.newKeySet();
    private static final Set<String> rejected = ConcurrentHashMap.newKeySet();
    private static final Set<String> again = ConcurrentHashMap.newKeySet();
    private static final Set<String> renewed = ConcurrentHashMap.newKeySet();
    private static final Set<String> kept = ConcurrentHashMap.newKeySet();

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String topic = arguments[1];
        String group = arguments[2];
        int count = Integer.parseInt(arguments[3]);
        beginWithTheFirst(servers, group);
        fill(servers, topic, count);
        List<Thread> workers = new ArrayList<>();
        for (int number = 0; number < 2; number++) {
            workers.add(new Thread(() -> work(servers, topic, group, arguments[4], count)));
        }
        for (Thread worker : workers) {
            worker.start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        System.out.println(
            accepted.size() + " " + rejected.size() + " " + again.size() + " " + kept.size() + " " + tooOften.get());
    }

    private static void beginWithTheFirst(String servers, String group) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            Collection<AlterConfigOp> change = List.of(new AlterConfigOp(
                new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET));
            admin.incrementalAlterConfigs(Map.of(resource, change)).all().get();
        }
    }

    private static void fill(String servers, String topic, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "batch.size", 500);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; number < count; number++) {
                producer.send(new ProducerRecord<>(topic, String.valueOf(number), String.valueOf(number)));
            }
        }
    }

    private static void work(String servers, String topic, String group, String mode, int count) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("share.acquire.mode", mode);
        settings.put("max.poll.records", "20");
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (done.get() < count) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    consumer.acknowledge(record, answer(record));
                }
                consumer.commitSync().values().forEach(error -> error.ifPresent(found -> {
                    throw found;
                }));
            }
        }
    }

    private static AcknowledgeType answer(ConsumerRecord<String, String> record) {
        String value = record.value();
        char last = value.charAt(value.length() - 1);
        int deliveries = record.deliveryCount().orElseThrow();
        if (last == '3' && deliveries == 1) {
            return AcknowledgeType.RELEASE;
        }
        if (last == '5' && renewed.add(value)) {
            return AcknowledgeType.RENEW;
        }
        Set<String> fate = last == '7' ? rejected : accepted;
        if (!fate.add(value)) {
            tooOften.incrementAndGet();
        }
        if (last == '3') {
            again.add(value);
        }
        if (last == '5') {
            kept.add(value);
        }
        done.incrementAndGet();
        return last == '7' ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT;
    }

    private ShareQueue() {}
}

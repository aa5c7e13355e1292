import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Arguments: bootstrap servers, source topic, target topic, count. Reads, processes and writes in transactions, of
 * which every third is aborted and done again; the offsets are part of them. Then a second producer takes the
 * transactional id over, and the first must notice. Prints how many values the target has, how many of them twice, and
 * how many transactions were aborted.
 */
public final class ExactlyOnce {
    private final String servers;
    private final String source;
    private final String target;
    private final int count;
    private int aborted;

    private ExactlyOnce(String[] arguments) {
        servers = arguments[0];
        source = arguments[1];
        target = arguments[2];
        count = Integer.parseInt(arguments[3]);
    }

    public static void main(String[] arguments) throws Exception {
        ExactlyOnce run = new ExactlyOnce(arguments);
        run.fill();
        run.process();
        run.fence();
        run.report();
    }

    private KafkaProducer<String, String> producer(String transactionalId) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", servers));
        if (transactionalId != null) {
            settings.put("transactional.id", transactionalId);
        }
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private KafkaConsumer<String, String> consumer(String group) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", servers,
            "group.id", group,
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false",
            "max.poll.records", "20",
            "isolation.level", "read_committed");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private void fill() throws Exception {
        try (KafkaProducer<String, String> producer = producer(null)) {
            for (int number = 0; number < count; number++) {
                producer.send(new ProducerRecord<>(source, null, String.valueOf(number)));
            }
        }
    }

    private void process() {
        try (KafkaProducer<String, String> producer = producer("java-" + target);
                KafkaConsumer<String, String> consumer = consumer("group-" + target)) {
            producer.initTransactions();
            consumer.subscribe(List.of(source));
            int done = 0;
            for (int round = 0; done < count; round++) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(1));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
                for (ConsumerRecord<String, String> each : records) {
                    producer.send(new ProducerRecord<>(target, each.value(), each.value()));
                    positions.put(
                        new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
                }
                producer.sendOffsetsToTransaction(positions, consumer.groupMetadata());
                if (round % 3 == 1) {
                    producer.abortTransaction();
                    aborted++;
                    rewind(consumer);
                } else {
                    producer.commitTransaction();
                    done += records.count();
                }
            }
        }
    }

    /** To what was committed: what an aborted transaction committed must not count. */
    private void rewind(KafkaConsumer<String, String> consumer) {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition each : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(each);
            consumer.seek(each, offset == null ? 0 : offset.offset());
        }
    }

    private void fence() throws Exception {
        try (KafkaProducer<String, String> zombie = producer("taken-" + target);
                KafkaProducer<String, String> successor = producer("taken-" + target)) {
            zombie.initTransactions();
            zombie.beginTransaction();
            zombie.send(new ProducerRecord<>(target, "zombie", "zombie")).get();
            successor.initTransactions();
            try {
                zombie.send(new ProducerRecord<>(target, "zombie", "zombie")).get();
                zombie.commitTransaction();
                throw new AssertionError("a fenced producer committed");
            } catch (ProducerFencedException | InvalidProducerEpochException expected) {
                // It may be told at the write already, as a cause, or at the commit.
            } catch (ExecutionException failed) {
                Throwable cause = failed.getCause();
                if (!(cause instanceof ProducerFencedException || cause instanceof InvalidProducerEpochException)) {
                    throw failed;
                }
            }
            successor.beginTransaction();
            successor.send(new ProducerRecord<>(target, "last", "last"));
            successor.commitTransaction();
        } catch (KafkaException closing) {
            if (!(closing instanceof ProducerFencedException)) {
                throw closing;
            }
        }
    }

    private void report() {
        Map<String, Integer> seen = new HashMap<>();
        try (KafkaConsumer<String, String> consumer = consumer("reader-" + target)) {
            List<TopicPartition> all = new ArrayList<>();
            consumer.partitionsFor(target).forEach(each -> all.add(new TopicPartition(target, each.partition())));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (!all.stream().allMatch(each -> consumer.position(each) >= ends.get(each))) {
                for (ConsumerRecord<String, String> each : consumer.poll(Duration.ofSeconds(1))) {
                    seen.merge(each.value(), 1, Integer::sum);
                }
            }
        }
        long twice = seen.values().stream().filter(times -> times > 1).count();
        System.out.println(seen.size() + " " + twice + " " + aborted + " " + (seen.containsKey("zombie") ? 1 : 0));
    }
}

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Arguments: bootstrap servers, topic, count. Writes the records with every codec and reads back exactly those. */
public final class RoundTrip {
    private static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String topic = arguments[1];
        int count = Integer.parseInt(arguments[2]);
        TopicPartition place = new TopicPartition(topic, 0);
        List<ProducerRecord<byte[], byte[]>> written = new ArrayList<>();
        List<Future<RecordMetadata>> acknowledged = new ArrayList<>();
        for (String codec : CODECS) {
            // All else is the client's default: idempotent, acks=all.
            Map<String, Object> settings = Map.of("bootstrap.servers", servers, "compression.type", codec);
            try (KafkaProducer<byte[], byte[]> producer =
                    new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
                for (int number = 0; number < count; number++) {
                    byte[] key = number % 5 == 0 ? null : (codec + number).getBytes(StandardCharsets.UTF_8);
                    byte[] value = number % 7 == 0 ? null : ("value " + number).repeat(number % 40).getBytes(StandardCharsets.UTF_8);
                    ProducerRecord<byte[], byte[]> each = new ProducerRecord<>(topic, 0, 1_700_000_000_000L + number, key, value);
                    each.headers().add(new RecordHeader("codec", codec.getBytes(StandardCharsets.UTF_8)));
                    each.headers().add(new RecordHeader("nothing", (byte[]) null));
                    written.add(each);
                    acknowledged.add(producer.send(each));
                }
            }
        }
        for (int offset = 0; offset < acknowledged.size(); offset++) {
            check(acknowledged.get(offset).get().offset() == offset, "the offset told for record " + offset);
        }
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "auto.offset.reset", "none");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            int read = 0;
            while (read < written.size()) {
                for (ConsumerRecord<byte[], byte[]> found : consumer.poll(Duration.ofSeconds(10))) {
                    ProducerRecord<byte[], byte[]> meant = written.get(read);
                    check(found.offset() == read, "offset " + found.offset() + " at " + read);
                    check(java.util.Arrays.equals(found.key(), meant.key()), "key at " + read);
                    check(java.util.Arrays.equals(found.value(), meant.value()), "value at " + read);
                    check(found.timestamp() == meant.timestamp(), "timestamp at " + read);
                    check(found.headers().equals(meant.headers()), "headers at " + read);
                    read++;
                }
            }
            check(consumer.endOffsets(List.of(place)).get(place) == read, "the end offset");
            check(consumer.offsetsForTimes(Map.of(place, 1_700_000_000_000L + count - 1)).get(place).offset() == count - 1,
                "the offset for a time");
        }
        System.out.println(written.size());
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}

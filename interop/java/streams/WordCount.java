import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Produced;

/**
 * Arguments: bootstrap servers, application id, source topic, target topic, state directory. Counts words with
 * exactly_once_v2 until stdin ends.
 */
public final class WordCount {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, Path.of(arguments[4]).toString());
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 50);
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put("auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[2])
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word)
            .count()
            .mapValues(String::valueOf)
            .toStream()
            .to(arguments[3], Produced.with(Serdes.String(), Serdes.String()));
        CountDownLatch failed = new CountDownLatch(1);
        try (KafkaStreams streams = new KafkaStreams(builder.build(), settings)) {
            streams.setUncaughtExceptionHandler(error -> {
                error.printStackTrace();
                failed.countDown();
                return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
            });
            streams.start();
            while (System.in.read() >= 0) {
                // Whoever started us closes it when we are to stop.
            }
            streams.close(Duration.ofSeconds(30));
        }
        System.exit(failed.getCount() == 0 ? 1 : 0);
    }
}

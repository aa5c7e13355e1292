import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Arguments: bootstrap servers, topic, partitions, assignor (a class; or "uniform" or "range", with which the broker
 * assigns). Members join and leave a group while records flow; in the
 * end each record was read at least once, and, since every member commits what it read before it gives a partition
 * up, exactly once.
 */
public final class Groups {
    private static final int RECORDS_PER_STEP = 300;
    private static final long PATIENCE_MS = 30_000;

    private final String servers;
    private final String topic;
    private final int partitions;
    private final String assignor;
    private final Map<String, AtomicInteger> reads = new ConcurrentHashMap<>();
    private final AtomicInteger partitionsKept = new AtomicInteger();
    private int written;

    private Groups(String[] arguments) {
        servers = arguments[0];
        topic = arguments[1];
        partitions = Integer.parseInt(arguments[2]);
        assignor = arguments[3];
    }

    public static void main(String[] arguments) throws Exception {
        new Groups(arguments).play();
    }

    private void play() throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", servers);
        Map<String, Member> members = new TreeMap<>();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (String step : List.of("+a", "+b", "+c", "-b", "+d", "-a", "-c")) {
                String name = step.substring(1);
                if (step.startsWith("+")) {
                    Member joining = new Member(name);
                    members.put(name, joining);
                    joining.start();
                } else {
                    members.remove(name).leave();
                }
                write(producer);
                await(step + ": partitions shared out evenly", () -> sharedOut(members.values()));
                write(producer);
                await(step + ": all " + written + " read", () -> reads.size() == written);
            }
        }
        for (Member member : members.values()) {
            member.leave();
        }
        long twice = reads.values().stream().filter(count -> count.get() > 1).count();
        System.out.println(written + " " + reads.size() + " " + twice + " " + partitionsKept.get());
    }

    private void write(KafkaProducer<String, String> producer) {
        for (int number = 0; number < RECORDS_PER_STEP; number++) {
            String value = String.valueOf(written++);
            producer.send(new ProducerRecord<>(topic, number % partitions, value, value));
        }
        producer.flush();
    }

    private boolean sharedOut(Collection<Member> members) {
        Set<TopicPartition> all = new TreeSet<>((a, b) -> a.partition() - b.partition());
        int sum = 0;
        for (Member member : members) {
            int held = member.held.size();
            if (held < partitions / members.size() || held > (partitions + members.size() - 1) / members.size()) {
                return false;
            }
            all.addAll(member.held);
            sum += held;
        }
        return sum == partitions && all.size() == partitions;
    }

    private static void await(String what, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (!condition.getAsBoolean()) {
            if (System.currentTimeMillis() > deadline) {
                throw new AssertionError("not reached: " + what);
            }
            Thread.sleep(5);
        }
    }

    private final class Member extends Thread implements ConsumerRebalanceListener {
        final Set<TopicPartition> held = ConcurrentHashMap.newKeySet();
        private final KafkaConsumer<String, String> consumer;
        private final Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
        private volatile boolean leaving;

        Member(String name) {
            super(name);
            setUncaughtExceptionHandler((thread, thrown) -> {
                thrown.printStackTrace();
                System.exit(1);
            });
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", servers);
            settings.put("group.id", topic);
            settings.put("client.id", name);
            if (assignor.equals("uniform") || assignor.equals("range")) {
                settings.put("group.protocol", "consumer");
                settings.put("group.remote.assignor", assignor);
            } else {
                settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
                settings.put("heartbeat.interval.ms", 100);
            }
            settings.put("auto.offset.reset", "earliest");
            settings.put("enable.auto.commit", false);
            consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        }

        @Override
        public void run() {
            consumer.subscribe(List.of(topic), this);
            while (!leaving || !positions.isEmpty()) {
                for (ConsumerRecord<String, String> found : consumer.poll(Duration.ofMillis(50))) {
                    reads.computeIfAbsent(found.value(), value -> new AtomicInteger()).incrementAndGet();
                    positions.put(new TopicPartition(topic, found.partition()), new OffsetAndMetadata(found.offset() + 1));
                }
                try {
                    commit();
                } catch (RebalanceInProgressException poll) {
                    // The next poll completes the rebalance; what was read is committed after it, or when it is revoked.
                    continue;
                }
            }
            consumer.close();
        }

        void leave() throws InterruptedException {
            leaving = true;
            join();
        }

        private void commit() {
            if (!positions.isEmpty()) {
                consumer.commitSync(new HashMap<>(positions));
                positions.clear();
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> gained) {
            partitionsKept.addAndGet(held.size());
            held.addAll(gained);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> lost) {
            commit();
            held.removeAll(new ArrayList<>(lost));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> lost) {
            throw new AssertionError(getName() + " lost " + lost);
        }
    }
}

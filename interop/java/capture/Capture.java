import java.util.HashMap;
import java.util.Map;

/**
 * Has Kafka's own clients say as much as they can, for a proxy that keeps their bytes. Round n names itself
 * `capture-n`: the proxy then hides the newest n versions of every API from it. What cannot be done with older versions
 * fails, is named on stdout, and does not matter.
 *
 * Arguments: bootstrap servers without and with SASL, the number of rounds, a log directory of the broker.
 */
public final class Capture {
    interface Step {
        void run() throws Exception;
    }

    final String servers;
    final String saslServers;
    final String logDirectory;
    final int round;
    final String topic;

    private Capture(String[] arguments, int round) {
        servers = arguments[0];
        saslServers = arguments[1];
        logDirectory = arguments[3];
        this.round = round;
        topic = "topic-" + round;
    }

    public static void main(String[] arguments) throws Exception {
        for (int round = 0; round < Integer.parseInt(arguments[2]); round++) {
            Capture capture = new Capture(arguments, round);
            new CaptureAdmin(capture).before();
            new CaptureClients(capture).all();
            new CaptureAdmin(capture).after();
            System.out.println("round " + round);
        }
        System.exit(0);
    }

    Map<String, Object> settings() {
        return new HashMap<>(Map.of(
            "bootstrap.servers", servers,
            "client.id", "capture-" + round,
            "request.timeout.ms", "4000",
            "default.api.timeout.ms", "6000"));
    }

    Map<String, Object> saslSettings() {
        Map<String, Object> settings = settings();
        settings.put("bootstrap.servers", saslServers);
        settings.put("security.protocol", "SASL_PLAINTEXT");
        settings.put("sasl.mechanism", "PLAIN");
        settings.put("sasl.jaas.config", "org.apache.kafka.common.security.plain.PlainLoginModule required"
            + " username=\"alice\" password=\"wonderland\";");
        return settings;
    }

    void step(String name, Step step) {
        try {
            step.run();
        } catch (Exception failed) {
            Throwable cause = failed.getCause() == null ? failed : failed.getCause();
            System.out.println("round " + round + ", " + name + ": " + cause);
        }
    }
}

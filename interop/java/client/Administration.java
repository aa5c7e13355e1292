import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.DelegationTokenDisabledException;
import org.apache.kafka.common.errors.ElectionNotNeededException;
import org.apache.kafka.common.errors.SecurityDisabledException;
import org.apache.kafka.common.errors.UnsupportedByAuthenticationException;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * What an administrator may ask of one broker, with the newest admin client. Prints the number of answers that were as
 * expected; the first that was not ends it.
 */
public class Administration {
    private static int good = 0;

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String topic = arguments[1];
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        try (Admin admin = Admin.create(properties)) {
            features(admin);
            quorum(admin);
            quotas(admin);
            credentials(admin);
            partitions(admin, topic);
            configs(admin);
            security(admin);
            throttled(admin, servers, topic);
            telemetry(admin, servers);
        }
        System.out.println(good);
    }

    private static void features(Admin admin) throws Exception {
        var described = admin.describeFeatures().featureMetadata().get();
        expect(described.finalizedFeatures().get("metadata.version").maxVersionLevel() == 30);
        expect(described.supportedFeatures().get("eligible.leader.replicas.version").maxVersion() == 1);
        var update = Map.of("eligible.leader.replicas.version",
                new FeatureUpdate((short) 0, FeatureUpdate.UpgradeType.SAFE_DOWNGRADE));
        admin.updateFeatures(update, new UpdateFeaturesOptions().validateOnly(true)).all().get();
        expect(admin.describeFeatures().featureMetadata().get().finalizedFeatures()
                .containsKey("eligible.leader.replicas.version"));
    }

    private static void quorum(Admin admin) throws Exception {
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        expect(quorum.leaderId() == 1 && quorum.voters().size() == 1 && quorum.observers().isEmpty());
        expect(quorum.highWatermark() == quorum.voters().get(0).logEndOffset());
        expect(quorum.nodes().containsKey(1));
    }

    private static void quotas(Admin admin) throws Exception {
        Map<String, String> names = new HashMap<>();
        names.put(ClientQuotaEntity.USER, "somebody");
        names.put(ClientQuotaEntity.CLIENT_ID, null);
        var entity = new ClientQuotaEntity(names);
        var set = new ClientQuotaAlteration.Op("consumer_byte_rate", 5000.0);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(set)))).all().get();
        var found = admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get();
        expect(found.equals(Map.of(entity, Map.of("consumer_byte_rate", 5000.0))));
        var remove = new ClientQuotaAlteration.Op("consumer_byte_rate", null);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(remove)))).all().get();
        expect(admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().isEmpty());
    }

    private static void credentials(Admin admin) throws Exception {
        var info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 8192);
        admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion("eve", info, "secret"))).all().get();
        var described = admin.describeUserScramCredentials(List.of("eve")).description("eve").get();
        expect(described.credentialInfos().equals(List.of(info)));
        admin.alterUserScramCredentials(
                List.of(new UserScramCredentialDeletion("eve", ScramMechanism.SCRAM_SHA_512))).all().get();
        expect(admin.describeUserScramCredentials().users().get().isEmpty());
    }

    private static void partitions(Admin admin, String topic) throws Exception {
        var partition = new TopicPartition(topic, 0);
        var elected = admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get();
        expect(elected.get(partition).get() instanceof ElectionNotNeededException);
        expect(admin.listPartitionReassignments().reassignments().get().isEmpty());
        admin.alterPartitionReassignments(Map.of(partition,
                Optional.of(new org.apache.kafka.clients.admin.NewPartitionReassignment(List.of(1))))).all().get();
        Map<String, LogDirDescription> before = admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1);
        expect(before.size() == 2);
        String home = home(before, partition);
        String target = before.keySet().stream().filter(path -> !path.equals(home)).findFirst().get();
        admin.alterReplicaLogDirs(Map.of(new TopicPartitionReplica(topic, 0, 1), target)).all().get();
        while (!target.equals(home(admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1), partition))) {
            Thread.sleep(20);
        }
        expect(before.get(home).totalBytes().getAsLong() >= before.get(home).usableBytes().getAsLong());
    }

    private static String home(Map<String, LogDirDescription> directories, TopicPartition partition) {
        for (var directory : directories.entrySet()) {
            var replica = directory.getValue().replicaInfos().get(partition);
            if (replica != null && !replica.isFuture()) {
                return directory.getKey();
            }
        }
        return null;
    }

    private static void configs(Admin admin) throws Exception {
        alter(admin, new ConfigResource(ConfigResource.Type.GROUP, "a-group"), "consumer.session.timeout.ms", "50000");
        alter(admin, new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "a-name"), "interval.ms", "1000");
        var logger = new ConfigResource(ConfigResource.Type.BROKER_LOGGER, "1");
        alter(admin, logger, "barnabas.interop", "DEBUG");
        expect(describe(admin, logger).get("barnabas.interop").value().equals("DEBUG"));
        var broker = describe(admin, new ConfigResource(ConfigResource.Type.BROKER, "1"));
        expect(broker.size() > 250 && broker.get("num.partitions").documentation() != null);
        expect(broker.get("num.partitions").type() == ConfigEntry.ConfigType.INT);
        Collection<ConfigResource> listed = admin.listConfigResources().all().get();
        expect(listed.contains(new ConfigResource(ConfigResource.Type.GROUP, "a-group")));
        expect(listed.contains(new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "a-name")));
        delete(admin, new ConfigResource(ConfigResource.Type.GROUP, "a-group"), "consumer.session.timeout.ms");
        delete(admin, new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "a-name"), "interval.ms");
    }

    private static Map<String, ConfigEntry> describe(Admin admin, ConfigResource resource) throws Exception {
        var options = new DescribeConfigsOptions().includeDocumentation(true).includeSynonyms(true);
        Config config = admin.describeConfigs(List.of(resource), options).all().get().get(resource);
        Map<String, ConfigEntry> entries = new HashMap<>();
        config.entries().forEach(entry -> entries.put(entry.name(), entry));
        return entries;
    }

    private static void alter(Admin admin, ConfigResource resource, String name, String value) throws Exception {
        var operation = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(operation))).all().get();
    }

    private static void delete(Admin admin, ConfigResource resource, String name) throws Exception {
        var operation = new AlterConfigOp(new ConfigEntry(name, ""), AlterConfigOp.OpType.DELETE);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(operation))).all().get();
    }

    private static void security(Admin admin) throws Exception {
        try {
            admin.describeAcls(AclBindingFilter.ANY).values().get();
            expect(false);
        } catch (ExecutionException refused) {
            expect(refused.getCause() instanceof SecurityDisabledException);
        }
        try {
            admin.createDelegationToken().delegationToken().get();
            expect(false);
        } catch (ExecutionException refused) {
            expect(refused.getCause() instanceof UnsupportedByAuthenticationException
                    || refused.getCause() instanceof DelegationTokenDisabledException);
        }
    }

    private static void throttled(Admin admin, String servers, String topic) throws Exception {
        var entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, "hasty"));
        var set = new ClientQuotaAlteration.Op("producer_byte_rate", 20000.0);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(set)))).all().get();
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("client.id", "hasty");
        properties.put("batch.size", "1000");
        try (var producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<java.util.concurrent.Future<?>> sent = new ArrayList<>();
            for (int number = 0; number < 250; number++) {
                sent.add(producer.send(new ProducerRecord<>(topic, new byte[1000])));
            }
            for (var each : sent) {
                each.get();
            }
            double throttleMs = 0;
            for (Metric metric : producer.metrics().values()) {
                if (metric.metricName().name().equals("produce-throttle-time-max")) {
                    throttleMs = (double) metric.metricValue();
                }
            }
            expect(throttleMs > 0);
        }
        var remove = new ClientQuotaAlteration.Op("producer_byte_rate", null);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(entity, List.of(remove)))).all().get();
    }

    private static void telemetry(Admin admin, String servers) throws Exception {
        var subscription = new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "everything");
        alter(admin, subscription, "metrics", "*");
        alter(admin, subscription, "interval.ms", "100");
        Properties properties = new Properties();
        properties.put("bootstrap.servers", servers);
        properties.put("client.id", "pushing");
        try (var producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.partitionsFor("__consumer_offsets");
            expect(producer.clientInstanceId(Duration.ofSeconds(20)) != null);
        }
        delete(admin, subscription, "metrics");
        delete(admin, subscription, "interval.ms");
    }

    private static void expect(boolean truth) {
        if (!truth) {
            throw new AssertionError("answer " + (good + 1) + " was not as expected");
        }
        good++;
    }
}

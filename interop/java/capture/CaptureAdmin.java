import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.ListConfigResourcesOptions;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RaftVoterEndpoint;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.quota.ClientQuotaFilterComponent;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** What an administrator asks before there are records and groups, and after. */
final class CaptureAdmin {
    private final Capture capture;
    private final String topic;

    CaptureAdmin(Capture capture) {
        this.capture = capture;
        this.topic = capture.topic;
    }

    void before() {
        try (Admin admin = Admin.create(capture.settings())) {
            capture.step("create topics", () -> admin.createTopics(List.of(
                new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms", "100000")),
                new NewTopic(topic + "-assigned", Map.of(0, List.of(1))))).all().get());
            capture.step("create partitions",
                () -> admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get());
            capture.step("list topics", () -> admin.listTopics().names().get());
            capture.step("describe topics", () -> admin.describeTopics(List.of(topic, "none"),
                new DescribeTopicsOptions().includeAuthorizedOperations(true)).allTopicNames().get());
            capture.step("describe cluster", () -> admin.describeCluster(
                new DescribeClusterOptions().includeAuthorizedOperations(true)).nodes().get());
            configs(admin);
            acls(admin);
            quotas(admin);
            cluster(admin);
        }
        try (Admin admin = Admin.create(capture.saslSettings())) {
            tokens(admin);
        }
    }

    void after() {
        var partition = new TopicPartition(topic, 0);
        try (Admin admin = Admin.create(capture.settings())) {
            capture.step("list offsets", () -> admin.listOffsets(Map.of(partition, OffsetSpec.latest(),
                new TopicPartition(topic, 1), OffsetSpec.forTimestamp(1))).all().get());
            capture.step("max timestamp",
                () -> admin.listOffsets(Map.of(partition, OffsetSpec.maxTimestamp())).all().get());
            capture.step("abort", () -> admin.abortTransaction(
                new AbortTransactionSpec(partition, 0, (short) 0, 0)).all().get());
            capture.step("delete records",
                () -> admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(1))).all().get());
            capture.step("elect leaders", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(partition)).all().get());
            capture.step("reassign", () -> admin.alterPartitionReassignments(
                Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(1))))).all().get());
            capture.step("reassignments", () -> admin.listPartitionReassignments().reassignments().get());
            capture.step("move a log", () -> admin.alterReplicaLogDirs(
                Map.of(new TopicPartitionReplica(topic, 0, 1), capture.logDirectory)).all().get());
            capture.step("log directories", () -> admin.describeReplicaLogDirs(
                List.of(new TopicPartitionReplica(topic, 0, 1))).all().get());
            capture.step("delete topics", () -> admin.deleteTopics(List.of(topic + "-assigned", "none")).all().get());
            capture.step("delete topics", () -> admin.deleteTopics(List.of(topic)).all().get());
        }
    }

    private void configs(Admin admin) {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        var set = new AlterConfigOp(new ConfigEntry("segment.bytes", "2000000"), AlterConfigOp.OpType.SET);
        var delete = new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE);
        capture.step("alter configs",
            () -> admin.incrementalAlterConfigs(Map.of(resource, List.of(set, delete))).all().get());
        capture.step("describe configs", () -> admin.describeConfigs(List.of(resource,
            new ConfigResource(ConfigResource.Type.GROUP, "none")),
            new DescribeConfigsOptions().includeSynonyms(true)).all().get());
        capture.step("documentation", () -> admin.describeConfigs(List.of(
            new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "subscription")),
            new DescribeConfigsOptions().includeDocumentation(true)).all().get());
        capture.step("list config resources", () -> admin.listConfigResources(
            capture.round == 0 ? Set.of() : Set.of(ConfigResource.Type.CLIENT_METRICS),
            new ListConfigResourcesOptions()).all().get());
    }

    private void acls(Admin admin) {
        var binding = new AclBinding(new ResourcePattern(ResourceType.TOPIC, topic, PatternType.PREFIXED),
            new AccessControlEntry("User:bob", "*", AclOperation.READ, AclPermissionType.ALLOW));
        capture.step("create ACLs", () -> admin.createAcls(List.of(binding)).all().get());
        capture.step("describe ACLs", () -> admin.describeAcls(binding.toFilter()).values().get());
        capture.step("delete ACLs", () -> admin.deleteAcls(List.of(binding.toFilter())).all().get());
    }

    private void quotas(Admin admin) {
        Map<String, String> names = new HashMap<>();
        names.put(ClientQuotaEntity.USER, "bob");
        names.put(ClientQuotaEntity.CLIENT_ID, null);
        var entity = new ClientQuotaEntity(names);
        var rate = new ClientQuotaAlteration.Op("request_percentage", 12.5);
        capture.step("alter quotas", () -> admin.alterClientQuotas(
            List.of(new ClientQuotaAlteration(entity, List.of(rate)))).all().get());
        capture.step("describe quotas", () -> admin.describeClientQuotas(ClientQuotaFilter.contains(
            List.of(ClientQuotaFilterComponent.ofEntity(ClientQuotaEntity.USER, "bob")))).entities().get());
        var iterations = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096);
        capture.step("alter SCRAM credentials", () -> admin.alterUserScramCredentials(List.of(
            new UserScramCredentialUpsertion("bob", iterations, "builder"))).all().get());
        capture.step("describe SCRAM credentials",
            () -> admin.describeUserScramCredentials(List.of("bob", "none")).all().get());
        capture.step("delete SCRAM credentials", () -> admin.alterUserScramCredentials(List.of(
            new UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256))).all().get());
    }

    private void cluster(Admin admin) {
        capture.step("features", () -> admin.describeFeatures().featureMetadata().get());
        var upgrade = Map.of("eligible.leader.replicas.version",
            new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.UPGRADE));
        capture.step("update features", () -> admin.updateFeatures(
            upgrade, new UpdateFeaturesOptions().validateOnly(capture.round == 0)).all().get());
        capture.step("quorum", () -> admin.describeMetadataQuorum().quorumInfo().get());
        if (capture.round < 2) { // it has two versions, and waits in vain for the voter
            capture.step("add a voter", () -> admin.addRaftVoter(9, Uuid.ONE_UUID,
                Set.of(new RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 9))).all().get());
        }
        capture.step("remove a voter", () -> admin.removeRaftVoter(9, Uuid.ONE_UUID).all().get());
        capture.step("unregister", () -> admin.unregisterBroker(9).all().get());
    }

    private void tokens(Admin admin) {
        capture.step("tokens", () -> {
            byte[] hmac = admin.createDelegationToken().delegationToken().get().hmac();
            while (admin.describeDelegationToken().delegationTokens().get().isEmpty()) {
                Thread.sleep(20); // the broker has yet to learn of it
            }
            admin.renewDelegationToken(hmac).expiryTimestamp().get();
            admin.expireDelegationToken(hmac).expiryTimestamp().get();
        });
    }
}

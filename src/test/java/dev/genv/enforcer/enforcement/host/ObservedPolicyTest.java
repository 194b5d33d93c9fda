package dev.genv.enforcer.enforcement.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.genv.enforcer.host.HostFacts;
import dev.genv.enforcer.host.Machine;
import dev.genv.enforcer.host.ObservationRequest;
import dev.genv.enforcer.host.UnreachableException;
import dev.genv.enforcer.model.ProblemCode;
import dev.genv.enforcer.observation.ConfiguredUsers.ConfiguredUser;
import dev.genv.enforcer.policy.PolicyValues;
import dev.genv.enforcer.policy.PolicyValues.Kind;
import dev.genv.enforcer.policy.PolicyValues.PolicyKey;
import dev.genv.enforcer.policyfile.PolicyReader;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.fake.FakeTime;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The users and groups of a policy reach the observations. */
class ObservedPolicyTest {
    @TempDir
    Path folder;

    private final List<ObservationRequest> requests = new ArrayList<>();

    /** A machine that answers nothing. */
    private final Machine machine = new Machine() {
        @Override
        public HostFacts observe(ObservationRequest request) throws UnreachableException {
            requests.add(request);
            throw new UnreachableException(ProblemCode.BUSY, "it answers nothing");
        }

        @Override
        public void signal(List<SignalRequest> signals, BiConsumer<SignalRequest, SignalResult> done) {}

        @Override
        public SwapResult swapDevices(String digest, byte[] content) {
            throw new IllegalStateException();
        }
    };

    @Test
    void asksForTheUsersAndGroupsOfThePresentPolicy() throws Exception {
        var settings = new NodeBuilder(folder, Path.of("nvidia-smi"))
                .exempt("root")
                .exemptCgroups(List.of("/kubepods"))
                .settings();
        var host = new ObservedHost(settings, machine, new FakeTime().ticker());
        observe(host, "max_devices: {groups: {phd: 1}, users: {john: 1}}\nexempt: {users: [svc]}\n");
        observe(
                host,
                "exceptions: [{user: bob, max_devices: 1, until: 2100-01-01}, {group: ml, max_devices: 1, until: 2100-01-01}]");
        assertThat(requests.getFirst().users()).containsExactlyInAnyOrder("root", "john", "svc");
        assertThat(requests.getFirst().groups()).containsExactly("phd");
        assertThat(requests.getLast().users()).containsExactlyInAnyOrder("root", "bob");
        assertThat(requests.getLast().groups()).containsExactly("ml");
    }

    private void observe(ObservedHost host, String yaml) throws Exception {
        host.apply(PolicyReader.read(yaml.getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC)
                .at(Instant.parse("2026-11-27T12:00:00Z"), PolicyValues.NONE));
        assertThat(catchThrowable(() -> host.observe(Set.of()))).isInstanceOf(UnreachableException.class);
    }

    @Test
    void knowsWhomOnlyTheEarlierPolicyExempts() {
        var key = new PolicyKey(Kind.EXEMPT_USER, "", "svc");
        var values = PolicyValues.of(List.of(new PolicyValues.Text(key, "exempt")));
        assertThat(ObservedHost.user(key, Objects.requireNonNull(values.all().get(key))))
                .contains(new ConfiguredUser("svc", "the earlier policy", true, true));
    }

    @Test
    void knowsWhichCgroupsOnlyTheEarlierPolicyExempts() throws Exception {
        var ended = new PolicyKey(Kind.EXEMPT_CGROUP, "", "/ended");
        var values = PolicyValues.of(List.of(new PolicyValues.Text(ended, "exempt")))
                .with(PolicyReader.read("exempt: {cgroups: [/slurm]}".getBytes(StandardCharsets.UTF_8), ZoneOffset.UTC)
                        .at(Instant.EPOCH, PolicyValues.NONE));
        assertThat(ObservedHost.cgroups(values, true)).containsExactly("/ended");
        assertThat(ObservedHost.cgroups(values, false)).containsExactly("/slurm");
    }

    @Test
    void thePolicyAddsToTheSettings() {
        var settings = new NodeBuilder(folder, Path.of("nvidia-smi"))
                .exempt("root")
                .exemptCgroups(List.of("/kubepods"))
                .settings();
        var with = settings.with(
                List.of(new ConfiguredUser("svc", "line 1", true)),
                List.of(),
                List.of("/slurm"),
                List.of("/ended"),
                true);
        assertThat(with.exemptCgroups()).containsExactly("/kubepods", "/slurm");
        assertThat(with.earlierCgroups()).containsExactly("/ended");
        assertThat(with.exemptUsers()).containsExactly("root");
        assertThat(with.policyUsers()).extracting(ConfiguredUser::user).containsExactly("svc");
    }
}

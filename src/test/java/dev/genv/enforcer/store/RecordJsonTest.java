package dev.genv.enforcer.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.report.ViolationRecord.ActionNote.Target;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.GpuProcess.Immunity;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.Membership;
import dev.genv.enforcer.model.Membership.MembershipSource;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.Ternary;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Records of other versions, which lack components of this one or have others. */
class RecordJsonTest {
    private record Stored(int number, String text, @Nullable String note, Optional<String> more) {}

    @Test
    void componentThatMayBeNullMayBeMissing() {
        assertThat(RecordJson.read("{\"number\": 1, \"text\": \"a\", \"of_another_version\": {}}", Stored.class))
                .hasValue(new Stored(1, "a", null, Optional.empty()));
    }

    /** Earlier versions wrote two forms. */
    @Test
    void targetsOfEarlierVersionsAreRead() {
        assertThat(RecordJson.read("{\"form\":\"process\",\"host\":\"here\",\"pid\":7}", Target.class))
                .hasValue(new Target("here", 7, null, null));
        var attachment = "{\"form\":\"attachment\",\"host\":\"here\",\"environment\":\"a\",\"device\":2}";
        assertThat(RecordJson.read(attachment, Target.class)).hasValue(new Target("here", null, "a", 2));
    }

    @Test
    void processOfAnEarlierVersionIsRead() {
        var unknown = new Membership.Unknown("so");
        var process = new GpuProcess(new ProcessId(7, 100), 1003L, "python", unknown, List.of());
        var earlier = RecordJson.text(process)
                .replace(",\"excused\":[]", "")
                .replaceFirst(",\"workload\":\\{[^}]*}", "")
                .replace("\"reason\":\"so\"", "\"reason\":\"so\",\"listed\":true");
        assertThat(earlier).contains("listed").doesNotContain("excused", "workload");
        assertThat(RecordJson.read(earlier, GpuProcess.class)).hasValueSatisfying(read -> {
            assertThat(read.inContainerOfRoot()).as("not in the record").isEqualTo(Ternary.UNKNOWN);
            assertThat(read.isNameless()).isFalse();
            assertThat(read)
                    .usingRecursiveComparison()
                    .ignoringFields("workload")
                    .isEqualTo(process);
        });
    }

    @Test
    void workloadAndImmunityOfAnEarlierVersionAreRead() {
        assertThat(RecordJson.read("{\"unit\":\"session-3.scope\"}", Workload.class))
                .hasValueSatisfying(read -> assertThat(read.inContainerOfRoot()).isEqualTo(Ternary.UNKNOWN));
        assertThat(RecordJson.read(
                        "{\"unit\":null,\"container\":{\"id\":\"c\",\"engine\":\"docker\",\"by\":\"CGROUP\"},\"pod\":{\"uid\":\"p\"},"
                                + "\"slurm_job\":{\"id\":\"7\",\"by\":\"ENVIRON\"},\"is_whole\":true}",
                        Workload.class))
                .hasValue(new Workload(null, new Container("c"), new Pod("p"), new SlurmJob("7")));
        var immunity = new Immunity(Immunity.Kind.EXEMPT, "so");
        assertThat(RecordJson.read(RecordJson.text(immunity).replace(",\"is_certain\":true", ""), Immunity.class))
                .hasValue(immunity);
    }

    /** They inferred memberships from other processes than ancestors too. */
    @Test
    void processWhoseMembershipAnEarlierVersionInferredIsRead() {
        var process = new GpuProcess(
                        new ProcessId(7, 100), 1003L, "python", new Membership.InEnvironment("a"), List.of())
                .with(new Membership.InEnvironment("a"), MembershipSource.ANCESTOR);
        for (var source : List.of("LISTED", "SESSION", "CGROUP")) {
            var earlier = RecordJson.text(process).replace("ANCESTOR", source);
            assertThat(earlier).contains(source);
            assertThat(RecordJson.read(earlier, GpuProcess.class)).hasValue(process);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"number\": 1}",
                "{\"text\": \"a\"}",
                "{\"number\": 1, \"text\": null}",
                "{\"number\": null, \"text\": \"a\"}",
                "{\"number\": \"x\", \"text\": \"a\"}",
                "null",
            })
    void recordWithoutAnyOtherComponentIsNotRead(String json) {
        assertThat(RecordJson.read(json, Stored.class)).isEmpty();
    }
}

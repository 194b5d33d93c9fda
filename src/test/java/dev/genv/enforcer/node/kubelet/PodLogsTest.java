package dev.genv.enforcer.node.kubelet;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.PodFacts;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.Reading.Failure;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PodLogsTest {
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
    private static final String OTHER = "45490e76e0878aaa4d9808f7d2eefba37f093c3efbba9838b6d8ab804d9bd814";
    private static final String UID = "2c48913c-b29f-11e7-9350-020968147796";
    private static final String STATIC = "33d556edd3ae8ef21980288cef77ae8b";

    @TempDir
    Path folder;

    private Path logs;
    private PodLogs pods;

    @BeforeEach
    void create() throws IOException {
        var proc = new FakeProc(folder.resolve("proc"));
        logs = Files.createDirectories(proc.hostRoot().resolve("var/log"));
        pods = new PodLogs(new ProcFs(proc.root()));
    }

    @Test
    void returnsTheNamesThatTheCgroupsName() throws Exception {
        pod("ml_train-0_" + UID);
        pod("ml_train-1_" + UID.replace('2', '3'));
        container("train-0_ml_main-" + ID + ".log");
        container("train-1_ml_main-" + OTHER + ".log");
        assertThat(pods.read(List.of(process("0::/kubepods/pod" + UID + "/" + ID + "\n"))))
                .isEqualTo(new PodFacts(List.of("ml_train-0_" + UID), List.of("train-0_ml_main-" + ID + ".log")));
    }

    @Test
    void knowsTheNamesThatSystemdGives() throws Exception {
        pod("ml_train-0_" + UID);
        container("train-0_ml_main-" + ID + ".log");
        var slice =
                "0::/../../kubepods-burstable-pod" + UID.replace('-', '_') + ".slice/cri-containerd-" + ID + ".scope\n";
        assertThat(pods.read(List.of(process(slice))).pods()).containsExactly("ml_train-0_" + UID);
        assertThat(pods.read(List.of(process(slice))).containers()).containsExactly("train-0_ml_main-" + ID + ".log");
    }

    @Test
    void knowsStaticPods() throws Exception {
        pod("kube-system_etcd-node_" + STATIC);
        assertThat(pods.read(List.of(process("0::/kubepods/burstable/pod" + STATIC + "/" + ID + "\n")))
                        .pods())
                .containsExactly("kube-system_etcd-node_" + STATIC);
    }

    @Test
    void readsNothingForProcessesThatAreInNoPod() throws Exception {
        pod("ml_train-0_" + UID);
        container("train-0_ml_main-" + ID + ".log");
        assertThat(pods.read(List.of(process("0::/docker/" + ID + "\n"), unread())))
                .isEqualTo(PodFacts.NONE);
    }

    @Test
    void findsNoneWhereNoKubeletRuns() throws Exception {
        assertThat(pods.read(List.of(process("0::/kubepods/pod" + UID + "/" + ID + "\n"))))
                .isEqualTo(PodFacts.NONE);
    }

    @Test
    void followsLinksWithinTheHost() throws Exception {
        Files.createDirectories(folder.resolve("proc/1/root/data/pods/ml_train-0_" + UID));
        Files.createSymbolicLink(logs.resolve("pods"), Path.of("/data/pods"));
        assertThat(pods.read(List.of(process("0::/kubepods/pod" + UID + "/" + ID + "\n")))
                        .pods())
                .containsExactly("ml_train-0_" + UID);
    }

    private void pod(String name) throws IOException {
        Files.createDirectories(logs.resolve("pods").resolve(name));
    }

    private void container(String name) throws IOException {
        Files.createDirectories(logs.resolve("containers"));
        Files.createSymbolicLink(logs.resolve("containers").resolve(name), Path.of("/nowhere"));
    }

    private static ProcessFacts unread() {
        return facts(Reading.failed(Failure.SKIPPED, ""));
    }

    private static ProcessFacts process(String cgroup) {
        return facts(Reading.of(Bytes.of(cgroup.getBytes(UTF_8))));
    }

    private static ProcessFacts facts(Reading<Bytes> cgroup) {
        var stat = Reading.<Bytes>failed(Failure.ABSENT, "");
        return new ProcessFacts(
                812,
                stat,
                Reading.failed(Failure.ABSENT, ""),
                Reading.failed(Failure.ABSENT, ""),
                Reading.failed(Failure.ABSENT, ""),
                cgroup,
                Reading.failed(Failure.SKIPPED, ""),
                stat);
    }
}

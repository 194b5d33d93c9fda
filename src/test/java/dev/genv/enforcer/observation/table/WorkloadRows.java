package dev.genv.enforcer.observation.table;

import static dev.genv.enforcer.observation.table.DescribedMachine.ALICE;
import static dev.genv.enforcer.observation.table.DescribedMachine.NAMED;
import static dev.genv.enforcer.observation.table.DescribedMachine.NAMED_GID;
import static dev.genv.enforcer.observation.table.DescribedMachine.NAMED_UID;
import static dev.genv.enforcer.observation.table.DescribedMachine.env;
import static dev.genv.enforcer.observation.table.FactRow.row;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.model.Accounts.Match;
import dev.genv.enforcer.model.GpuProcess.User;
import dev.genv.enforcer.model.GpuProcess.User.Source;
import dev.genv.enforcer.model.GpuProcess.Workload;
import dev.genv.enforcer.model.GpuProcess.Workload.Container;
import dev.genv.enforcer.model.GpuProcess.Workload.Pod;
import dev.genv.enforcer.model.GpuProcess.Workload.SlurmJob;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.model.Ternary;
import dev.genv.enforcer.observation.GroupReader.ConfiguredGroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The container, pod, job and unit of process 812, and the account of its uid. */
final class WorkloadRows {
    private static final String ENVIRONMENT = "GENV_ENVIRONMENT_ID=a";
    private static final String ID = "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961";
    private static final String UID = "2c48913c-b29f-11e7-9350-020968147796";
    private static final String POD =
            "/kubepods.slice/kubepods-pod" + UID.replace('-', '_') + ".slice/cri-containerd-" + ID + ".scope";
    private static final Container CONTAINER = new Container(ID);

    static final List<FactRow> ROWS = List.of(
            row("a container", machine -> cgroup(machine, "/system.slice/docker-" + ID + ".scope"))
                    .check(workload(
                            new Workload("/system.slice/docker-" + ID + ".scope", new Container(ID), null, null))),
            row("a process of another allocator", machine -> {
                        machine.exemptCgroups.add("/kubepods.slice");
                        cgroup(machine, POD);
                    })
                    .check(seen -> assertThat(immunity(seen)).isEqualTo("EXEMPT_CGROUP")),
            row("a cgroup that its user names like that of another allocator", machine -> {
                        machine.exemptCgroups.add("/kubepods.slice");
                        cgroup(machine, "/user.slice/user-1003.slice/user@1003.service" + POD);
                    })
                    .check(seen -> assertThat(immunity(seen)).isEqualTo("none")),
            row("a process of an account", _ -> {}).check(account("alice")),
            row("a cgroup that cannot be read", machine -> Files.delete(cgroup(machine)))
                    .check(WorkloadRows::assertUnknownWorkload),
            row("a cgroup that is too long", machine -> cgroup(machine, "/a".repeat(2100)))
                    .check(WorkloadRows::assertUnknownWorkload),
            row("a cgroup that is too long, below one that its user may manage", machine -> {
                        cgroup(machine, "/user.slice/user-1003.slice/user@1003.service" + "/a".repeat(2100));
                    })
                    .check(WorkloadRows::assertUsersOwn),
            row("a cgroup that can be read later no more", machine -> cgroup(machine, POD))
                    .then(machine -> Files.delete(cgroup(machine)))
                    .check(WorkloadRows::assertUnknownWorkload),
            row("a claim of a container below a cgroup that its user may manage", machine -> {
                        cgroup(machine, "/user.slice/user-1003.slice/user@1003.service/docker-" + ID + ".scope");
                    })
                    .check(WorkloadRows::assertUsersOwn),
            row("a user whom only the name service knows, in the first observation", machine -> {
                        machine.nameService();
                        machine.process(812, NAMED_UID, ENVIRONMENT);
                        machine.envs(); // where nothing is recorded
                    })
                    .check(user(NAMED, Source.ACCOUNT)),
            row("the groups of a user whom only the name service knows", machine -> {
                        machine.nameService();
                        machine.groups.add(new ConfiguredGroup("root", "GENV_ENFORCER_MAX_MEMORY_FOR_GROUP"));
                        machine.groups.add(new ConfiguredGroup(NAMED_GID, "GENV_ENFORCER_MAX_MEMORY_FOR_GROUP"));
                        machine.process(812, NAMED_UID, ENVIRONMENT);
                        machine.envs();
                    })
                    .thenUnchanged(1)
                    .check(seen -> {
                        var accounts = seen.details().accounts();
                        assertThat(accounts.isIn("root", NAMED, NAMED_UID)).isEqualTo(Match.NO);
                        assertThat(accounts.isIn(NAMED_GID, NAMED, NAMED_UID)).isEqualTo(Match.YES);
                        assertThat(accounts.isIn("root", "nobody-at-all", null)).isEqualTo(Match.UNKNOWN);
                    }),
            row("another recorded name than that of the name service", machine -> {
                        machine.nameService();
                        machine.process(812, NAMED_UID, ENVIRONMENT);
                        machine.envs(env("a", NAMED_UID, "no-such-user", "812"));
                    })
                    .check(disputed("uid %d is user %s, not no-such-user".formatted(NAMED_UID, NAMED))),
            row("subordinate uids of a user whom only the name service knows", machine -> {
                        machine.nameService();
                        Files.writeString(machine.etc.resolve("subuid"), NAMED + ":100000:65536\n");
                        machine.process(812, 100_001, ENVIRONMENT)
                                .uidMap("0 %d 1".formatted(NAMED_UID), "1 100000 65536");
                    })
                    .thenUnchanged(1)
                    .check(account(NAMED)),
            row("a pod that was observed before", machine -> cgroup(machine, POD))
                    .then(_ -> {})
                    .check(workload(new Workload(POD, CONTAINER, new Pod(UID), null))),
            row("a job in the cgroup", machine -> cgroup(machine, "/system.slice/slurmstepd.scope/job_7/step_0"))
                    .check(workload(new Workload(
                            "/system.slice/slurmstepd.scope/job_7/step_0", null, null, new SlurmJob("7")))),
            row("a job in the environ, which its user can write", machine -> {
                        machine.process(812, ALICE, ENVIRONMENT, "SLURM_JOB_ID=8");
                        cgroup(machine, "/");
                    })
                    .check(workload(new Workload("/", null, null, null))));

    private WorkloadRows() {}

    private static Consumer<Snapshot> disputed(String why) {
        return observation -> assertThat(
                        observation.environments().getFirst().ownership().dispute())
                .isEqualTo(why);
    }

    private static Consumer<Snapshot> user(String name, Source by) {
        return observation ->
                assertThat(observation.processes().getFirst().user()).isEqualTo(new User(name, by));
    }

    private static String immunity(Snapshot seen) {
        var immunity = seen.processes().getFirst().immunity();
        return immunity == null ? "none" : immunity.kind().name();
    }

    private static void cgroup(DescribedMachine machine, String path) throws IOException {
        Files.writeString(machine.proc.root().resolve("812/cgroup"), "0::" + path + "\n");
    }

    private static Path cgroup(DescribedMachine machine) {
        return machine.proc.root().resolve("812/cgroup");
    }

    /** Its uid may be anybody's. */
    private static void assertUnknownWorkload(Snapshot observation) {
        assertThat(observation.processes()).singleElement().satisfies(process -> {
            assertThat(process.inContainerOfRoot()).isEqualTo(Ternary.UNKNOWN);
            assertThat(process.user()).isNull();
        });
    }

    private static void assertUsersOwn(Snapshot observation) {
        assertThat(observation.processes()).singleElement().satisfies(process -> {
            assertThat(process.inContainerOfRoot()).isEqualTo(Ternary.NO);
            assertThat(process.userName()).isEqualTo("alice");
        });
    }

    private static Consumer<Snapshot> account(@Nullable String account) {
        return observation ->
                assertThat(observation.processes().getFirst().userName()).isEqualTo(account);
    }

    private static Consumer<Snapshot> workload(@Nullable Workload workload) {
        return observation ->
                assertThat(observation.processes().getFirst().workload()).isEqualTo(workload);
    }
}

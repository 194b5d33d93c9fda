package dev.genv.enforcer.remote.genv;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.host.UnreachableException;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.plan.Action;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;

/** Actions on a machine with genv that was observed before. */
abstract class GenvExecutionSuite extends GenvMachineSuite {
    final Map<Action, Result> results = new LinkedHashMap<>();
    Snapshot snapshot;

    @BeforeEach
    void observeSnapshot() throws Exception {
        snapshot = observe(SNAPSHOT).snapshot();
        connection.forgetRequests();
    }

    void execute(Action... actions) throws UnreachableException, InterruptedException {
        results.clear();
        host.execute(List.of(actions), results::put);
    }

    void assertOutcomes(Outcome... outcomes) {
        assertThat(results.values()).extracting(Result::outcome).containsExactlyInAnyOrder(outcomes);
    }

    Action.Terminate terminate(int pid) {
        return new Action.Terminate("gpu-1", process(pid));
    }

    GpuProcess process(int pid) {
        return snapshot.processes().stream()
                .filter(process -> process.pid() == pid)
                .findFirst()
                .orElseThrow();
    }

    Environment environment(String eid) {
        return requireNonNull(snapshot.environmentsById().get(eid));
    }

    Action.Detach detach(String eid, int device) {
        var attachment = requireNonNull(snapshot.devicesByIndex().get(device)).attachments().stream()
                .filter(each -> each.eid().equals(eid))
                .findFirst()
                .orElseThrow();
        return new Action.Detach("gpu-1", environment(eid), device, attachment);
    }
}

package dev.genv.enforcer.node.proc;

import com.fasterxml.jackson.core.JsonFactory;
import dev.genv.enforcer.genv.DevicesFile;
import dev.genv.enforcer.genv.EnvsFile;
import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.LivenessFacts;
import dev.genv.enforcer.host.StateFacts.StateFile;
import dev.genv.enforcer.model.Accounts;
import dev.genv.enforcer.model.Environment;
import dev.genv.enforcer.observation.Findings;
import dev.genv.enforcer.observation.LiveState;
import dev.genv.enforcer.observation.StateParser.State;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Reads which processes of environments are alive. */
abstract class LivenessFixture {
    final FakeProc proc;
    final LivenessReader reader;
    final Findings findings = new Findings();

    LivenessFixture(Path folder) {
        proc = new FakeProc(folder);
        reader = new LivenessReader(new ProcFs(folder));
    }

    boolean isAlive(List<Integer> pids, List<String> kernels) throws IOException {
        var environment = environment(pids, kernels);
        return !alive(List.of(environment)).isEmpty();
    }

    List<Environment> alive(List<Environment> environments) throws IOException {
        return alive(reader.read(List.of(envs(environments))), environments);
    }

    List<Environment> alive(LivenessFacts facts, List<Environment> environments) {
        return live(facts, environments).environments();
    }

    LiveState live(LivenessFacts facts, List<Environment> environments) {
        var state = new State(
                new State.File.Present<>(new EnvsFile(environments, List.of())),
                new State.File.Present<>(DevicesFile.EMPTY));
        return LiveState.of(state, facts, Accounts.NONE, Set.of(), findings);
    }

    static StateFile envs(List<Environment> environments) throws IOException {
        var bytes = new ByteArrayOutputStream();
        try (var out = new JsonFactory().createGenerator(bytes)) {
            EnvsFile.write(environments, out);
        }
        return new StateFile.Present(Bytes.of(bytes.toByteArray()));
    }

    static Environment environment(List<Integer> pids, List<String> kernels) {
        var config = new Environment.Config(null, null, null);
        return new Environment("15971", 1000L, "alice", "", config, pids, kernels);
    }
}

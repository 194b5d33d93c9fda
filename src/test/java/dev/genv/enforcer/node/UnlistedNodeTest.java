package dev.genv.enforcer.node;

import dev.genv.enforcer.enforcement.host.ObservedHost;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.model.Snapshot;
import dev.genv.enforcer.policy.Action;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.UnlistedSuite;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeProc;
import dev.genv.enforcer.testsupport.linux.DeviceFileHolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.io.TempDir;

/** Unlisted processes on the node. */
class UnlistedNodeTest extends UnlistedSuite {
    private final Path proc;
    private final FakeNvidiaSmi smi;
    private final ObservedHost host;

    UnlistedNodeTest(@TempDir Path folder) throws IOException {
        var fake = new FakeProc(folder.resolve("proc"));
        fake.writeSelf("000001ffffffffff", "");
        fake.hostRoot();
        proc = fake.root();
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(1);
        DeviceFileHolder.write(proc, FakeNvidiaSmi.uuid(0));
        host = new NodeBuilder(folder.resolve("genv"), smi.path()).proc(proc).host();
    }

    @Override
    protected Path proc() {
        return proc;
    }

    @Override
    protected FakeNvidiaSmi smi() {
        return smi;
    }

    @Override
    protected Snapshot observe() throws Exception {
        return host.observe(Set.of());
    }

    @Override
    protected Result execute(Action action) throws Exception {
        var results = new ArrayList<Result>();
        host.execute(List.of(action), (_, result) -> results.add(result));
        return results.getFirst();
    }
}

package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** What is read of a process when relations are gathered. */
final class DescribedRelations {
    private DescribedRelations() {}

    static ProcessFacts of(ProcessFacts facts, @Nullable FakeProcess process) {
        if (process == null) {
            return facts;
        }
        return new ProcessFacts(
                facts.pid(),
                facts.before(),
                facts.uid(),
                facts.environ(),
                facts.executable(),
                facts.cgroup(),
                Reading.of(Bytes.of(Integer.toString(facts.pid()).getBytes(StandardCharsets.US_ASCII))),
                facts.after());
    }
}

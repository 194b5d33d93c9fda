package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.testsupport.fake.FakeProc.FakeProcess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import org.jspecify.annotations.Nullable;

/** What is read of a process when relations are gathered. */
final class DescribedRelations {
    private DescribedRelations() {}

    static ProcessFacts of(ProcessFacts facts, @Nullable FakeProcess process) throws IOException {
        if (process == null) {
            return facts;
        }
        return new ProcessFacts(
                facts.pid(),
                facts.before(),
                facts.uid(),
                facts.environ(),
                facts.executable(),
                Reading.of(Bytes.of(Files.readAllBytes(process.file("cgroup")))),
                Reading.of(Bytes.of(Integer.toString(facts.pid()).getBytes(StandardCharsets.US_ASCII))),
                facts.after());
    }
}

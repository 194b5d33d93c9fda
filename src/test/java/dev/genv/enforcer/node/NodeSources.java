package dev.genv.enforcer.node;

import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.model.problem.ProblemCode;
import dev.genv.enforcer.node.gpu.NvidiaSmi;
import dev.genv.enforcer.node.gpu.SourceSelector;
import dev.genv.enforcer.node.gpu.nvml.NvmlSource;
import dev.genv.enforcer.observation.Observation;
import dev.genv.enforcer.testsupport.NodeBuilder;
import dev.genv.enforcer.testsupport.TestTimeouts;
import dev.genv.enforcer.testsupport.fake.FakeNvidiaSmi;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import dev.genv.enforcer.testsupport.linux.Child;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;

/** A library and a program that describe the same machine to a node. */
abstract class NodeSources {
    static final long MEBIBYTE = 1 << 20;
    static final SourceSelector.Options NVML = new SourceSelector.Options(true, false, true);
    final Path folder;
    final FakeNvidiaSmi smi;
    final FakeNvml nvml;
    final Child first = Child.withEnvironment(Map.of());
    final Child second = Child.withEnvironment(Map.of());

    NodeSources(Path folder) throws IOException {
        this.folder = folder;
        smi = new FakeNvidiaSmi(folder.resolve("bin")).gpus(2);
        nvml = new FakeNvml(folder.resolve("lib")).gpus(2);
    }

    @AfterEach
    void endProcesses() throws Exception {
        first.close();
        second.close();
    }

    void list(int gpu, Child process, long mebibytes) throws IOException {
        smi.process(gpu, process.pid(), Long.toString(mebibytes));
        nvml.process(gpu, process.pid(), mebibytes * MEBIBYTE);
    }

    void listOfInstance(Child process, long mebibytes, int instance) throws IOException {
        smi.process(0, process.pid(), Long.toString(mebibytes));
        nvml.line("process 0 c %d %d %d 0".formatted(process.pid(), mebibytes * MEBIBYTE, instance));
    }

    Observation observeByNvmlAlone() throws Exception {
        return observe(selector(NVML, folder.resolve("none")));
    }

    Observation observe(SourceSelector.Options options) throws Exception {
        return observe(selector(options, smi.path()));
    }

    Observation observe(SourceSelector source) throws Exception {
        var host =
                new NodeBuilder(folder.resolve("genv"), smi.path()).gpus(source).host();
        return host.observe(Set.of());
    }

    SourceSelector selector(SourceSelector.Options options, Path tool) {
        return new SourceSelector(
                options,
                new NvmlSource(nvml.path().toString(), TestTimeouts.HANG),
                new NvidiaSmi(tool.toString(), TestTimeouts.HANG));
    }

    static List<ProblemCode> codes(Observation observation) {
        return observation.snapshot().problems().stream()
                .map(Problem::code)
                .filter(code -> code != ProblemCode.MISSING_PRIVILEGE)
                .distinct()
                .toList();
    }
}

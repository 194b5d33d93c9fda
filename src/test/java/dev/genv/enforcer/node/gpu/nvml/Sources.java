package dev.genv.enforcer.node.gpu.nvml;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.facts.NvmlFacts;
import dev.genv.enforcer.facts.NvmlFacts.Device;
import dev.genv.enforcer.facts.NvmlFacts.Failed;
import dev.genv.enforcer.facts.NvmlFacts.Listed;
import dev.genv.enforcer.testsupport.fake.FakeNvml;
import java.time.Duration;
import java.util.List;

/** Sources over fake libraries, and what they read. */
final class Sources {
    private static final Duration LONG = Duration.ofMinutes(2);

    private Sources() {}

    static NvmlSource of(FakeNvml nvml) {
        return new NvmlSource(nvml.path().toString(), LONG);
    }

    static List<Device> devices(NvmlFacts facts) {
        assertThat(facts).isInstanceOf(Listed.class);
        return ((Listed) facts).devices();
    }

    static Failed failure(NvmlFacts facts) {
        assertThat(facts).isInstanceOf(Failed.class);
        return (Failed) facts;
    }
}

package dev.genv.enforcer.observation.table;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.ProcessFacts.EnvironFacts;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/** What is read of an environ. */
final class DescribedEnviron {
    private DescribedEnviron() {}

    static EnvironFacts facts(String... entries) {
        var size = Arrays.stream(entries).mapToInt(entry -> entry.length() + 1).sum();
        return new EnvironFacts(size, last("GENV_ENVIRONMENT_ID=", entries), "", true, last("SLURM_JOB_ID=", entries));
    }

    private static Bytes last(String variable, String... entries) {
        var value = List.of(entries).reversed().stream()
                .filter(entry -> entry.startsWith(variable))
                .map(entry -> entry.substring(variable.length()))
                .findFirst()
                .orElse("");
        return Bytes.of(value.getBytes(StandardCharsets.UTF_8));
    }
}

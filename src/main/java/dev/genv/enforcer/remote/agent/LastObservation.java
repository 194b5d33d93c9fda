package dev.genv.enforcer.remote.agent;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.HostFacts;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.ProcessFacts.EnvironFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.facts.StateFacts.StateFile;
import dev.genv.enforcer.format.ProcStat;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.ImmunityRules;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What actions need from the observation that they are based on.
 *
 * @param readOnlyReason why no action may be executed; null if actions may be executed
 * @param environs as they were read, by process
 * @param devices {@code devices.json}; null if it was not read
 * @param ticks when the state was read, in clock ticks since that boot
 * @param boot the boot id
 * @param nanos when the observation began, as {@link System#nanoTime} of the service
 */
record LastObservation(
        @Nullable String readOnlyReason,
        ImmunityRules immunity,
        Map<ProcessId, EnvironFacts> environs,
        @Nullable Bytes devices,
        long ticks,
        String boot,
        long nanos) {

    static LastObservation of(HostFacts facts, @Nullable String readOnlyReason, ImmunityRules immunity, long nanos) {
        return new LastObservation(
                readOnlyReason,
                immunity,
                environs(facts),
                facts.state().devices() instanceof StateFile.Present(var content) ? content : null,
                facts.machine().beforeState(),
                facts.machine().bootId(),
                nanos);
    }

    private static Map<ProcessId, EnvironFacts> environs(HostFacts facts) {
        var environs = new HashMap<ProcessId, EnvironFacts>();
        for (var process : facts.processes()) {
            if (process.environ() instanceof Reading.Value<EnvironFacts>(var environ)) {
                startTime(process, environs, environ);
            }
        }
        return environs;
    }

    private static void startTime(ProcessFacts process, Map<ProcessId, EnvironFacts> environs, EnvironFacts environ) {
        if (process.before() instanceof Reading.Value<Bytes>(var stat)) {
            ProcStat.tryParse(stat.text())
                    .ifPresent(known -> environs.put(new ProcessId(process.pid(), known.startTime()), environ));
        }
    }
}

package dev.genv.enforcer.observation;

import dev.genv.enforcer.facts.Bytes;
import dev.genv.enforcer.facts.HostFacts;
import dev.genv.enforcer.facts.ProcessFacts;
import dev.genv.enforcer.facts.Reading;
import dev.genv.enforcer.format.linux.Cgroup;
import dev.genv.enforcer.observation.membership.RelatedProcess;
import dev.genv.enforcer.observation.membership.RelatedProcesses;
import java.util.Optional;
import java.util.stream.Stream;

/** The processes of an observation, as far as they can be witnesses for the membership of one another. */
record RelatedFacts(RelatedProcesses processes) {
    private static final String FIRST_PROCESS = "1";

    static RelatedFacts of(HostFacts facts) {
        return new RelatedFacts(RelatedProcesses.of(
                Stream.concat(facts.processes().stream(), facts.related().stream())
                        .flatMap(process -> related(process).stream())
                        .toList(),
                facts.relatedIsComplete()));
    }

    Optional<RelatedProcess> of(ObservedProcess process) {
        return Optional.ofNullable(processes.byPid().get(process.id().pid()))
                .filter(related -> related.id().equals(process.id()));
    }

    private static Cgroup cgroup(Reading<Bytes> reading) {
        return reading instanceof Reading.Value<Bytes>(var content) && content.length() < ProcessFacts.LARGEST_CGROUP
                ? Cgroup.parse(content.text())
                : Cgroup.UNKNOWN; // a longer one was cut off
    }

    private static Optional<RelatedProcess> related(ProcessFacts facts) {
        if (!(ProcessIdentity.of(facts) instanceof ProcessIdentity.Present(var process)) || process.uid() == null) {
            return Optional.empty();
        }
        var pids = facts.namespacePids() instanceof Reading.Value<Bytes>(var value)
                ? value.text().strip().split("\\s+")
                : new String[0];
        return Optional.of(new RelatedProcess(
                process.id(),
                process.uid(),
                process.relations(),
                process.environ(),
                cgroup(facts.cgroup()),
                pids.length,
                pids.length > 0 && pids[pids.length - 1].equals(FIRST_PROCESS)));
    }
}

package dev.genv.enforcer.config;

import dev.genv.enforcer.config.settings.Settings;
import dev.genv.enforcer.enforcement.report.CycleReport;
import dev.genv.enforcer.journal.DiskPast;
import dev.genv.enforcer.journal.DiskRecording;
import dev.genv.enforcer.model.problem.Problem;
import dev.genv.enforcer.recording.FleetRecorder;
import dev.genv.enforcer.recording.FleetRecording;
import dev.genv.enforcer.recording.past.RecordedPast;
import jakarta.annotation.PreDestroy;
import jakarta.enterprise.context.Dependent;
import jakarta.enterprise.inject.Produces;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;

/** Records the observations of the cycles in the folder of the journal, if one is set. */
@Singleton
class RecordingWiring {
    private final Settings settings;
    private final Optional<FleetRecording> recording;

    RecordingWiring(Settings settings) {
        this.settings = settings;
        recording = settings.journal()
                .journalDir()
                .map(directory -> new FleetRecording(
                        new FleetRecorder(settings.general().interval()),
                        new DiskRecording(directory, JournalWiring.limits(settings))));
    }

    @Produces
    @Dependent
    Optional<RecordedPast> past() {
        return settings.journal().journalDir().map(DiskPast::new);
    }

    /** Returns what is wrong with the recording. */
    List<Problem> problems() {
        return recording.map(FleetRecording::problems).orElse(List.of());
    }

    void record(CycleReport report) {
        recording.ifPresent(each -> each.record(report));
    }

    @PreDestroy
    void close() {
        recording.ifPresent(FleetRecording::close);
    }
}

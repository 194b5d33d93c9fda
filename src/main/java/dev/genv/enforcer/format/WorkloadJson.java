package dev.genv.enforcer.format;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.genv.enforcer.model.workload.Container;
import dev.genv.enforcer.model.workload.Pod;
import dev.genv.enforcer.model.workload.SlurmJob;
import dev.genv.enforcer.model.workload.Workload;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** The part of a process in a snapshot that tells to which workload it belongs. genv has no such part. */
final class WorkloadJson {
    private WorkloadJson() {}

    /** Writes the field {@code workload}. */
    static void write(@Nullable Workload workload, JsonGenerator out) throws IOException {
        if (workload == null) {
            out.writeNullField("workload");
            return;
        }
        out.writeObjectFieldStart("workload");
        out.writeStringField("unit", workload.unit());
        write(workload.container(), out);
        write(workload.pod(), out);
        write(workload.slurmJob(), out);
        out.writeEndObject();
    }

    private static void write(@Nullable Container container, JsonGenerator out) throws IOException {
        if (container == null) {
            out.writeNullField("container");
            return;
        }
        out.writeObjectFieldStart("container");
        out.writeStringField("id", container.id());
        out.writeStringField("engine", container.engine());
        out.writeStringField("by", container.by().label());
        out.writeEndObject();
    }

    private static void write(@Nullable Pod pod, JsonGenerator out) throws IOException {
        if (pod == null) {
            out.writeNullField("pod");
            return;
        }
        out.writeObjectFieldStart("pod");
        out.writeStringField("uid", pod.uid());
        out.writeEndObject();
    }

    private static void write(@Nullable SlurmJob job, JsonGenerator out) throws IOException {
        if (job == null) {
            out.writeNullField("slurm_job");
            return;
        }
        out.writeObjectFieldStart("slurm_job");
        out.writeStringField("id", job.id());
        out.writeStringField("by", job.by().label());
        out.writeEndObject();
    }
}

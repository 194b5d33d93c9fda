package dev.genv.enforcer.observation.gpu;

import dev.genv.enforcer.gpu.GpuQuery;
import dev.genv.enforcer.host.GpuFacts;
import dev.genv.enforcer.host.GpuFacts.ToolOutput;
import dev.genv.enforcer.host.Reading;
import dev.genv.enforcer.model.Found;
import dev.genv.enforcer.model.Problem;
import dev.genv.enforcer.model.ProblemCode;
import java.util.Optional;

/**
 * Whether this container could use the GPUs since the service was started. Access that worked returns with a new container. Access that
 * never worked does not, so restarts would follow each other for ever.
 */
public final class GpuAccess {
    private static final String ADVICE =
            "this container has had no access to the GPUs since the service was started: set no-cgroups = false in"
                    + " /etc/nvidia-container-runtime/config.toml and restart the engine, or give it the devices with"
                    + " --device; under a rootless engine, use one that runs as root";

    private boolean worked;

    /** Records a listing, and returns it with another problem if the access to the GPUs was denied and never worked. */
    public Found<GpuListing> review(Found<GpuListing> found, GpuFacts facts, boolean driverIsLoaded) {
        worked |= !found.value().devices().isEmpty();
        var denial = worked ? Optional.<String>empty() : denial(facts, driverIsLoaded);
        return denial.map(reason -> denied(found, reason)).orElse(found);
    }

    private static Found<GpuListing> denied(Found<GpuListing> found, String reason) {
        var problem = new Problem(ProblemCode.GPU_ACCESS_DENIED, reason + ": " + ADVICE);
        var problems = found.problems().stream()
                .map(other -> isReplaced(other.code()) ? problem : other)
                .toList();
        return new Found<>(found.value(), problems, found.missing());
    }

    private static boolean isReplaced(ProblemCode code) {
        return code == ProblemCode.GPU_TOOL_FAILED || code == ProblemCode.GPU_NEEDS_NEW_CONTAINER;
    }

    private static Optional<String> denial(GpuFacts facts, boolean driverIsLoaded) {
        return facts.processes() instanceof Reading.Value<ToolOutput>(var output)
                ? GpuQuery.denial(
                        output.exitCode(),
                        output.stdout().text(),
                        output.stderr().text(),
                        driverIsLoaded)
                : Optional.empty();
    }
}

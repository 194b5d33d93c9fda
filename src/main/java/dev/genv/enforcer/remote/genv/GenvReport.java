package dev.genv.enforcer.remote.genv;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.enforcement.machine.Machine.Instruction;
import dev.genv.enforcer.format.DevicesFile.AttachmentId;
import dev.genv.enforcer.format.GenvSnapshot;
import dev.genv.enforcer.format.json.GenvJson;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The input of {@code genv usage execute}, by a snapshot that was taken immediately before: {@code {"terminate": {"processes": […]},
 * "detach": {"0": {"envs": […]}}}}. genv recognises an object by its exact set of keys, so the report contains objects as genv printed them.
 */
final class GenvReport {
    /** Users control the size of the object of an environment, which is sent once for each of its devices. */
    private static final int LONGEST_OBJECT = 64 << 10;

    private static final Set<String> PROCESS = Set.of("pid", "used_gpu_memory", "eid");
    private static final Set<String> USE = Set.of("index", "gpu_memory");
    private static final Set<String> ENVIRONMENT =
            Set.of("eid", "uid", "creation", "username", "config", "pids", "kernel_ids");

    private final GenvSnapshot now;
    private final List<Instruction> orders;
    private final List<JsonNode> processes = new ArrayList<>();
    private final Map<Integer, Map<String, JsonNode>> environments = new TreeMap<>();

    /**
     * Creates an empty report.
     *
     * @param orders all orders of this execution: genv removes all attachments of an environment to a device at once
     */
    GenvReport(GenvSnapshot now, List<Instruction> orders) {
        this.now = now;
        this.orders = List.copyOf(orders);
    }

    /** Adds an order if the snapshot confirms it; otherwise returns its result. */
    Optional<Result> add(Instruction order) {
        return Optional.ofNullable(
                switch (order) {
                    case Instruction.Terminate terminate -> add(terminate);
                    case Instruction.Detach(var attachment) -> add(attachment);
                });
    }

    /** Returns the report as genv itself sends it, without a line end. */
    String line() {
        var report = JsonNodeFactory.instance.objectNode();
        report.putObject("terminate").putArray("processes").addAll(processes);
        var detach = report.putObject("detach");
        environments.forEach((device, each) ->
                detach.putObject(Integer.toString(device)).putArray("envs").addAll(each.values()));
        return GenvJson.writeLine(report);
    }

    private @Nullable Result add(Instruction.Terminate order) {
        var pid = order.process().pid();
        if (pid <= 1) {
            return new Result(Outcome.SKIPPED_PROTECTED, "pid %d is never terminated".formatted(pid));
        }
        if (order.kill()) {
            return Result.failed("genv sends only SIGTERM, and this process already received it");
        }
        var refusal = order.check().refusal(now);
        if (refusal.isPresent()) {
            return refusal.get();
        }
        var object = now.process(pid).filter(GenvReport::isProcess);
        object.ifPresent(processes::add);
        return object.isPresent() ? null : Result.failed("genv would not accept it as a process");
    }

    private @Nullable Result add(AttachmentId attachment) {
        var device = attachment.device();
        var held = new HashSet<@Nullable String>();
        now.attachments(attachment.eid(), device).forEach(each -> held.add(each.time()));
        if (!held.contains(attachment.time())) {
            return Result.of(Outcome.ALREADY_DETACHED);
        }
        if (!orderedTimes(attachment.eid(), device).containsAll(held)) {
            return Result.failed(
                    "it was attached more than once, and genv would detach it from a device that was not checked");
        }
        if (!now.isInOrder(device)) {
            return Result.failed("devices.json does not list the devices in order: genv would detach another one");
        }
        var object = now.environment(attachment.eid()).filter(GenvReport::isEnvironment);
        object.ifPresent(entry ->
                environments.computeIfAbsent(device, _ -> new LinkedHashMap<>()).put(attachment.eid(), entry));
        return object.isPresent()
                ? null
                : Result.failed("genv would not accept it as an environment, or it is too long");
    }

    /** Returns the times of all attachments of an environment to a device that are to be removed. */
    private Set<@Nullable String> orderedTimes(String eid, int device) {
        var times = new HashSet<@Nullable String>();
        for (var order : orders) {
            if (order instanceof Instruction.Detach(AttachmentId(var from, var environment, var time))
                    && environment.equals(eid)
                    && from == device) {
                times.add(time);
            }
        }
        return times;
    }

    private static boolean isProcess(JsonNode object) {
        for (var use : object.path("used_gpu_memory")) {
            if (!hasExactly(use, USE)) {
                return false;
            }
        }
        return hasExactly(object, PROCESS);
    }

    private static boolean isEnvironment(JsonNode object) {
        return hasExactly(object, ENVIRONMENT) && GenvJson.writeLine(object).length() <= LONGEST_OBJECT;
    }

    private static boolean hasExactly(JsonNode object, Set<String> keys) {
        return object.size() == keys.size() && keys.stream().allMatch(object::has);
    }
}

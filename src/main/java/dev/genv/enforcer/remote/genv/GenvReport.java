package dev.genv.enforcer.remote.genv;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import dev.genv.enforcer.enforcement.host.Outcome;
import dev.genv.enforcer.enforcement.host.Result;
import dev.genv.enforcer.format.json.GenvJson;
import dev.genv.enforcer.model.GpuProcess;
import dev.genv.enforcer.observation.IdentityFlapping;
import dev.genv.enforcer.policy.plan.Action;
import dev.genv.enforcer.policy.plan.Signal;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
    private final Map<Integer, GpuProcess> present = new LinkedHashMap<>();
    private final IdentityFlapping identityFlapping;
    private final List<JsonNode> processes = new ArrayList<>();
    private final Map<Integer, Map<String, JsonNode>> environments = new TreeMap<>();

    /**
     * Creates an empty report.
     *
     * @param present the processes of that snapshot, with their memberships
     * @param identityFlapping the history of the processes of this host
     */
    GenvReport(GenvSnapshot now, List<GpuProcess> present, IdentityFlapping identityFlapping) {
        this.now = now;
        this.identityFlapping = identityFlapping;
        present.forEach(process -> this.present.put(process.pid(), process));
    }

    /** Adds the actions that the snapshot confirms, and returns the results of the others. */
    Map<Action, Result> add(List<Action> actions) {
        var refused = new LinkedHashMap<Action, Result>();
        for (var action : actions) {
            var result = switch (action) {
                case Action.Terminate terminate -> add(terminate);
                case Action.Detach detach -> add(detach, actions);
            };
            if (result != null) {
                refused.put(action, result);
            }
        }
        return refused;
    }

    boolean isEmpty() {
        return processes.isEmpty() && environments.isEmpty();
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

    private @Nullable Result add(Action.Terminate action) {
        var checked = action.process();
        if (checked.pid() <= 1) {
            return new Result(Outcome.SKIPPED_PROTECTED, "pid %d is never terminated".formatted(checked.pid()));
        }
        if (action.signal() == Signal.KILL) {
            return Result.failed("genv sends only SIGTERM, and this process already received it");
        }
        var process = present.get(checked.pid());
        if (process == null) {
            return Result.of(Outcome.ALREADY_GONE);
        }
        if (!process.devices().equals(checked.devices())
                || identityFlapping.isOther(checked, process.uid(), process.membership())) {
            return Result.failed("its identity has changed since the rules were checked");
        }
        var object = now.process(checked.pid()).filter(GenvReport::isProcess);
        object.ifPresent(processes::add);
        return object.isPresent() ? null : Result.failed("genv would not accept it as a process");
    }

    private @Nullable Result add(Action.Detach detach, List<Action> actions) {
        var eid = detach.environment().eid();
        var held = new HashSet<@Nullable String>();
        now.attachments(eid, detach.device()).forEach(attachment -> held.add(attachment.time()));
        if (!held.contains(detach.attachment().time())) {
            return Result.of(Outcome.ALREADY_DETACHED);
        }
        if (!timesOf(eid, detach.device(), actions).containsAll(held)) {
            return Result.failed(
                    "it was attached more than once, and genv would detach it from a device that was not checked");
        }
        if (!now.isInOrder(detach.device())) {
            return Result.failed("devices.json does not list the devices in order: genv would detach another one");
        }
        var object = now.environment(eid).filter(GenvReport::isEnvironment);
        object.ifPresent(entry -> environments
                .computeIfAbsent(detach.device(), _ -> new LinkedHashMap<>())
                .put(eid, entry));
        return object.isPresent()
                ? null
                : Result.failed("genv would not accept it as an environment, or it is too long");
    }

    /** Returns the times of all attachments of an environment to a device that are to be removed. */
    private static Set<@Nullable String> timesOf(String eid, int device, List<Action> actions) {
        var times = new HashSet<@Nullable String>();
        for (var action : actions) {
            if (action instanceof Action.Detach(var _, var environment, var from, var attachment)
                    && environment.eid().equals(eid)
                    && from == device) {
                times.add(attachment.time());
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

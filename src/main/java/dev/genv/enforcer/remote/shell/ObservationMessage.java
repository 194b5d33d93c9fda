package dev.genv.enforcer.remote.shell;

import dev.genv.enforcer.format.gpu.GpuQuery;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.remote.AgentConfig;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What a shell is told to look at.
 *
 * @param service tells this service from others that act on the same hosts
 * @param verified the processes for which the answer reports whether they have exited
 * @param left those whose memory is left alone
 */
record ObservationMessage(
        AgentConfig terms,
        String service,
        List<ProtectedExecutable> programs,
        ObservationContext memory,
        Set<ProcessId> verified,
        Set<ProcessId> left)
        implements Shell.Message {
    private static final Script LOOK =
            new Script(List.of("common.sh", "lock.sh", "lease.sh", "memory.sh", "state.sh", "look.sh"));

    @Override
    public Script script() {
        return LOOK;
    }

    @Override
    public String function() {
        return "look";
    }

    @Override
    public Map<String, String> values() {
        var values = new LinkedHashMap<String, String>();
        values.put("ACTS", flag(terms.acts()));
        values.put("SMI", terms.nvidiaSmi());
        values.put("GPU_WAIT", Shell.hundredths(terms.gpuTimeout()));
        values.put("GPU_FORMAT", GpuQuery.FORMAT);
        values.put("QUERY_PROCESSES", GpuQuery.PROCESSES);
        values.put("QUERY_DEVICES", GpuQuery.DEVICES);
        values.put("SKIP_GPUS", flag(memory.hanging().isPaused(GpuQuery.PROCESSES)));
        values.put("SKIP_KERNELS", flag(memory.hanging().isPaused(ObservationContext.KERNELS)));
        values.put("SILENT", pids(left));
        values.put("VERIFIED", pids(verified));
        values.put("PASSWD", memory.accounts().stamp());
        values.put("LEASE", service);
        return values;
    }

    @Override
    public List<List<String>> calls(String nonce) {
        var call = new ArrayList<>(List.of("programs"));
        programs.forEach(program -> call.add(program.path().toString()));
        return List.of(call);
    }

    private static String flag(boolean flag) {
        return flag ? "yes" : "";
    }

    private static String pids(Collection<ProcessId> processes) {
        return processes.stream()
                .map(process -> Integer.toString(process.pid()))
                .distinct()
                .collect(Collectors.joining(" "));
    }
}

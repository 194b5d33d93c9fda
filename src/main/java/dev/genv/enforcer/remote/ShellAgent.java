package dev.genv.enforcer.remote;

import dev.genv.enforcer.enforcement.Host;
import dev.genv.enforcer.enforcement.Result;
import dev.genv.enforcer.enforcement.UnreachableException;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.observation.GpuQuery;
import dev.genv.enforcer.observation.ProtectedExecutable;
import dev.genv.enforcer.policy.Action;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/** Looks at a host and acts on it with a shell there, and with nothing that would have to be installed. */
final class ShellAgent implements Agent {
    /** The folder in the state directory that is ours alone. */
    static final String FOLDER = ".genv-enforcer.d";

    private static final Script LOOK = new Script(List.of("common.sh", "memory.sh", "state.sh", "look.sh"));
    private static final String LEASE_TIME = "6000";

    private final String name;
    private final Terms terms;
    private final String service;
    private final Shell shell;
    private final List<ProtectedExecutable> programs;
    private final HostMemory memory;

    /**
     * For one host.
     *
     * @param name how reports call it
     * @param service tells this service from others that act on the same hosts
     * @param nanos as {@link System#nanoTime}
     */
    ShellAgent(String name, Terms terms, String service, Shell shell, LongSupplier nanos) {
        this.name = name;
        this.terms = terms;
        this.service = service;
        this.shell = shell;
        programs = ProtectedExecutable.with(terms.protectedExecutables());
        memory = HostMemory.fresh(terms.stateDirectory(), nanos);
    }

    @Override
    public Host.Look look(Exchange host, Set<ProcessId> asked) throws UnreachableException, InterruptedException {
        var left = memory.silent().paused();
        var said = shell.run(host, LOOK, questions(asked, left), call());
        var frames = said.frames();
        if (!frames.complete()) {
            throw ShellFailure.of(said.answer(), terms.sudo());
        }
        if (!frames.every("lacks").isEmpty()) {
            throw lacks(frames);
        }
        return new LookAnswer(name, terms, programs, memory, said).look(asked, left);
    }

    private static UnreachableException lacks(Frames frames) throws UnreachableException {
        var programs = new ArrayList<String>();
        for (var frame : frames.every("lacks")) {
            programs.add(frame.at(0));
        }
        return new UnreachableException("agent_missing", "it has no " + String.join(", no ", programs));
    }

    private List<String> call() {
        var call = new ArrayList<>(List.of("look"));
        programs.forEach(program -> call.add(program.path().toString()));
        return call;
    }

    private Map<String, String> questions(Set<ProcessId> asked, Set<ProcessId> left) {
        var values = new LinkedHashMap<String, String>();
        values.put("ACTS", terms.acts() ? "yes" : "");
        values.put("SMI", terms.nvidiaSmi());
        values.put("GPU_WAIT", Shell.hundredths(terms.gpuTimeout()));
        values.put("GPU_FORMAT", GpuQuery.FORMAT);
        values.put("QUERY_PROCESSES", GpuQuery.PROCESSES);
        values.put("QUERY_DEVICES", GpuQuery.DEVICES);
        values.put("SKIP_GPUS", memory.hanging().isPaused(GpuQuery.PROCESSES) ? "yes" : "");
        values.put("SKIP_KERNELS", memory.hanging().isPaused(HostMemory.KERNELS) ? "yes" : "");
        values.put("SILENT", pids(left));
        values.put("ASKED", pids(asked));
        values.put("PASSWD", memory.accounts().stamp());
        values.put("LEASE", service);
        values.put("LEASE_TIME", LEASE_TIME);
        return values;
    }

    private static String pids(Collection<ProcessId> processes) {
        return processes.stream()
                .map(process -> Integer.toString(process.pid()))
                .distinct()
                .collect(Collectors.joining(" "));
    }

    @Override
    public void perform(Exchange host, List<Action> actions, BiConsumer<Action, Result> done)
            throws UnreachableException, InterruptedException {
        throw new UnreachableException("agent_failed", "it cannot act yet");
    }
}

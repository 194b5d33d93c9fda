package dev.genv.enforcer.node.gpu;

import dev.genv.enforcer.host.Bytes;
import dev.genv.enforcer.host.HostFacts.HolderFacts;
import dev.genv.enforcer.host.HostFacts.HolderFacts.Holder;
import dev.genv.enforcer.host.ProcessFacts;
import dev.genv.enforcer.model.ProcessId;
import dev.genv.enforcer.model.SubordinateUids;
import dev.genv.enforcer.node.gpu.HeldGpus.Held;
import dev.genv.enforcer.node.proc.ProcFs;
import dev.genv.enforcer.node.proc.ReadTimeoutException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Looks for processes that hold device files of GPUs. Users choose how many processes and files there are, so the time is limited, and the
 * processes of all users are examined in turn.
 *
 * @param nanos as {@link System#nanoTime}
 */
public record DeviceHolders(ProcFs proc, NvidiaDevices devices, LongSupplier nanos) {
    private static final Duration TIME = Duration.ofSeconds(1);
    /** Stands for the driver among the processes that may not answer. */
    private static final ProcessId DRIVER = new ProcessId(0, 0);

    private static final int MOST_GPUS = 64;
    private static final String LATE = "the time for the search was used up";

    public DeviceHolders(ProcFs proc, NvidiaDevices devices) {
        this(proc, devices, System::nanoTime);
    }

    /**
     * What was found.
     *
     * @param gpus as in {@link HolderFacts}
     * @param held by the pid of the process
     * @param incomplete as in {@link HolderFacts}
     */
    public record Found(List<Bytes> gpus, Map<Integer, Held> held, String incomplete) {
        /** Of a machine that was not searched. */
        public static final Found NONE = new Found(List.of(), Map.of(), "");

        /** Returns the pids of the holders. */
        public List<Integer> pids() {
            return List.copyOf(held.keySet());
        }

        /** Returns the facts, with those of the holders in any order. */
        public HolderFacts facts(List<ProcessFacts> holders) {
            return new HolderFacts(
                    gpus,
                    holders.stream()
                            .map(holder -> {
                                var files = held.getOrDefault(holder.pid(), Held.NONE);
                                return new Holder(holder, List.copyOf(files.minors()), List.copyOf(files.mapped()));
                            })
                            .toList(),
                    incomplete);
        }
    }

    private record Candidate(ProcessId id, long uid) {}

    /** Collects what is found, and why something was not examined. */
    private static final class Search {
        private final Map<Integer, Held> held = new LinkedHashMap<>();
        private String incomplete = "";

        private void leaveOut(String why) {
            incomplete = incomplete.isEmpty() ? why : incomplete;
        }
    }

    /**
     * Looks for holders.
     *
     * @param listed the pids that nvidia-smi lists, which are not examined
     * @param subordinateUids the processes of these count as their owner's
     */
    public Found search(Set<Integer> listed, SubordinateUids subordinateUids) {
        var search = new Search();
        var start = nanos.getAsLong();
        var gpus = List.<Bytes>of();
        try {
            gpus = proc.guarded(DRIVER, 0, this::gpus);
            var held = new HeldGpus(proc, devices);
            if (!held.isImpossible()) {
                // The other half of the time is for the files of the processes.
                var candidates = candidates(listed, subordinateUids, start + TIME.toNanos() / 2, search);
                for (var candidate : candidates) {
                    if (nanos.getAsLong() - start >= TIME.toNanos()) {
                        search.leaveOut(LATE);
                        break;
                    }
                    examine(candidate, held, search);
                }
            }
        } catch (ReadTimeoutException e) {
            search.leaveOut("the driver does not answer");
        } catch (IOException e) {
            search.leaveOut(HeldGpus.reason(e));
        }
        return new Found(gpus, search.held, search.incomplete);
    }

    private void examine(Candidate candidate, HeldGpus held, Search search) throws InterruptedIOException {
        try {
            var found = proc.guarded(candidate.id, candidate.uid, () -> held.examine(candidate.id.pid()));
            if (!found.unexamined().isEmpty()) {
                search.leaveOut(found.unexamined());
            }
            if (found.minors().isEmpty()) {
                return;
            }
            if (search.held.size() == HolderFacts.MOST_HOLDERS) {
                search.leaveOut("more than %d processes hold GPUs".formatted(HolderFacts.MOST_HOLDERS));
                return;
            }
            search.held.put(candidate.id.pid(), found);
        } catch (ReadTimeoutException e) {
            search.leaveOut("a process does not answer");
        } catch (InterruptedIOException e) {
            throw e;
        } catch (IOException e) {
            if (proc.exists(candidate.id.pid())) {
                search.leaveOut("the open files of a process cannot be examined: " + HeldGpus.reason(e));
            }
        }
    }

    /** The newest process of every user, then the second newest: the many processes of one user leave out no other user's. */
    private List<Candidate> candidates(
            Set<Integer> listed, SubordinateUids subordinateUids, long deadline, Search search) throws IOException {
        var processes = new ArrayList<Candidate>();
        // The largest pids are mostly the newest, so a partial list has the newest of each user.
        for (var pid : proc.pids().stream().sorted(Comparator.reverseOrder()).toList()) {
            if (nanos.getAsLong() - deadline >= 0) {
                search.leaveOut(LATE);
                break;
            }
            var stat = listed.contains(pid) ? null : proc.stat(pid).orElse(null);
            if (stat != null && !stat.isKernelThread() && !stat.isZombie()) {
                var uid = proc.realUid(pid);
                processes.add(new Candidate(new ProcessId(pid, stat.startTime()), uid == null ? 0 : uid));
            }
        }
        var turns = new HashMap<@Nullable Long, Integer>();
        return processes.stream()
                .sorted(Comparator.comparingLong((Candidate candidate) -> candidate.id.startTime())
                        .thenComparing(Candidate::id)
                        .reversed())
                .map(each -> Map.entry(turns.merge(subordinateUids.ownerOf(each.uid), 1, Integer::sum), each))
                .sorted(Map.Entry.comparingByKey())
                .map(Map.Entry::getValue)
                .toList();
    }

    /** Returns what the driver says of each GPU; nothing if it is not loaded. */
    private List<Bytes> gpus() throws IOException {
        var gpus = new ArrayList<Bytes>();
        try (var folders = Files.newDirectoryStream(proc.machine().root().resolve("driver/nvidia/gpus"))) {
            for (var folder : folders) {
                if (gpus.size() < MOST_GPUS) {
                    gpus.add(Bytes.of(ProcFs.read(folder.resolve("information"), HolderFacts.LARGEST_INFORMATION)));
                }
            }
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (DirectoryIteratorException e) {
            throw e.getCause();
        }
        return gpus;
    }
}

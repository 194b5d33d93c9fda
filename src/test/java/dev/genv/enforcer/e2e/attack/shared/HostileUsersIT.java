package dev.genv.enforcer.e2e.attack.shared;

import static org.assertj.core.api.Assertions.assertThat;

import dev.genv.enforcer.e2e.Node;
import dev.genv.enforcer.e2e.NodeSuite;
import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Three hostile users execute random actions at the same time, and three honest users work on the same node. No honest job is signalled, no honest environment loses its device, and the service neither exits nor grows.
 */
@Tag("long")
class HostileUsersIT extends NodeSuite {
    private static final Duration DURATION = Duration.ofMinutes(Integer.getInteger("suite.minutes", 60));
    private static final Duration DEFAULT_DURATION = Duration.ofSeconds(20);

    /** Edits are so rare and short that they do not add up to the grace period. */
    private static final Duration BETWEEN_EDITS = Duration.ofMinutes(5);

    /** The number of parallel actions of each hostile user. */
    private static final int MAX_PARALLEL = 3;

    private static final Duration BETWEEN_CHECKS = Duration.ofSeconds(5);
    private static final long SEED = Long.getLong("suite.seed", IS_LONG ? System.nanoTime() : 1);
    private static final Pattern RESIDENT_MEMORY = Pattern.compile("VmRSS:\\s+([0-9]+) kB");
    private static final double MAX_GROWTH = 1.25;

    private final Map<String, Integer> actions = new TreeMap<>();
    private long nextEdit = System.nanoTime();
    private volatile boolean ended;

    @Test
    void hostileUsersDoNotAffectHonestUsers() throws Exception {
        Requirements.root();
        System.out.printf("HostileUsersIT: -Dsuite.seed=%d%n", SEED);
        var resident = new ArrayList<Long>();
        var descriptors = new ArrayList<Long>();
        var signalled = 0L;
        var peak = 0L;
        try (var shared = new SharedNode(node);
                var users = Executors.newVirtualThreadPerTaskExecutor()) {
            var hostile = new ArrayList<Future<?>>();
            for (var user = SharedNode.HONEST_USERS;
                    user < SharedNode.HONEST_USERS + SharedNode.HOSTILE_USERS;
                    user++) {
                var which = user;
                for (var i = 0; i < MAX_PARALLEL; i++) {
                    var seed = SEED + (long) user * MAX_PARALLEL + i;
                    hostile.add(users.submit(() -> act(shared, which, new Random(seed))));
                }
            }
            try {
                var end = System.nanoTime() + (IS_LONG ? DURATION : DEFAULT_DURATION).toNanos();
                while (System.nanoTime() < end) {
                    Thread.sleep(BETWEEN_CHECKS);
                    for (var each : hostile) {
                        if (each.isDone()) {
                            each.get(); // it failed, and an attack is missing from then on
                        }
                    }
                    signalled += shared.assertHonestJobsUnaffected();
                    shared.forgetEndedProcesses();
                    resident.add(residentMemory(shared));
                    descriptors.add(openDescriptors(shared));
                }
            } finally {
                ended = true;
                for (var each : hostile) {
                    each.get();
                }
            }
            shared.assertProcessOutsideEnvironmentsIsTerminated();
            signalled += shared.assertHonestJobsUnaffected();
            peak = shared.service().peakMemory();
        }
        System.out.printf(
                "HostileUsersIT: %s; %d processes of theirs were terminated; resident MiB %s, peak %d%n",
                actions, signalled, mediansOfQuarters(resident), peak);
        assertThat(peak).as("the peak memory in MiB").isLessThan(Node.memoryLimit());
        assertThat(signalled).isPositive();
        if (IS_LONG) {
            for (var medians : List.of(mediansOfQuarters(resident), mediansOfQuarters(descriptors))) {
                assertThat(medians.getLast()).as("%s", medians).isLessThan((long) (medians.get(1) * MAX_GROWTH));
            }
        }
    }

    /** All actions in a random order, again and again until the end. */
    private Void act(SharedNode shared, int user, Random random) throws IOException, InterruptedException {
        var own = new HostileActions(shared, user, random);
        var all = new ArrayList<>(new TreeMap<>(own.lastingActions()).entrySet());
        while (!ended) {
            Collections.shuffle(all, random);
            for (var i = 0; i < all.size() && !ended; i++) {
                if (isTimeForEdit()) {
                    own.shortEdits()
                            .get(random.nextInt(own.shortEdits().size()))
                            .run();
                    count("an edit of another's entry");
                }
                all.get(i).getValue().run();
                count(all.get(i).getKey());
            }
        }
        return null;
    }

    private synchronized boolean isTimeForEdit() {
        var isTime = System.nanoTime() - nextEdit >= 0;
        nextEdit = isTime ? System.nanoTime() + BETWEEN_EDITS.toNanos() : nextEdit;
        return isTime;
    }

    private synchronized void count(String action) {
        actions.merge(action, 1, Integer::sum);
    }

    private static long residentMemory(SharedNode shared) throws IOException {
        var status = Files.readString(
                Path.of("/proc", Long.toString(shared.service().process().pid()), "status"));
        var match = RESIDENT_MEMORY.matcher(status);
        assertThat(match.find()).isTrue();
        return Long.parseLong(match.group(1)) >> 10;
    }

    private static long openDescriptors(SharedNode shared) throws IOException {
        var pid = Long.toString(shared.service().process().pid());
        try (var descriptors = Files.list(Path.of("/proc", pid, "fd"))) {
            return descriptors.count();
        }
    }

    /** The median of each quarter of the time. */
    private static List<Long> mediansOfQuarters(List<Long> values) {
        var medians = new ArrayList<Long>();
        for (var quarter = 0; quarter < 4; quarter++) {
            var part = values.subList(values.size() * quarter / 4, values.size() * (quarter + 1) / 4).stream()
                    .sorted()
                    .toList();
            if (!part.isEmpty()) {
                medians.add(part.get(part.size() / 2));
            }
        }
        return medians;
    }
}

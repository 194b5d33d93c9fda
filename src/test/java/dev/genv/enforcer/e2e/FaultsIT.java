package dev.genv.enforcer.e2e;

import dev.genv.enforcer.testsupport.Requirements;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;

/**
 * Everything that can go wrong around the packaged service, with real files and processes. Several services run side by
 * side, each of which suffers its faults one after the other; every fault must be over before the next.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class FaultsIT {
    private final SideBySide<Fault, FaultyNode.Outcome> faults = new SideBySide<>();

    @BeforeAll
    void begin(@TempDir Path directory) throws IOException {
        split(directory.resolve("envs"), StateFileFaults.ofEnvs(), 3);
        split(directory.resolve("devices"), StateFileFaults.ofDevices(), 3);
        split(directory.resolve("place"), PlaceFaults.all(), 2);
        suffer(directory.resolve("failing"), ToolFaults.failing(), _ -> {}, () -> {});
        suffer(directory.resolve("hanging"), ToolFaults.hanging(), node -> node.set("GPU_TIMEOUT", "2s"), () -> {});
        split(directory.resolve("tool"), ToolFaults.others(), 2);
        suffer(directory.resolve("gpus"), GpuLossFaults.all(), _ -> {}, () -> {});
        suffer(directory.resolve("service"), ServiceFaults.all(), node -> node.set("KILL_AFTER", "2s"), () -> {});
        suffer(directory.resolve("mounts"), MountFaults.all(), MountFaults::prepare, () -> {});
        suffer(directory.resolve("requests"), RequestFaults.all(), _ -> {}, () -> {});
        var disk = new FullDisk();
        suffer(directory.resolve("disk"), List.of(disk.fault()), disk::prepare, disk);
    }

    @TestFactory
    @Order(1)
    Stream<DynamicTest> everyFault() {
        return faults.tests();
    }

    @Test
    @Order(2)
    void theReadmeTellsWhatCameOfThem() throws Exception {
        Requirements.root();
        var table = new Table("faults.md", "faults", "fault", "a process that breaks a rule", "reported", "health");
        table.tells(faults.outcomes(), FaultsIT::cells, 40);
    }

    @AfterAll
    void end() throws InterruptedException {
        faults.join();
    }

    /** Each part on a node of its own, for what takes long is to wait. */
    private void split(Path directory, List<Fault> list, int count) {
        var number = 0;
        for (var part : SideBySide.split(list, count)) {
            var own = directory.resolveSibling("%s-%d".formatted(directory.getFileName(), number++));
            suffer(own, part, _ -> {}, () -> {});
        }
    }

    /** On a node of its own. */
    private void suffer(Path directory, List<Fault> list, FaultyNode.Preparation preparation, AutoCloseable around) {
        faults.begin(list, all -> {
            try (around;
                    var node = new Node(Files.createDirectory(directory));
                    var faulty = new FaultyNode(node, preparation)) {
                all.suffer(faulty::suffer);
            }
        });
    }

    private static String[] cells(FaultyNode.Outcome outcome) {
        var fault = outcome.fault();
        var told = new ArrayList<String>();
        for (var code : outcome.told()) {
            if (!fault.perhaps().contains(code)) {
                told.add("`%s`".formatted(code));
            }
        }
        fault.perhaps().forEach(code -> told.add("perhaps `%s`".formatted(code)));
        if (!fault.toldInLog().isEmpty()) {
            told.add("the log: `%s`".formatted(fault.toldInLog()));
        }
        return new String[] {
            fault.name(), outcome.stray().words, told.isEmpty() ? "–" : String.join(", ", told), outcome.health()
        };
    }
}

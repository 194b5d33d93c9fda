package dev.genv.enforcer.node.gpu.nvml;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * Reads the GPUs many times and prints by how much the native memory, in KiB, and the number of open files grew. It needs a JVM of its
 * own, which tracks native memory ({@code -XX:NativeMemoryTracking=summary}).
 */
final class ManyReadings {
    private static final int READINGS = 10_000;
    private static final int READINGS_PER_RELEASE = 100;
    /** What Java code allocates outside the heap. */
    private static final Pattern OTHER = Pattern.compile("Other \\(reserved=([0-9]+)KB");

    private ManyReadings() {}

    /** Takes the path of the library. */
    public static void main(String... arguments) throws Exception {
        try (var source = new NvmlSource(arguments[0], Duration.ofMinutes(2))) {
            read(source, READINGS_PER_RELEASE);
            var memory = nativeMemory();
            var files = openFiles();
            read(source, READINGS);
            System.out.printf("memory %d files %d%n", nativeMemory() - memory, openFiles() - files);
        }
        System.out.printf(
                "mapped %b%n", Files.readString(Path.of("/proc/self/maps")).contains(arguments[0]));
    }

    private static void read(NvmlSource source, int count) throws InterruptedException {
        for (var number = 0; number < count; number++) {
            Sources.devices(source.read());
            if (number % READINGS_PER_RELEASE == 0) {
                source.release();
            }
        }
    }

    private static long nativeMemory() throws JMException {
        var summary = (String) ManagementFactory.getPlatformMBeanServer()
                .invoke(
                        new ObjectName("com.sun.management:type=DiagnosticCommand"),
                        "vmNativeMemory",
                        new Object[] {new String[] {"summary", "scale=KB"}},
                        new String[] {String[].class.getName()});
        var other = OTHER.matcher(summary);
        if (!other.find()) {
            throw new IllegalStateException(summary);
        }
        return Long.parseLong(other.group(1));
    }

    private static long openFiles() throws IOException {
        try (var files = Files.list(Path.of("/proc/self/fd"))) {
            return files.count();
        }
    }
}

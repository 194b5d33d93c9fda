package dev.genv.enforcer.e2e;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;

/**
 * The AOT cache of the packaged service, which the image has too. A service that uses it needs half of the processor time to
 * start, and the suites start more than a hundred services.
 */
final class AotCache {
    private static final int SIGTERM_EXIT_CODE = 143;

    private AotCache() {}

    /** The cache for this jar. The first caller makes it, and callers in other JVMs wait for that. */
    static synchronized Path of(Path jar) throws IOException {
        var cache = jar.resolveSibling("app-%s.aot".formatted(Runtime.version()));
        var options = new StandardOpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.WRITE};
        try (var file = FileChannel.open(jar.resolveSibling("app.aot.lock"), options);
                var _ = file.lock()) {
            if (!Files.exists(cache) || isStale(cache)) {
                train(cache);
            }
        }
        return cache;
    }

    /** The JVM uses a cache even if a jar was replaced. */
    private static boolean isStale(Path cache) throws IOException {
        var made = Files.getLastModifiedTime(cache);
        try (var files = Files.walk(cache.getParent())) {
            for (var file :
                    files.filter(path -> path.toString().endsWith(".jar")).toList()) {
                if (Files.getLastModifiedTime(file).compareTo(made) >= 0) {
                    return true;
                }
            }
        }
        return false;
    }

    /** The JVM writes the cache when the service ends. */
    private static void train(Path cache) throws IOException {
        var directory = Files.createTempDirectory(cache.getParent(), "training-");
        var draft = directory.resolve("draft.aot");
        try (var node = new Node(directory)) {
            node.gpus.gpus(3);
            node.state.device(0).device(1).device(2).write();
            var service = node.writesAotCache(draft).startService();
            var serviceClient = new ServiceClient(service);
            serviceClient.awaitNext(serviceClient.observe());
            serviceClient.json("/violations");
            serviceClient.status("/q/health/ready");
            service.stop();
            if (service.process().exitValue() != SIGTERM_EXIT_CODE || !Files.exists(draft)) {
                throw new IOException("There is no AOT cache: " + service.outputLines());
            }
        }
        Files.move(draft, cache, StandardCopyOption.REPLACE_EXISTING);
        try (var files = Files.walk(directory)) {
            for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}

package dev.genv.enforcer.testsupport.ssh;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.sshd.common.config.keys.PublicKeyEntry;
import org.apache.sshd.common.io.nio2.Nio2ServiceFactoryFactory;
import org.apache.sshd.common.util.threads.NoCloseExecutor;
import org.apache.sshd.server.SshServer;

/**
 * Any number of fake machines with an SSH server each, at different addresses of 127.0.0.0/8 and one port, in this JVM. They accept every key.
 */
public final class MinaFleet implements AutoCloseable {
    /** The length of the agent's program, in the command that starts it. */
    private static final Pattern PROGRAM = Pattern.compile("^/usr/bin/python3 .*\\.read\\(([0-9]+)\\)");

    private static final int HOSTS_PER_NET = 250;
    private static final Duration TIME_TO_CLOSE = Duration.ofSeconds(1);
    private final ScheduledExecutorService timers = Executors.newScheduledThreadPool(1, daemon());
    private final NoCloseExecutor io = new NoCloseExecutor(Executors.newFixedThreadPool(4, daemon()));
    private final KeyPair hostKey = FakeSshd.newKey();
    private final List<SshServer> servers = new ArrayList<>();
    private final Set<Integer> hanging = ConcurrentHashMap.newKeySet();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicInteger commands = new AtomicInteger();
    private final AtomicInteger hangingCommands = new AtomicInteger();
    private final BiFunction<Integer, String, String> answer;
    private final int port;

    /** Starts the machines.
     *
     * @param answer what a machine prints, by its number, for a line of a request to the agent, or for the first line of the input of another command
     */
    public MinaFleet(int hosts, BiFunction<Integer, String, String> answer) throws IOException {
        this.answer = answer;
        var any = 0;
        for (var i = 0; i < hosts; i++) {
            servers.add(server(i, any));
            any = servers.getFirst().getPort();
        }
        port = any;
    }

    /** The address of a machine. */
    public static String address(int host) {
        return "127.77.%d.%d".formatted(host / HOSTS_PER_NET, host % HOSTS_PER_NET + 1);
    }

    /** Returns the list of all machines in the service's format. */
    public List<String> hosts() {
        return IntStream.range(0, servers.size())
                .mapToObj(host -> "root@%s:%d".formatted(address(host), port))
                .toList();
    }

    /** Writes their keys as ssh-keyscan does. */
    public Path knownHosts(Path file) throws IOException {
        var key = PublicKeyEntry.toString(hostKey.getPublic());
        return Files.write(
                file,
                IntStream.range(0, servers.size())
                        .mapToObj(host -> "[%s]:%d %s".formatted(address(host), port, key))
                        .toList());
    }

    /** Makes machines hang: they accept commands and never answer. */
    public void hang(Set<Integer> hosts) {
        hanging.clear();
        hanging.addAll(hosts);
    }

    /** Returns the number of connections since the start. */
    public int connections() {
        return connections.get();
    }

    /** Returns the number of commands since the start. */
    public int commands() {
        return commands.get();
    }

    /** Returns the number of commands without an answer. */
    public int hangingCommands() {
        return hangingCommands.get();
    }

    private SshServer server(int host, int atPort) throws IOException {
        var server =
                FakeSshd.create(address(host), atPort, hostKey, connections, command -> startCommand(host, command));
        server.setPublickeyAuthenticator((_, _, _) -> true);
        server.setScheduledExecutorService(timers);
        server.setIoServiceFactoryFactory(new Nio2ServiceFactoryFactory(() -> io));
        server.start();
        return server;
    }

    @Override
    public void close() {
        // Connections must be closed before their threads stop.
        var closing = servers.stream().map(server -> server.close(true)).toList();
        var deadline = Instant.now().plus(TIME_TO_CLOSE);
        closing.forEach(each -> each.awaitUninterruptibly(
                Math.max(1, Duration.between(Instant.now(), deadline).toMillis())));
        timers.shutdownNow();
        io.shutdownNow();
    }

    private static ThreadFactory daemon() {
        return Thread.ofPlatform().daemon().name("mina-", 0).factory();
    }

    private FakeSshd.Program startCommand(int host, String command) {
        commands.incrementAndGet();
        var program = PROGRAM.matcher(command);
        var length = program.find() ? Integer.parseInt(program.group(1)) : 0;
        return (in, out, _) -> {
            in.skipNBytes(length);
            var lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
            for (String line; (line = lines.readLine()) != null; ) {
                answer(host, line, out);
                if (length == 0) {
                    break;
                }
            }
            return 0;
        };
    }

    private void answer(int host, String input, OutputStream out) throws IOException, InterruptedException {
        if (hanging.contains(host)) {
            hangingCommands.incrementAndGet();
            new CountDownLatch(1).await();
        }
        out.write(answer.apply(host, input).getBytes(StandardCharsets.UTF_8));
        out.flush();
    }
}
